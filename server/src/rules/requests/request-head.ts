// Rules for the request line and headers that the HTTP parser does not check. They refuse what is ambiguous: a proxy in
// front of this server may parse it differently, and then take the end of one request for the start of the next.

import { eachMax } from '../limits/budgets.ts';
import { type Problem, problem } from './problem.ts';

const REQUEST_LINE = /^([^ \t\r\n]+) ([^ \t\r\n]+) HTTP\/1\.[01]$/;
/** The version of HTTP at the end of a request line, even if the rest of the line is not valid. */
const VERSION = / HTTP\/(\d+(?:\.\d+)?)$/;
/** The host of a URL, and a port (RFC 3986, 3.2.2). */
const HOST = /^(?:\[[\w:.~!$&'()*+,;=%-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})+)(?::\d*)?$/i;
const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/i;

type Refused = { readonly problem: Problem };

/** Why a request with this first line is refused, or null. `line` comes without its CRLF. */
export function requestLineProblem(line: string): Refused | null {
  const [, method, target] = REQUEST_LINE.exec(line) ?? [];
  if (method === undefined || target === undefined) {
    const version = VERSION.exec(line)?.[1] ?? '1.1';
    if (version !== '1.1' && version !== '1.0') return otherVersion();
    return problem(
      'bad_request',
      'this is not a valid HTTP request: its first line must be a method, a target and HTTP/1.1, with one blank between them',
    );
  }
  return targetProblem(method, target);
}

function targetProblem(method: string, target: string): Refused | null {
  if (method === 'CONNECT') return problem('method_not_allowed', 'CONNECT is not allowed: this server is not a proxy');
  if (target.startsWith('/') || (target === '*' && method === 'OPTIONS')) return null;
  const authority = ABSOLUTE.exec(target)?.[1];
  if (authority !== undefined && HOST.test(authority)) return null;
  return problem('bad_request', 'target: must be a path that starts with "/", or an http(s) URL');
}

/** The path and query of a request target. The target is a whole URL if a proxy sends it so. */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = ABSOLUTE.exec(target)?.[2];
  if (rest === undefined) return target;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

export function isHostHeader(value: string): boolean {
  return HOST.test(value);
}

/**
 * Why a request with this version of HTTP and these headers is refused, or null. `headers` is a flat list: a name, its
 * value, the next name, …
 */
export function headProblem(version: string, headers: readonly string[]): Refused | null {
  let hosts = 0;
  let codings = 0;
  for (let at = 0; at < headers.length; at += 2) {
    const { length } = headers[at]!;
    if (length === 4 && headers[at]!.toLowerCase() === 'host') {
      hosts += 1;
      if (!isHostHeader(headers[at + 1]!)) return badHost(headers[at + 1]!);
    } else if (length === 17 && headers[at]!.toLowerCase() === 'transfer-encoding') {
      codings += 1;
      if (headers[at + 1]!.toLowerCase() !== 'chunked') return otherCoding(headers[at + 1]!);
    }
  }
  return countProblem(version, hosts, codings);
}

function countProblem(version: string, hosts: number, codings: number): Refused | null {
  if (hosts > 1) return problem('bad_request', 'Host: must not be sent more than once');
  if (hosts === 0 && version === '1.1') {
    return problem('bad_request', 'Host: missing; every HTTP/1.1 request needs this header');
  }
  if (codings > 1) return problem('bad_request', 'Transfer-Encoding: must not be sent more than once');
  if (codings === 1 && version !== '1.1') {
    return problem('bad_request', 'Transfer-Encoding: is not part of HTTP/1.0; use Content-Length, or HTTP/1.1');
  }
  return null;
}

function badHost(value: string): Refused {
  return problem('bad_request', `Host: ${JSON.stringify(value)} is not a host name with an optional port`);
}

function otherCoding(value: string): Refused {
  return problem(
    'unsupported_transfer_encoding',
    `Transfer-Encoding: ${JSON.stringify(value)} is not supported; use chunked alone, or Content-Length`,
  );
}

export function tooLargeHead(): Refused {
  return problem('headers_too_large', `the request line and headers are larger than ${eachMax('headBytes')} bytes`);
}

function otherVersion(): Refused {
  return problem('unsupported_version', 'this server understands HTTP/1.1 and HTTP/1.0 only');
}
