// Gives the bytes of a connection to a function as soon as they are read, past the stream of the socket. The events of
// the stream would cost as much as all the rest of reading a publish.
//
// Relies on: net.Socket calls its own `push` with each buffer that was read, and with null at the end; if `push`
// returns false, it stops reading; `_read` makes it read again. This holds in Node.js 24, 25 and 26. Without this
// feature: wrapped-socket.ts.

import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { expect } from './features.ts';

/** Gets the bytes that were read, or null at the end of the connection. Returns false to stop reading for now. */
export type TakeBytes = (bytes: Buffer | null) => boolean;

/** From now on `take` gets the bytes of the socket, and its stream gets none. */
export function takeBytes(socket: Socket, take: TakeBytes): void {
  socket.push = take;
}

/** Undoes `takeBytes`: the stream of the socket gets the bytes again. */
export function returnBytesToStream(socket: Socket): void {
  // Without the property, the method of the class is called again.
  Reflect.deleteProperty(socket, 'push');
}

/** Passes the bytes to the socket's stream, as the socket itself would. */
export function pushToStream(socket: Socket, bytes: Buffer | null): boolean {
  return Readable.prototype.push.call(socket, bytes);
}

/** Makes the socket read again after the function of `takeBytes` has returned false. */
export function resumeReading(socket: Socket): void {
  socket._read(0);
}

/** Tests that bytes which `far` writes reach the function that `takeBytes` set on `near`, and stop when it says so. */
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
  resumeReading(near);
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
