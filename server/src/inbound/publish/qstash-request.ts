// Turns requests of the public QStash clients into requests of this service before any other code reads them. The token
// is removed from the target here, so that it is neither logged nor forwarded. The rest of the target stays unchanged,
// byte for byte.

import type { IncomingMessage } from 'node:http';

export const QSTASH_TOKEN_PARAMETER = 'qstash_token';
/** Matches a target up to the first name after `/v2/`. A proxy may have put an origin before the path. */
const HEAD = /^((?:https?:\/\/[^/?#]*)?)\/v2\/([a-z]+)(?=[/?]|$)/i;
/** The names that this service does not write in lower case only. Clients may use any case. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['flowcontrol', 'flowControl'],
  ['globalparallelism', 'globalParallelism'],
]);
/** The names that are followed by a destination. The destination may be empty. */
const WITH_DESTINATION: ReadonlySet<string> = new Set(['publish', 'enqueue', 'schedules']);

/** Changes the URL of the request in place. A token in it becomes the `Authorization` header, if there is none. */
export function rewriteQstashRequest(request: Pick<IncomingMessage, 'url' | 'method' | 'headers'>): void {
  const target = request.url ?? '';
  const head = HEAD.exec(target);
  if (!head) return;
  const name = head[2]!.toLowerCase();
  const { rest, token } = withoutToken(target.slice(head[0].length));
  request.url = `${head[1]}/v2/${NAMES.get(name) ?? name}${withoutSlash(rest, name, request.method ?? '')}`;
  if (token !== null && request.headers.authorization === undefined) request.headers.authorization = `Bearer ${token}`;
}

/** Removes a slash behind which no id follows. In a DELETE it stays: without it, the call would select everything. */
function withoutSlash(rest: string, name: string, method: string): string {
  const isListed = method === 'GET' || (method === 'POST' && !WITH_DESTINATION.has(name));
  return isListed ? rest.replace(/^\/(?=\?|$)/, '') : rest;
}

function withoutToken(rest: string): { readonly rest: string; readonly token: string | null } {
  const queryStart = rest.indexOf('?');
  if (queryStart === -1) return { rest, token: null };
  let token: string | null = null;
  const parameters = rest.slice(queryStart + 1).split('&');
  const left = parameters.filter((parameter) => {
    const equals = parameter.indexOf('=');
    if (decoded(equals === -1 ? parameter : parameter.slice(0, equals)) !== QSTASH_TOKEN_PARAMETER) return true;
    token ??= equals === -1 ? '' : decoded(parameter.slice(equals + 1));
    return false;
  });
  if (left.length === parameters.length) return { rest, token };
  const path = rest.slice(0, queryStart);
  return { rest: left.length === 0 ? path : `${path}?${left.join('&')}`, token };
}

/** Percent-decodes a text. A text that is not encoded correctly is returned unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
