// The file of `postrider batch`: one message on each line, as JSON. Reads it line by line, and checks each.

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

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A line's element, or what is wrong with it. */
export function readElement(text: string): Element | { readonly problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    const problem = wrongElement(value);
    return problem === null ? (value as Element) : { problem };
  } catch (error) {
    return { problem: `it is not JSON: ${(error as Error).message}` };
  }
}

function wrongElement(value: unknown): string | null {
  if (!isObject(value)) return 'it must be an object such as {"destination": "https://…", "body": "…"}';
  const { destination, queue, headers, body, bodyBase64 } = value as Record<string, unknown>;
  const unknown = Object.keys(value as object).find((key) => !FIELDS.includes(key));
  if (unknown !== undefined) return unknownField(unknown);
  if (typeof destination !== 'string' || destination === '') return 'destination is missing';
  const wrong = Object.entries({ queue, body, bodyBase64 }).find(
    ([, each]) => each !== undefined && typeof each !== 'string',
  );
  if (wrong !== undefined) return `${wrong[0]} must be a text`;
  return headers === undefined || isObject(headers) ? null : 'headers must have names and values';
}

function unknownField(name: string): string {
  const guess = nearestName(name, FIELDS);
  return `unknown field "${name}"${guess ? `; did you mean "${guess}"?` : `; there are ${FIELDS.join(', ')}`}`;
}

export interface FileLine {
  /** Counted from 1. */
  readonly number: number;
  readonly text: string;
  /** The bytes of the line in the file, including its line break. */
  readonly raw: Buffer;
  /** The position in the file at which the next line begins. */
  readonly endsAt: number;
}

const LINE_BYTES_MAX = 100 * 1024 ** 2;

/** All lines of the file, including empty ones. */
export async function* readLines(
  source: AsyncIterable<Uint8Array>,
  from: { line: number; bytes: number },
): AsyncGenerator<FileLine> {
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
    // Some editors put a byte order mark at the beginning of a file. It is not part of the first line.
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
