// Requests of the public QStash clients, made into ours before anything else looks at them: the token leaves the target
// here, so that it is neither logged nor forwarded. All else of the target stays as it is, byte for byte.

import type { IncomingMessage } from 'node:http';

const TOKEN_PARAMETER = 'qstash_token';
/** The first name of a path, behind the origin that a proxy may have sent. */
const HEAD = /^((?:https?:\/\/[^/?#]*)?)\/v2\/([a-z]+)(?=[/?]|$)/i;
/** Those that are not written in lower case. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['flowcontrol', 'flowControl'],
  ['globalparallelism', 'globalParallelism'],
]);
/** What stands behind these is a destination, also when it is empty. */
const WITH_DESTINATION: ReadonlySet<string> = new Set(['publish', 'enqueue', 'schedules']);

export function takeQstashRequest(request: IncomingMessage): void {
  const target = request.url ?? '';
  const head = HEAD.exec(target);
  if (!head) return;
  const name = head[2]!.toLowerCase();
  const { rest, token } = withoutToken(target.slice(head[0].length));
  request.url = `${head[1]}/v2/${NAMES.get(name) ?? name}${withoutSlash(rest, name, request.method ?? '')}`;
  if (token !== null && request.headers.authorization === undefined) request.headers.authorization = `Bearer ${token}`;
}

/** Where something is deleted, a slash is an id that turned out empty, and must not come to mean all. */
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
    if (decoded(equals === -1 ? parameter : parameter.slice(0, equals)) !== TOKEN_PARAMETER) return true;
    token ??= equals === -1 ? '' : decoded(parameter.slice(equals + 1));
    return false;
  });
  if (left.length === parameters.length) return { rest, token };
  const path = rest.slice(0, queryStart);
  return { rest: left.length === 0 ? path : `${path}?${left.join('&')}`, token };
}

/** What is not correctly encoded is taken as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
