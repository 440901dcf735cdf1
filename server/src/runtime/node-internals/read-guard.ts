// A guard between a socket and undici: it gets all bytes before undici, and decides which of them undici gets.
//
// Relies on: undici 8 calls `read` of the socket, for everything it reads. Without this feature: wrapped-socket.ts.

import type { Socket } from 'node:net';
import type { Client } from 'undici';
import { expect, isFeatureWorking } from './features.ts';
import { MemoryStream } from './http-connection.ts';
import { pushToStream, takeBytes } from './socket-bytes.ts';
import { wrapSocket } from './wrapped-socket.ts';

export interface ReadGuard {
  /**
   * Returns the bytes for undici: an empty buffer or null if there are none for now. An error that is thrown closes the
   * socket.
   */
  pass(bytes: Buffer): Buffer | null;
  /** Why the socket must be closed when undici has read what was passed on. Null: it stays open. */
  readonly failure: Error | null;
}

/** Returns the socket that undici shall use. */
export function guardReads(socket: Socket, guard: ReadGuard): Socket {
  if (isFeatureWorking('answerGuard')) {
    replaceRead(socket, guard);
    return socket;
  }
  const own = wrapSocket(socket);
  takeBytes(own, (bytes) => (bytes === null ? pushToStream(own, null) : passOn(own, guard, bytes)));
  return own;
}

function replaceRead(socket: Socket, guard: ReadGuard): void {
  const read = socket.read;
  const cutOff = (error: Error) => {
    socket.destroy(error);
    return null;
  };
  socket.read = (size?: number): Buffer | null => {
    // All bytes passed on before the failure have been read by now.
    if (guard.failure !== null) return cutOff(guard.failure);
    const bytes: Buffer | null = read.call(socket, size);
    if (bytes === null) return null;
    try {
      return guard.pass(bytes);
    } catch (error) {
      return cutOff(error as Error);
    }
  };
}

function passOn(own: Socket, guard: ReadGuard, bytes: Buffer): boolean {
  try {
    const passed = guard.pass(bytes);
    const mayReadOn = passed === null || passed.length === 0 || pushToStream(own, passed);
    // The socket is closed only in the next tick, so that undici first reads what was just passed on.
    const { failure } = guard;
    if (failure !== null) process.nextTick(() => own.destroy(failure));
    return mayReadOn;
  } catch (error) {
    own.destroy(error as Error);
    return false;
  }
}

/** A connection for the self-test that responds to every write. */
class AnsweringStream extends MemoryStream {
  override _write(bytes: Buffer, encoding: BufferEncoding, done: () => void): void {
    super._write(bytes, encoding, done);
    this.push('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody');
  }
}

/** Tests in memory, once undici is loaded. */
export async function testReadGuard(
  { Client: Opening }: { readonly Client: typeof Client },
  late?: AbortSignal,
): Promise<void> {
  const stream = new AnsweringStream() as unknown as Socket;
  let passedBytes = 0;
  const guard: ReadGuard = {
    failure: null,
    pass: (bytes) => {
      passedBytes += bytes.length;
      return bytes;
    },
  };
  replaceRead(stream, guard);
  const client = new Opening('http://in.memory', { connect: (_options, done) => process.nextTick(done, null, stream) });
  late?.addEventListener('abort', () => void client.destroy().catch(() => {}), { once: true });
  let bodyBytes = 0;
  await new Promise<void>((resolve, reject) => {
    client.dispatch(
      { path: '/', method: 'GET' },
      {
        onRequestStart: () => {},
        onResponseStart: () => {},
        onResponseData: (_controller, bytes) => {
          bodyBytes += bytes.length;
        },
        onResponseEnd: () => resolve(),
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
  await client.destroy();
  expect(bodyBytes === 4 && passedBytes > 4, 'undici does not call read of its socket');
}
