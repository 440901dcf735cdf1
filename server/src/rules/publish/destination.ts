// Parses where a message is sent: a URL, which is split without changing a byte, or a topic. This file checks only the
// form. At connect time, the egress guard decides whether an address is allowed.

import { BoundedCache } from '../../runtime/collections/remembered.ts';
import { isName, NAME_RULE } from '../requests/name.ts';

/** A URL split into the parts of a request. Nothing later parses the URL again. */
export interface TargetUrl {
  /** The URL exactly as given. */
  readonly url: string;
  readonly protocol: 'http:' | 'https:';
  /** The host to connect to, as WHATWG normalises it (`0x7f.1` is 127.0.0.1). An IPv6 address has no brackets. */
  readonly hostname: string;
  readonly port: number;
  /** `hostname:port` in lower case; an IPv6 address has brackets. Parallel attempts are limited for each host. */
  readonly host: string;
  /** Protocol, host and port. Open connections are kept by origin. */
  readonly origin: string;
  /** The authority as given. It becomes the Host header. */
  readonly hostHeader: string;
  /** Path and query for the request line: byte for byte as given, but starting with "/". */
  readonly path: string;
}

export type Destination =
  | { readonly kind: 'url'; readonly target: TargetUrl }
  | { readonly kind: 'topic'; readonly nameOrId: string };

interface Refusal {
  readonly problem: string;
}

export const URL_LENGTH_MAX = 2_048;
/** Limit for the text of a destination: even a URL of the largest length fits with every character percent-encoded. */
const TEXT_LENGTH_MAX = 3 * URL_LENGTH_MAX;

/** A caller may encode the whole URL, or all but the colon, as Go's `url.PathEscape` does. */
const ENCODED_URL = /^https?(?:%3a|:%2f)/i;
const MERGED_SLASHES = /^(https?:)\/(?!\/)/i;
const SCHEME = /^https?:\/\//i;

export function parseDestination(text: string): Destination | Refusal {
  if (text.length > TEXT_LENGTH_MAX) {
    return refuse(`has ${text.length} characters; the limit for a URL is ${URL_LENGTH_MAX}`);
  }
  // This is the usual form. Nothing below would change it.
  if (SCHEME.test(text)) return urlDestination(text);
  let given = text;
  if (ENCODED_URL.test(text)) {
    try {
      given = decodeURIComponent(text);
    } catch {
      return refuse(
        'the URL is not percent-encoded correctly: "%" must be followed by two hex digits, and the bytes must be UTF-8',
      );
    }
  }
  const repaired = given.replace(MERGED_SLASHES, '$1//');
  if (SCHEME.test(repaired)) return urlDestination(repaired);
  if (isName(given)) return { kind: 'topic', nameOrId: given };
  const queryAt = given.indexOf('?');
  if (queryAt > 0 && isName(given.slice(0, queryAt))) {
    return refuse(
      `"${shortened(given.slice(queryAt))}" follows the name of the topic, but a topic has no query: remove it; a setting in the query needs the header prefix`,
    );
  }
  return refuse(`neither a URL starting with http:// or https://, nor the name or id of a topic (${NAME_RULE})`);
}

function urlDestination(text: string): Destination | Refusal {
  const target = parseTargetUrl(text);
  return 'problem' in target ? target : { kind: 'url', target };
}

/**
 * Parsed URLs up to this length are cached. Most messages go to the same few URLs, and each URL is parsed twice: when
 * the message is accepted and when it is sent.
 */
const KNOWN_LENGTH_MAX = 256;
const targets = new BoundedCache<string, TargetUrl>(1000);

export function parseTargetUrl(text: string): TargetUrl | Refusal {
  const known = targets.get(text);
  if (known !== undefined) return known;
  const target = readTargetUrl(text);
  if ('problem' in target || text.length > KNOWN_LENGTH_MAX) return target;
  targets.set(text, target);
  return target;
}

function readTargetUrl(text: string): TargetUrl | Refusal {
  const scheme = SCHEME.exec(text)?.[0];
  if (scheme === undefined) return refuse('a URL starts with http:// or https://');
  const wrong = characterProblem(text);
  if (wrong !== null) return wrong;

  const rest = text.slice(scheme.length);
  const authorityEnd = rest.search(/[/?]/);
  const authority = authorityEnd === -1 ? rest : rest.slice(0, authorityEnd);
  const tail = authorityEnd === -1 ? '' : rest.slice(authorityEnd);
  if (authority.includes('@')) {
    return refuse('the URL has credentials ("@" before the path); send them in a forwarded Authorization header');
  }
  const protocol = scheme.length === 'https://'.length ? 'https:' : 'http:';
  const address = addressOf(protocol, authority);
  if ('problem' in address) return address;
  return {
    url: text,
    protocol,
    hostname: address.hostname,
    port: address.port,
    host: address.host,
    origin: address.origin,
    hostHeader: authority,
    path: tail.startsWith('/') ? tail : `/${tail}`,
  };
}

/** What is wrong with the length or the characters of the whole URL, or null. */
function characterProblem(text: string): Refusal | null {
  if (text.length > URL_LENGTH_MAX) {
    return refuse(`the URL has ${text.length} characters; the limit is ${URL_LENGTH_MAX}`);
  }
  if (/[^\x21-\x7e]/.test(text)) {
    return refuse(
      'the URL has spaces, control characters or non-ASCII characters; percent-encode them, and write an international host name in its xn-- form',
    );
  }
  // Some parsers read a backslash as a slash and others do not. The URL that is checked must be the URL that is
  // dialled.
  if (text.includes('\\')) return refuse('the URL has a backslash; write "/", or "%5C" for a real backslash');
  if (text.includes('#')) return refuse('the URL has a "#" part, which is never sent; leave it out');
  return null;
}

type Address = Pick<TargetUrl, 'hostname' | 'port' | 'host' | 'origin'>;

/** Most messages go to the same few hosts, and checking a host is most of the work of parsing a URL. */
const addresses = new BoundedCache<string, Address>(1000);

function addressOf(protocol: TargetUrl['protocol'], authority: string): Address | Refusal {
  const key = `${protocol}//${authority}`;
  const known = addresses.get(key);
  if (known !== undefined) return known;
  const parsed = parseAuthority(protocol, authority);
  if ('problem' in parsed) return parsed;
  const { hostname, port } = parsed;
  const host = `${hostname}:${port}`;
  const address = { hostname: hostname.replace(/^\[(.*)\]$/, '$1'), port, host, origin: `${protocol}//${host}` };
  addresses.set(key, address);
  return address;
}

/** A DNS name (or an IPv4 address in any spelling) without empty labels, or an IPv6 address without a zone. */
const HOST = /^(?:(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?|\[[0-9a-f:.]+\])$/i;
const HOST_LENGTH_MAX = 254;
/**
 * A port that is not empty and has no leading zeros. WHATWG accepts an empty port and leading zeros, but then the Host
 * header differs from the dialled port.
 */
const PORT = /^[1-9]\d{0,4}$/;

/** This check is stricter than WHATWG, which allows `"`, `{` and `!` in a host and decodes percent escapes there. */
function parseAuthority(
  protocol: TargetUrl['protocol'],
  authority: string,
): { readonly hostname: string; readonly port: number } | Refusal {
  const portStart = /:[^:\]]*$/.exec(authority)?.index ?? authority.length;
  const host = authority.slice(0, portStart);
  if (host === '') return refuse('the URL has no host');
  if (host.includes('%')) return refuse('the host of the URL has a percent escape; write the host without escapes');
  if (host.length > HOST_LENGTH_MAX || !HOST.test(host)) return refuse('the host of the URL is not valid');
  const hostname = URL.parse(`${protocol}//${host}/`)?.hostname ?? '';
  if (hostname === '') return refuse('the host of the URL is not valid');

  if (portStart === authority.length) return { hostname, port: protocol === 'https:' ? 443 : 80 };
  const port = parsePort(authority.slice(portStart + 1));
  if (port !== null) return { hostname, port };
  return refuse('the port of the URL is not a number from 1 to 65535; leave out the ":" for the default port');
}

function parsePort(text: string): number | null {
  const port = Number(text);
  return PORT.test(text) && port <= 65_535 ? port : null;
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function refuse(problem: string): Refusal {
  return { problem };
}
