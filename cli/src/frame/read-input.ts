// Reads files and standard input for a command, and makes the failure for input that cannot be read.

import { EXIT } from './exit-codes.ts';
import { Failure } from './failure.ts';

/** Reads all of the input. Throws as soon as it is too large: it may be a device, or a pipe without end. */
export async function collect(
  source: AsyncIterable<Uint8Array>,
  bytesMax: number,
  tooMuch: () => Error,
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of source) {
    bytes += piece.length;
    if (bytes > bytesMax) throw tooMuch();
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** The failure for an error of reading. An error that is already a Failure is returned unchanged. */
export function unreadableFailure(what: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const why = code === 'ENOENT' ? 'there is no such file' : message;
  return new Failure(`cannot read ${what}: ${why}`, { exit: EXIT.usage });
}
