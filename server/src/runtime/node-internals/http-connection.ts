// Controls what node:http does with a connection that it got by `server.emit('connection', …)`: it must not bypass the
// stream when it reads, and must not close the connection after its last response.
//
// Relies on, in Node.js 24, 25 and 26: node:http reads from the system directly until somebody listens to `data` of the
// socket, and then never again; it calls `destroySoon` of the socket after its last response; `httpAllowHalfOpen` of a
// server lets a caller that has closed its side receive its response; `shouldKeepAlive` of a response says whether
// another request may follow. Without this feature: wrapped-socket.ts, from which node:http cannot read directly and
// whose `destroySoon` is ours.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { expect } from './features.ts';
import { takeBytes } from './socket-bytes.ts';

/** After this call, node:http reads nothing itself: it gets only what is emitted as `data` of the socket. */
export function preventDirectReads(socket: Socket): void {
  socket.on('data', ignore);
  socket.off('data', ignore);
}

/** Calls `close` where node:http would close the connection after its last response. */
export function replaceClose(socket: Socket, close: () => void): void {
  socket.destroySoon = close;
}

/** Lets callers close their side of the connection after their last request, and still receive the responses. */
export function allowHalfOpen(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true });
}

/**
 * Whether another request may follow on the connection. Without `shouldKeepAlive` this is a guess by the version and
 * the headers, which may be wrong for an unusual request.
 */
export function keepsAlive(request: IncomingMessage, response: ServerResponse): boolean {
  const { shouldKeepAlive }: { shouldKeepAlive?: boolean } = response;
  return shouldKeepAlive ?? (request.httpVersion === '1.1' && !/\bclose\b/i.test(request.headers.connection ?? ''));
}

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

/**
 * Tests that bytes which `far` writes do not reach node:http past the function of `takeBytes`, and that node:http does
 * not close the connection itself.
 */
export async function testHttpConnection(near: Socket, far: Duplex): Promise<void> {
  const { server, request } = probeServer();
  let isClosed = false;
  let wake = () => {};
  server.emit('connection', near);
  preventDirectReads(near);
  const taken = new Promise<Buffer | null>((resolve) => {
    takeBytes(near, (bytes) => {
      resolve(bytes);
      return true;
    });
  });
  replaceClose(near, () => {
    isClosed = true;
    wake();
  });
  far.write(REQUEST);
  const early = request.then(() => null);
  const bytes = await Promise.race([taken, early]);
  expect(bytes !== null, 'node:http reads past the stream of a socket');
  near.emit('data', bytes);
  const { response } = await request;
  const finished = new Promise<void>((resolve) => {
    wake = resolve;
    near.once('close', resolve);
  });
  response.end();
  await finished;
  expect(isClosed, 'node:http does not call destroySoon behind its last response');
}

/** Tests with a connection in memory. */
export async function testHalfOpen(newServer = () => createServer()): Promise<void> {
  const { server, request } = probeServer(newServer);
  expect('httpAllowHalfOpen' in server, 'a server has no httpAllowHalfOpen');
  allowHalfOpen(server);
  const stream = new MemoryStream();
  const closed = new Promise((resolve) => stream.once('close', resolve));
  server.emit('connection', stream);
  stream.push(REQUEST);
  stream.push(null);
  const { response } = await request;
  expect(response.shouldKeepAlive === false, 'a response has no shouldKeepAlive');
  if (!stream.readableEnded) await new Promise((resolve) => stream.once('end', resolve));
  response.end('heard');
  await closed;
  expect(stream.written.endsWith('heard'), 'a caller that has closed its side gets no response');
}

function probeServer(newServer = () => createServer()) {
  const server = newServer();
  const request = new Promise<{ request: IncomingMessage; response: ServerResponse }>((resolve) =>
    server.once('request', (asked, response) => resolve({ request: asked, response })),
  );
  return { server, request };
}

/** A connection whose other side is the self-test. */
export class MemoryStream extends Duplex {
  written = '';

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.written += bytes;
    done();
  }
}

function ignore(): void {}
