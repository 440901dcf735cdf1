// Closes a connection on which the caller may still be sending. If it were closed at once, the system would answer what
// still comes with a reset, and the caller could lose a response that was already sent. So our side is closed first, and
// what comes is dropped for a while (RFC 9112, 9.6).

import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { eachMax } from '../../rules/limits/budgets.ts';
import type { Connection } from './connection.ts';

const DROPPED_BYTES_MAX = eachMax('refusedBytes');

/** For at most `ms` after the last byte of the responses was written. */
export function closeLingering(
  connections: { destroyAfter(socket: Socket, ms: number): void },
  connection: Connection,
  ms: number,
): void {
  if (connection.isClosing) return;
  connection.isClosing = true;
  connection.isLast = true;
  const { socket } = connection;
  let droppedBytes = 0;
  socket.push = (chunk: Buffer | null) => {
    if (chunk === null) return pushToStream(socket, null);
    droppedBytes += chunk.length;
    if (droppedBytes > DROPPED_BYTES_MAX) socket.destroy();
    return true;
  };
  socket.end();
  readOn(socket);
  const wait = () => connections.destroyAfter(socket, ms);
  if (socket.writableFinished) wait();
  else socket.once('finish', wait);
}

/** As the socket would have taken it itself. */
export function pushToStream(socket: Socket, chunk: Buffer | null): boolean {
  return Readable.prototype.push.call(socket, chunk);
}

/** Reads again after a `push` that returned false, and also if somebody paused the stream. */
function readOn(socket: Socket): void {
  socket.resume();
  socket._read(0);
}
