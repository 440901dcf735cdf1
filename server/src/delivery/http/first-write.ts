// Checks the time just before the first bytes of a request go to the operating system. Several steps prepare a request
// before that. A process that was stopped between them for long must not send it when it wakes.

import type { Socket } from 'node:net';
import type { WireWindow } from '../engine/wire-window.ts';

/** Not a byte of the request was written. */
export class TooLateError extends Error {
  override readonly name = 'TooLateError';
}

type Done = (error?: Error | null) => void;

/** Call the result for every request on the socket: its first write then fails if it is too late. */
export function guardFirstWrite(socket: Socket, wire: Pick<WireWindow, 'isOpen'>): () => void {
  let isStarting = false;
  const isTooLate = () => {
    const isFirst = isStarting;
    isStarting = false;
    return isFirst && !wire.isOpen;
  };
  const write = socket._write;
  socket._write = (chunk: unknown, encoding: BufferEncoding, done: Done) => {
    if (isTooLate()) done(new TooLateError('the attempt could not start in time'));
    else write.call(socket, chunk, encoding, done);
  };
  const writeAll = socket._writev;
  if (writeAll) {
    socket._writev = (chunks, done: Done) => {
      if (isTooLate()) done(new TooLateError('the attempt could not start in time'));
      else writeAll.call(socket, chunks, done);
    };
  }
  return () => {
    isStarting = true;
  };
}
