// Gives the bytes of a connection to a function as soon as the system has read them. The events of a stream would cost
// as much as reading a publish.
//
// Relies on: net.Socket calls its own `push` with each buffer that was read, and with null at the end; if `push`
// returns false, it stops reading; `_read` makes it read again. This holds in Node.js 24, 25 and 26. Without it:
// wrapped-socket.ts.

import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { expect } from './features.ts';

/** Gets what was read, or null at the end of the connection. Returns false when no more is to be read for now. */
export type TakeBytes = (bytes: Buffer | null) => boolean;

/** From now on, nothing reaches the stream of the socket by itself. */
export function takeBytes(socket: Socket, take: TakeBytes): void {
  socket.push = take;
}

/** The stream of the socket gets the bytes again. */
export function leaveBytes(socket: Socket): void {
  // Restores the method of the class.
  Reflect.deleteProperty(socket, 'push');
}

/** Passes the bytes to the socket's stream, as the socket itself would. */
export function pushToStream(socket: Socket, bytes: Buffer | null): boolean {
  return Readable.prototype.push.call(socket, bytes);
}

/** Makes the socket read again after its function has returned false. */
export function readOn(socket: Socket): void {
  socket._read(0);
}

/** Bytes that `far` writes must reach the function that `takeBytes` set on `near`. */
export async function testSocketBytes(near: Socket, far: Duplex): Promise<void> {
  const taken: string[] = [];
  let mayReadOn = false;
  let wake = () => {};
  const next = () => new Promise<void>((resolve) => (wake = resolve));
  takeBytes(near, (bytes) => {
    taken.push(String(bytes));
    wake();
    return mayReadOn;
  });
  near.on('data', () => {
    taken.push('past push');
    wake();
  });
  let heard = next();
  far.write('a');
  await heard;
  expect(taken.join() === 'a', 'a socket does not call its own push');
  // When `back` has arrived at `far`, `b` has arrived at `near` as well.
  heard = next();
  far.on('data', () => wake());
  far.write('b');
  near.write('back');
  await heard;
  expect(taken.join() === 'a', 'a socket goes on reading although push returned false');
  mayReadOn = true;
  heard = next();
  readOn(near);
  await heard;
  expect(taken.join() === 'a,b', '_read does not make a socket read again');
  heard = next();
  far.end();
  await heard;
  expect(taken.join() === 'a,b,null', 'a socket does not call its own push at its end');
  heard = next();
  near.on('end', () => wake());
  pushToStream(near, null);
  await heard;
}
