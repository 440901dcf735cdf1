// Writes large responses piece by piece. The next piece is made when the caller has read the one before. So while a
// slow caller reads, the data from the store is in memory, but not its whole JSON text.

import type { ServerResponse } from 'node:http';
import type { EventLoopYielder } from './event-loop-yielder.ts';

/** How much text is written at once. Smaller responses are written completely. */
export const PIECE_BYTES = 64 * 1024;

/** A response whose text is made while it is written. */
export class StreamedResponse {
  /** How many bytes the data of the response takes in memory. */
  readonly bytes: number;
  readonly pieces: () => Iterable<string>;

  constructor(bytes: number, pieces: () => Iterable<string>) {
    this.bytes = bytes;
    this.pieces = pieces;
  }
}

/** Makes `{"messages": […], "cursor": "…"}`: each list under its name, then the other fields. */
export function* objectPieces(
  lists: readonly (readonly [name: string, entries: Iterable<object>])[],
  rest: object,
): Iterable<string> {
  let isFirst = true;
  for (const [name, entries] of lists) {
    yield `${isFirst ? '{' : ','}${JSON.stringify(name)}:`;
    yield* arrayPieces(entries);
    isFirst = false;
  }
  const text = JSON.stringify(rest);
  yield text === '{}' ? '}' : `,${text.slice(1)}`;
}

function* arrayPieces(entries: Iterable<object>): Iterable<string> {
  let separator = '[';
  for (const entry of entries) {
    yield separator;
    yield* entryPieces(entry);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

const isLong = (value: unknown): value is string => typeof value === 'string' && value.length > PIECE_BYTES;

/** The total length of the fields that are too long to be converted to JSON at once, such as a body. */
export function longFieldsLength(entry: object): number {
  let length = 0;
  for (const value of Object.values(entry)) if (isLong(value)) length += value.length;
  return length;
}

/** Makes the same text as `JSON.stringify`. A long field comes in pieces: 10 MB at once would take 20 ms. */
export function* entryPieces(entry: object): Iterable<string> {
  if (longFieldsLength(entry) === 0) {
    yield JSON.stringify(entry);
    return;
  }
  let separator = '{';
  for (const [name, value] of Object.entries(entry)) {
    if (value === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    separator = ',';
    if (!isLong(value)) {
      yield JSON.stringify(value);
      continue;
    }
    yield '"';
    for (const piece of textInPieces(value)) yield JSON.stringify(piece).slice(1, -1);
    yield '"';
  }
  yield '}';
}

/** Yields an existing text in pieces. */
export function* textInPieces(text: string): Iterable<string> {
  for (let at = 0; at < text.length; ) {
    const end = at + PIECE_BYTES;
    // A character outside the basic plane is two UTF-16 units, which must not be separated.
    const isPair = /[\uD800-\uDBFF]/.test(text.charAt(end - 1));
    yield text.slice(at, isPair ? end + 1 : end);
    at = isPair ? end + 1 : end;
  }
}

/** Writes the body of a response after its head, in turns with other callers. Stops if the caller disconnects. */
export async function writePieces(
  response: ServerResponse,
  pieces: Iterable<string>,
  inTurn: EventLoopYielder,
  onProgress: () => void,
): Promise<void> {
  let text = '';
  for (const piece of pieces) {
    text += piece;
    let isEnough = inTurn.isEnough(1, piece.length);
    if (text.length >= PIECE_BYTES) {
      const hasRoom = response.write(text);
      text = '';
      if (!hasRoom && !(await inTurn.waitFor(isDrained(response)))) return;
      onProgress();
      // Many responses may have room again in the same turn of the event loop, so this caller waits for its turn.
      isEnough ||= !hasRoom;
    }
    if (isEnough) await inTurn.next();
    if (response.destroyed) return;
  }
  response.end(text);
  inTurn.end();
}

/** Resolves to true when there is room again, or to false when the caller has disconnected. */
function isDrained(response: ServerResponse): Promise<boolean> {
  return new Promise((resolve) => {
    const done = (isDrainedNow: boolean) => {
      response.off('drain', onDrain);
      response.off('close', onClose);
      resolve(isDrainedNow);
    };
    const onDrain = () => done(true);
    const onClose = () => done(false);
    response.on('drain', onDrain);
    response.on('close', onClose);
    if (response.destroyed) onClose();
  });
}
