// The file of `postrider batch`: one message on each line, as JSON. Reads it line by line, checks each, and keeps beside
// it how far the sending is.

import { createHash, type Hash } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { nearestName } from '../../../../server/src/rules/requests/nearest-name.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';

export interface Element {
  readonly destination: string;
  readonly queue?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly body?: string;
  readonly bodyBase64?: string;
}

const FIELDS = ['destination', 'queue', 'headers', 'body', 'bodyBase64'];

/** A line's element, or what is wrong with it. */
export function readElement(text: string): Element | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `it is not JSON: ${(error as Error).message}` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: 'it must be an object such as {"destination": "https://…", "body": "…"}' };
  }
  const { destination, queue, headers, body, bodyBase64 } = value as Record<string, unknown>;
  const unknown = Object.keys(value).find((key) => !FIELDS.includes(key));
  if (unknown !== undefined) {
    const guess = nearestName(unknown, FIELDS);
    return {
      problem: `unknown field "${unknown}"${guess ? `; did you mean "${guess}"?` : `; there are ${FIELDS.join(', ')}`}`,
    };
  }
  if (typeof destination !== 'string' || destination === '') return { problem: 'destination is missing' };
  for (const [name, each] of Object.entries({ queue, body, bodyBase64 })) {
    if (each !== undefined && typeof each !== 'string') return { problem: `${name} must be a text` };
  }
  if (headers !== undefined && (typeof headers !== 'object' || headers === null || Array.isArray(headers))) {
    return { problem: 'headers must have names and values' };
  }
  return value as Element;
}

export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  /** As it stands in the file, with its line break. */
  readonly raw: Buffer;
  /** Where the next line begins. */
  readonly endsAt: number;
}

const LINE_BYTES_MAX = 100 * 1024 ** 2;

/** All lines, empty ones too. */
export async function* linesOf(
  source: AsyncIterable<Uint8Array>,
  from: { line: number; bytes: number },
): AsyncGenerator<Line> {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let { line: number, bytes: endsAt } = from;
  const lineOf = () => {
    const raw = Buffer.concat(waiting);
    endsAt += raw.length;
    waiting = [];
    waitingBytes = 0;
    number += 1;
    const text = raw.toString('utf8').replace(/\r?\n$/, '');
    // Some editors mark the beginning of a file. The mark is no part of its first line.
    return { number, text: number === 1 ? text.replace(/^\ufeff/, '') : text, raw, endsAt };
  };
  for await (const chunk of source) {
    let rest = Buffer.from(chunk);
    for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
      waiting.push(rest.subarray(0, at + 1));
      waitingBytes += at + 1;
      rest = rest.subarray(at + 1);
      yield lineOf();
    }
    waiting.push(rest);
    waitingBytes += rest.length;
    if (waitingBytes > LINE_BYTES_MAX) {
      throw new Failure(`line ${number + 1} is longer than 100 MiB: is this a file with one message on each line?`, {
        exit: EXIT.usage,
      });
    }
  }
  if (waitingBytes > 0) yield lineOf();
}

/** How far the sending of a file is. */
export interface Progress {
  readonly url: string;
  /** The beginning of the deduplication ids, the same in every run over the file. */
  readonly runId: string;
  /** The last line that the service has answered for, and where it ends. */
  readonly line: number;
  readonly bytes: number;
  /** Of the bytes that are done: the file may grow, but not change. */
  readonly sha256: string;
  readonly accepted: number;
  readonly refused: number;
  /** Sent, but not answered for when the run ended. */
  readonly doubt: { readonly toLine: number; readonly at: number } | null;
  /** Whether the last line had no line break: the end of a file, which may grow. */
  readonly isLineOpen?: boolean;
}

export function readProgress(path: string): Progress | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new Failure(`cannot read ${path}: ${(error as Error).message}`);
  }
  try {
    const progress = JSON.parse(text) as Progress;
    if (typeof progress.runId === 'string' && Number.isInteger(progress.bytes)) return progress;
  } catch {
    // Handled below.
  }
  throw new Failure(`${path} is not the progress of a batch`, {
    exit: EXIT.usage,
    hint: 'Remove it, or start from the first line with --restart.',
  });
}

/** On disk before it returns: what it says is never ahead of what it should. */
export function writeProgress(path: string, progress: Progress): void {
  const part = `${path}.part`;
  try {
    const file = openSync(part, 'w', 0o600);
    try {
      writeSync(file, `${JSON.stringify(progress)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(part, path);
  } catch (error) {
    throw new Failure(`cannot keep in ${path} how far the sending is: ${(error as Error).message}`, {
      hint: `${progress.line} lines are done. Choose a place that can be written with --progress-file.`,
    });
  }
}

/** The hash of the first bytes of a file, which goes on with later ones. */
export async function hashOfStart(path: string, bytes: number): Promise<Hash> {
  const hash = createHash('sha256');
  if (bytes === 0) return hash;
  for await (const chunk of createReadStream(path, { end: bytes - 1 })) hash.update(chunk as Buffer);
  return hash;
}

/** The first two bytes after those, or fewer. None at the end of the file. */
export async function startOfRest(path: string, bytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const chunk of createReadStream(path, { start: bytes, end: bytes + 1 })) pieces.push(chunk as Buffer);
  return Buffer.concat(pieces);
}
