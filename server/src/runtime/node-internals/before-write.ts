// Calls a function just before bytes of a socket go to the operating system.
//
// Relies on: stream.Writable calls `_write` of the socket itself, or `_writev` for several chunks, at the moment when
// it hands them over. This holds in Node.js 24, 25 and 26. Without this feature: the code that writes calls the check
// before `write`.

import { Socket } from 'node:net';
import { expect } from './features.ts';

type Done = (error?: Error | null) => void;

/** Calls `check` just before each write to the system. If it returns an error, the write fails, and so the socket. */
export function checkBeforeWrite(socket: Socket, check: () => Error | null): void {
  const write = socket._write;
  socket._write = (chunk: unknown, encoding: BufferEncoding, done: Done) => {
    const error = check();
    if (error !== null) done(error);
    else write.call(socket, chunk, encoding, done);
  };
  const writeAll = socket._writev;
  if (!writeAll) return;
  socket._writev = (chunks, done: Done) => {
    const error = check();
    if (error !== null) done(error);
    else writeAll.call(socket, chunks, done);
  };
}

/** Tests with sockets that are not connected. */
export async function testBeforeWrite(newSocket: () => Socket = () => new Socket()): Promise<void> {
  for (const [method, chunks] of [
    ['_write', ['a']],
    ['_writev', ['a', 'b']],
  ] as const) {
    const socket = newSocket();
    let asked = 0;
    checkBeforeWrite(socket, () => {
      asked += 1;
      return new Error('refused');
    });
    const failed = new Promise<Error | null>((resolve) => {
      socket.once('error', resolve);
      socket.once('close', () => resolve(null));
    });
    if (chunks.length > 1) socket.cork();
    for (const chunk of chunks) socket.write(chunk);
    socket.uncork();
    expect(asked === 1, `a socket does not call its own ${method}`);
    expect((await failed)?.message === 'refused', `an error of ${method} does not fail a socket`);
  }
}
