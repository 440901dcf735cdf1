// A call as a shell command, safe to paste whatever the call contains.

import type { Call } from './call.ts';
import { headersOf } from './send.ts';

export interface CurlOptions {
  readonly baseUrl: string;
  readonly headerPrefix?: string;
  /** The text to show as the token. Default: a variable. */
  readonly token?: string;
}

export function curl(call: Call<unknown>, { baseUrl, headerPrefix, token }: CurlOptions): string {
  const path = readable(call.path);
  const words = [`curl${call.method === 'GET' ? '' : ` -X ${call.method}`} ${shellWord(baseUrl + path)}`];
  words.push(
    token === undefined ? '-H "Authorization: Bearer $TOKEN"' : `-H ${quoted(`Authorization: Bearer ${token}`)}`,
  );
  for (const [name, value] of Object.entries(headersOf(call, headerPrefix)))
    words.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (call.body !== undefined && call.body.length > 0) {
    words.push(typeof call.body === 'string' ? `--data-raw ${quoted(call.body)}` : '--data-binary @body');
  }
  return words.join(' \\\n  ');
}

/** A destination as people write it: curl, unlike a browser, can be told not to change it. */
function readable(path: string): string {
  const match = /^(\/v2\/(?:publish|schedules|enqueue\/[^/]+)\/)(https?%3A%2F%2F.*)$/.exec(path);
  if (!match) return path;
  const destination = decodeURIComponent(match[2]!);
  // Parts that curl or the shell would change stay encoded: dot segments, globs, and anything that is not plain.
  return /^[\w\-.~:/?&=%+,;@!$*()']*$/.test(destination) && !/\/\.{1,2}(?:\/|$|\?)|[*!$()']/.test(destination)
    ? match[1]! + destination
    : path;
}

function shellWord(text: string): string {
  return /^[\w\-.~:/%+,@=]*$/.test(text) ? text : quoted(text);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
