// Receivers made of bare sockets, so that a test sees every byte that arrives and decides every byte that goes back.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface Receiver {
  readonly port: number;
  readonly url: string;
  /** How many connections were ever accepted. */
  connectionCount: number;
}

export async function startReceiver(
  t: TestContext,
  onConnection: (socket: Socket) => void,
  makeServer: (listener: (socket: Socket) => void) => Server = createServer,
  ip = '127.0.0.1',
): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const server = makeServer((socket) => {
    receiver.connectionCount += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {}); // a client that hangs up is what many of these tests are about
    onConnection(socket);
  });
  server.listen(0, ip);
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = { port, url: `http://127.0.0.1:${port}`, connectionCount: 0 };
  return receiver;
}

export interface ReceivedRequest {
  /** Everything before the empty line, as it came. */
  readonly head: string;
  readonly requestLine: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

/** Calls `onRequest` for each request that has arrived whole, one after the other. */
export function readRequests(socket: Socket, onRequest: (request: ReceivedRequest) => void): void {
  let buffered: Buffer[] = [];
  let bytes = 0;
  let neededBytes = 0;
  socket.on('data', (chunk: Buffer) => {
    buffered.push(chunk);
    bytes += chunk.length;
    while (bytes > 0 && bytes >= neededBytes) {
      const all = Buffer.concat(buffered);
      buffered = [all];
      const headEnd = all.indexOf('\r\n\r\n');
      if (headEnd === -1) return;
      const head = all.toString('latin1', 0, headEnd);
      const [requestLine = '', ...lines] = head.split('\r\n');
      const headers = lines.map((line): [string, string] => {
        const colon = line.indexOf(': ');
        return [line.slice(0, colon), line.slice(colon + 2)];
      });
      const length = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? '0';
      neededBytes = headEnd + 4 + Number(length);
      if (bytes < neededBytes) return;
      const body = all.subarray(headEnd + 4, neededBytes);
      buffered = [all.subarray(neededBytes)];
      bytes -= neededBytes;
      neededBytes = 0;
      onRequest({ head, requestLine, headers, body });
    }
  });
}

/** Answers each request with these very bytes. */
export function answerWith(...parts: readonly (string | Uint8Array)[]): (socket: Socket) => void {
  return (socket) =>
    readRequests(socket, () => {
      for (const part of parts) socket.write(part);
    });
}

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
