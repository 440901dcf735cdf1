// A destination on this machine, made of bare sockets: it records every request as it came, byte for byte, and answers
// as the test says.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type ReceivedRequest, readRequests } from '../delivery/http/receivers.ts';
import { waitFor } from './wait.ts';

/** What a test or a file cleans up after itself with. */
export interface Cleanup {
  after(end: () => void | Promise<void>): void;
}

export interface Arrival extends ReceivedRequest {
  readonly method: string;
  /** The request target, exactly as it stood in the request line. */
  readonly target: string;
  /** All values of a header, whatever its case. */
  values(name: string): string[];
  /** The value of a header that stands at most once. */
  header(name: string): string | undefined;
}

/** A status alone, or more of the answer; `hang` says nothing and `reset` closes the connection. */
export type Reply =
  | number
  | 'hang'
  | 'reset'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

export type Answer = (arrival: Arrival, index: number) => Reply | Promise<Reply>;

export interface Receiver {
  /** Without a slash at the end. */
  readonly url: string;
  readonly port: number;
  readonly arrivals: Arrival[];
  /** How to answer from now on. */
  answer: Answer;
  /** The arrivals, once there are at least `count`. */
  received(count: number): Promise<Arrival[]>;
}

export async function startReceiver(t: Cleanup, answer: Answer = () => 200, ip = '127.0.0.1'): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {}); // the service may hang up: the test looks at what it recorded
    readRequests(socket, async (request) => {
      const arrival = arrivalOf(request);
      const index = receiver.arrivals.push(arrival) - 1;
      send(socket, await receiver.answer(arrival, index));
    });
  });
  server.listen(0, ip);
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://${ip.includes(':') ? `[${ip}]` : ip}:${port}`,
    port,
    arrivals: [],
    answer,
    received: (count) =>
      waitFor(
        `${count} requests at the receiver`,
        () => receiver.arrivals.length >= count && receiver.arrivals.slice(),
      ),
  };
  return receiver;
}

/** Answers one after the other; the last one for all that come later. */
export function inTurn(...replies: readonly Reply[]): Answer {
  return (_arrival, index) => replies[Math.min(index, replies.length - 1)]!;
}

function arrivalOf(request: ReceivedRequest): Arrival {
  const [method = '', target = ''] = request.requestLine.split(' ');
  const values = (name: string) =>
    request.headers.filter(([each]) => each.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  return { ...request, method, target, values, header: (name) => values(name)[0] };
}

function send(socket: Socket, reply: Reply): void {
  if (reply === 'hang') return;
  if (reply === 'reset') {
    socket.destroy();
    return;
  }
  const { status, headers = {}, body = '' } = typeof reply === 'number' ? { status: reply } : reply;
  const lines = Object.entries({ 'Content-Length': String(Buffer.byteLength(body)), ...headers });
  socket.write(`HTTP/1.1 ${status} -\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`);
}
