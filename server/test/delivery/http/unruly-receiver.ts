// A receiver that follows the plan of each request that it gets, on bare sockets or behind TLS.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Clock } from '../../../src/runtime/world.ts';
import { CERTIFICATE, KEY } from './certificates.ts';
import { readRequests } from './receivers.ts';
import type { Plan, When } from './unruly-plan.ts';

export class UnrulyReceiver {
  /** Requests on a connection that had served before. */
  reusedCount = 0;
  readonly sockets = new Set<Socket>();
  /** The connections below TLS, by the port of the client. Only they can be reset. */
  readonly #below = new Map<number, Socket>();
  readonly #clock: Pick<Clock, 'after'>;
  readonly #plans: ReadonlyMap<string, Plan>;
  readonly #isSecure: boolean;
  #server: ReturnType<typeof createServer> | null = null;

  constructor(clock: Pick<Clock, 'after'>, plans: ReadonlyMap<string, Plan>, isSecure: boolean) {
    this.#clock = clock;
    this.#plans = plans;
    this.#isSecure = isSecure;
  }

  async start(): Promise<number> {
    const options = { allowHalfOpen: true, noDelay: true };
    const server = this.#isSecure
      ? createTlsServer({ ...options, key: KEY, cert: CERTIFICATE }, (socket) => this.#take(socket))
      : createServer(options, (socket) => this.#take(socket));
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      const { remotePort = 0 } = socket;
      this.#below.set(remotePort, socket);
      socket.on('close', () => this.#below.delete(remotePort));
    });
    server.on('tlsClientError', () => {}); // a client that was given up during the handshake
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  /** Closes every connection, as a process that ends does. */
  hangUp(): void {
    for (const socket of this.sockets) socket.destroy();
    this.#server?.close();
  }

  #take(socket: Socket): void {
    let servedCount = 0;
    let answering = '';
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => {}); // a client that hangs up on it is right to do so
    socket.on('end', () => socket.end());
    const answer = (id: string) => {
      const plan = this.#plans.get(id);
      if (plan === undefined || answering === id) return;
      answering = id;
      if (servedCount > 0) this.reusedCount += 1;
      servedCount += 1;
      void this.#follow(socket, plan);
    };
    socket.on('data', (chunk: Buffer) => {
      const id = idIn(chunk.toString('latin1'));
      if (id !== null && this.#plans.get(id)?.isEarly) answer(id);
    });
    readRequests(socket, ({ head }) => answer(idIn(head) ?? ''));
  }

  async #follow(socket: Socket, plan: Plan): Promise<void> {
    const end = plan.breakAt ?? plan.bytes.length;
    let at = 0;
    for (const cut of [...plan.cuts.filter((each) => each < end), end]) {
      let piece = plan.bytes.subarray(at, cut);
      at = cut;
      const isLast = cut === end;
      if (isLast && plan.extra?.when.kind === 'at once') piece = Buffer.concat([piece, plan.extra.bytes]);
      if (piece.length > 0 && socket.writable) socket.write(piece);
      if (!isLast) await this.#passed(plan.pause);
    }
    if (plan.breakAt !== null) {
      if (plan.breaking !== 'hang') this.#close(socket, plan.breaking);
      return;
    }
    if (plan.extra !== null && plan.extra.when.kind !== 'at once') {
      await this.#passed(plan.extra.when);
      if (socket.writable) socket.write(plan.extra.bytes);
    }
    if (plan.afterwards === null) return;
    await this.#passed(plan.afterwards.when);
    this.#close(socket, plan.afterwards.how);
  }

  #close(socket: Socket, how: 'end' | 'destroy' | 'reset'): void {
    // TLS loses what it has not encrypted yet when its socket is destroyed.
    if (how === 'end' || (how === 'destroy' && this.#isSecure)) socket.end();
    else if (how === 'reset') this.#below.get(socket.remotePort ?? 0)?.resetAndDestroy();
    else socket.destroy();
  }

  async #passed(when: When): Promise<void> {
    if (when.kind === 'ms') await new Promise<void>((resolve) => this.#clock.after(when.count, resolve));
    if (when.kind !== 'turns') return;
    for (let turn = 0; turn < when.count; turn += 1) await new Promise((next) => setImmediate(next));
  }
}

function idIn(head: string): string | null {
  return /^X-Id: (\S+)\r?$/im.exec(head)?.[1] ?? null;
}
