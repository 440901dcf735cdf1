// A call as a shell command, safe to paste whatever the call contains.

import type { Call } from './call.ts';
import { headersOf } from './send.ts';

export interface CurlOptions {
  readonly baseUrl: string;
  readonly headerPrefix?: string;
  /** The text to show as the token. Default: a shell variable. */
  readonly token?: string;
}

export function curl(call: Call<unknown>, { baseUrl, headerPrefix, token }: CurlOptions): string {
  const path = readable(call.path);
  const words = [`curl${call.method === 'GET' ? '' : ` -X ${call.method}`} ${shellWord(baseUrl + path)}`];
  words.push(
    token === undefined ? '-H "Authorization: Bearer $TOKEN"' : `-H ${quoted(`Authorization: Bearer ${token}`)}`,
  );
  const headers = Object.entries(headersOf(call, headerPrefix));
  for (const [name, value] of headers) words.push(`-H ${headerWord(`${name}: ${value}`)}`);
  const { body = '' } = call;
  if (body.length === 0) return words.join(' \\\n  ');
  // Without this header curl sends the content type of a form.
  if (!headers.some(([name]) => name.toLowerCase() === 'content-type')) words.push("-H 'Content-Type:'");
  const text = plainText(body);
  words.push(text === null ? '--data-binary @-' : `--data-raw ${quoted(text)}`);
  return (text === null ? `printf %s ${base64(body)} | base64 -d | ` : '') + words.join(' \\\n  ');
}

/** Limit for one argument. On Linux an argument of a command must be shorter than 128 KiB. */
const WORD_BYTES_MAX = 100_000;

/** Characters that a terminal obeys or hides: control characters, and those that change the direction of text. */
const NOT_PLAIN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

/** The body as text that can be pasted into a terminal. Null when it must be encoded. */
function plainText(body: string | Uint8Array): string | null {
  const bytes = bytesOf(body);
  if (bytes.length > WORD_BYTES_MAX) return null;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return NOT_PLAIN.test(text) ? null : text;
  } catch {
    return null;
  }
}

function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? new TextEncoder().encode(body) : body;
}

function base64(body: string | Uint8Array): string {
  let characters = '';
  for (const byte of bytesOf(body)) characters += String.fromCharCode(byte);
  return btoa(characters);
}

/**
 * A header as a shell word. Headers are Latin-1, but a terminal encodes characters beyond ASCII in another way, so each
 * of these is written as an octal number.
 */
function headerWord(text: string): string {
  if (/^[\t\x20-\x7e]*$/.test(text)) return quoted(text);
  const format = text
    .replaceAll(/[\\%]/g, (special) => special + special)
    .replaceAll(/[^\t\x20-\x7e]/gu, (each) => {
      const bytes = each <= '\xff' ? [each.charCodeAt(0)] : [...new TextEncoder().encode(each)];
      return bytes.map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
    });
  return `"$(printf ${quoted(format)})"`;
}

/** The path with a decoded destination, for people to read. A browser would normalise it; curl leaves it unchanged. */
function readable(path: string): string {
  const match = /^(\/v2\/(?:publish|schedules|enqueue\/[^/]+)\/)(https?%3A%2F%2F.*)$/.exec(path);
  if (!match) return path;
  const destination = decodeURIComponent(match[2]!);
  // A destination stays encoded if curl or the shell would change parts of it: dot segments, globs, special characters.
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
