// A destination made of bare sockets that answers each request as it likes, byte by byte, and knows which of its
// connections are still open.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { readRequests } from '../../delivery/http/receivers.ts';
import type { Cleanup } from '../../support/receiver.ts';

export interface RawReceiver {
  readonly url: string;
  /** How many requests have arrived. */
  requestCount: number;
  readonly open: ReadonlySet<Socket>;
}

export async function startRawReceiver(t: Cleanup, answer: (socket: Socket) => void): Promise<RawReceiver> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => {}); // that it is cut off is what the tests are about
    readRequests(socket, () => {
      receiver.requestCount += 1;
      answer(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const receiver: RawReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requestCount: 0,
    open,
  };
  return receiver;
}

/** Sends the block over and over, as fast as it is taken, until it is cut off. Answers how many bytes it has sent. */
export function pour(socket: Socket, block: string | Uint8Array): () => number {
  let sentBytes = 0;
  const more = () => {
    // A few at a time: the service under test runs in this very process and has its turn between.
    for (let i = 0; i < 4 && !socket.destroyed; i += 1) {
      sentBytes += block.length;
      if (!socket.write(block)) return;
    }
    if (!socket.destroyed) setImmediate(more);
  };
  socket.on('drain', more);
  more();
  return () => sentBytes;
}
