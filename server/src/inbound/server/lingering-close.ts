// Closes a connection on which the caller may still be sending. If it were closed at once, the system would respond to
// further bytes with a reset, and the caller could lose a response that was already sent. So our side is closed first,
// and what arrives is dropped for a limited time (RFC 9112, 9.6).

import type { Socket } from 'node:net';
import { eachMax } from '../../rules/limits/budgets.ts';
import { pushToStream, resumeReading, takeBytes } from '../../runtime/node-internals/socket-bytes.ts';
import type { Connection } from './connection.ts';

const DROPPED_BYTES_MAX = eachMax('refusedBytes');

/** Closes our side. Bytes that still arrive are dropped, for at most `ms` after the last byte of the responses. */
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
  takeBytes(socket, (bytes) => {
    if (bytes === null) return pushToStream(socket, null);
    droppedBytes += bytes.length;
    if (droppedBytes > DROPPED_BYTES_MAX) socket.destroy();
    return true;
  });
  socket.end();
  // Other code may have paused the stream.
  socket.resume();
  resumeReading(socket);
  const wait = () => connections.destroyAfter(socket, ms);
  if (socket.writableFinished) wait();
  else socket.once('finish', wait);
}
