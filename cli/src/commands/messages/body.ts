// The body and the headers of a publish, as a person gives them on a command line.

import { isUtf8 } from 'node:buffer';
import { createReadStream, statSync } from 'node:fs';
import { quoted } from '../../frame/arguments.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import { collect } from '../../frame/read-input.ts';
import type { Io } from '../../frame/terminal.ts';

/** Limit for a body, higher than that of any service. It guards against a device or a wrong file. */
const BODY_BYTES_MAX = 1024 ** 3;

/** Reads the body: the text itself, the content of a file after "@", or standard input for "-". */
export async function readBody(given: string | undefined, io: Io): Promise<Uint8Array | undefined> {
  if (given === undefined) return undefined;
  if (given === '-') {
    if (io.stdin.isTTY) io.stderr.write('Reads the body from the terminal. End it with Ctrl-D on a line of its own.\n');
    return collect(io.stdin, BODY_BYTES_MAX, () => tooLarge('standard input'));
  }
  if (!given.startsWith('@')) return Buffer.from(given);
  return readBodyFile(given.slice(1));
}

async function readBodyFile(path: string): Promise<Uint8Array> {
  try {
    if (statSync(path).isDirectory())
      throw new Failure(`cannot read the body: ${printable(path)} is a directory`, { exit: EXIT.usage });
    return await collect(createReadStream(path) as AsyncIterable<Uint8Array>, BODY_BYTES_MAX, () => tooLarge(path));
  } catch (error) {
    if (error instanceof Failure) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? `there is no file ${quoted(path)}` : message;
    throw new Failure(`cannot read the body: ${why}`, {
      exit: EXIT.usage,
      hint: 'A body that starts with "@" names a file. To send the "@" itself, pipe the body in: -d -',
    });
  }
}

const tooLarge = (name: string) => new Failure(`the body from ${printable(name)} is over 1 GiB`, { exit: EXIT.usage });

/** The body as a field of JSON: as text if it is valid UTF-8, else as base64, so that no byte changes. */
export function jsonBody(bytes: Uint8Array): { readonly body: string } | { readonly bodyBase64: string } {
  const buffer = Buffer.from(bytes);
  return isUtf8(buffer) ? { body: buffer.toString('utf8') } : { bodyBase64: buffer.toString('base64') };
}

/** Headers that the service itself reads, whatever its prefix is. All others are forwarded. */
const OWN_HEADERS = ['content-type', 'idempotency-key', 'traceparent', 'tracestate'];
const UNFIT = /[^\t\x20-\x7e\x80-\xff]/;
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/s;

/**
 * Reads headers in the format of `curl -H`. A header of the service and Content-Type are sent unchanged. Any other
 * header is for the destination, and becomes `<prefix>Forward-<name>`.
 */
export function readHeaders(given: readonly string[], prefix: string): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  const names = new Set<string>();
  const problems = given.flatMap((text) => {
    const [, name, value] = HEADER.exec(text) ?? [];
    if (name === undefined || value === undefined) return [`-H must be "Name: value", not ${quoted(text)}`];
    const sent = sentName(name, prefix);
    const isTwice = names.has(sent.toLowerCase());
    names.add(sent.toLowerCase());
    headers.set(sent, value);
    return [
      ...(UNFIT.test(value) ? [`the header ${name} has a character that no header can hold`] : []),
      ...(isTwice ? [`the header ${name} is given more than once`] : []),
    ];
  });
  if (problems.length > 0) throw new Failure(problems.join('; '), { exit: EXIT.usage });
  return Object.fromEntries(headers);
}

function sentName(name: string, prefix: string): string {
  const lower = name.toLowerCase();
  const isOwn = OWN_HEADERS.includes(lower) || lower.startsWith(prefix.toLowerCase());
  return isOwn ? name : `${prefix}Forward-${name}`;
}

/** Adds the content type that the body suggests, unless the headers have one. */
export function addGuessedType(headers: Map<string, string>, body: Uint8Array | undefined): void {
  const hasType = [...headers.keys()].some((name) => name.toLowerCase() === 'content-type');
  const type = hasType ? undefined : guessedType(body);
  if (type !== undefined) headers.set('Content-Type', type);
}

/** The content type that the body suggests: JSON if it is a JSON object or list, else none. */
function guessedType(body: Uint8Array | undefined): string | undefined {
  if (body === undefined || (body[0] !== 0x7b && body[0] !== 0x5b)) return undefined;
  try {
    JSON.parse(Buffer.from(body).toString('utf8'));
    return 'application/json';
  } catch {
    return undefined;
  }
}
