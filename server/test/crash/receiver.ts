// The destination of every message: a server in the test's own process that notes each request once it is complete and
// answers by its path. `/ok/…` takes it, `/flaky/N/…` refuses the first N tries, `/fail/…` refuses all of them.

import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Arrival } from '../checker/history.ts';
import { Chance } from '../simulation/chance.ts';

/** How long an answer takes, unless told otherwise: the longer, the more is in flight. */
const ANSWER_MS_MAX = 12;

/** `mark`: how long the log of the disk was at that moment, for runs that record one. */
export type Marked<T> = T & { readonly mark: number };

export function hashOf(body: Uint8Array | string): string {
  return createHash('sha256').update(body).digest('base64url');
}

export class Receiver {
  readonly arrivals: Marked<Arrival>[] = [];
  readonly #server: Server;
  readonly #chance: Chance;
  readonly #mark: () => number;
  readonly #answerMsMax: number;
  readonly #seen = new Set<string>();
  #waiting: (() => void)[] = [];
  #connections = 0;
  #url = '';

  private constructor(seed: number, mark: () => number, answerMsMax: number) {
    this.#answerMsMax = answerMsMax;
    this.#chance = new Chance(seed);
    this.#mark = mark;
    this.#server = createServer((request, response) => this.#take(request, response));
    this.#server.on('connection', (socket) => {
      this.#connections += 1;
      socket.once('close', () => {
        this.#connections -= 1;
        this.wake();
      });
    });
    // Closing an idle connection could meet a request on its way, and that attempt would end without an arrival.
    this.#server.keepAliveTimeout = 600_000;
  }

  static async start(seed: number, mark: () => number = () => 0, answerMsMax = ANSWER_MS_MAX): Promise<Receiver> {
    const receiver = new Receiver(seed, mark, answerMsMax);
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    receiver.#url = `http://127.0.0.1:${(receiver.#server.address() as AddressInfo).port}`;
    return receiver;
  }

  get url(): string {
    return this.#url;
  }

  hasSeen(messageId: string): boolean {
    return this.#seen.has(messageId);
  }

  /** The next arrival, or a call of `wake`. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Until so many more have arrived; but no longer than `msMax`. */
  async count(more: number, msMax: number): Promise<void> {
    const wanted = this.arrivals.length + more;
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      this.wake();
    }, msMax);
    while (this.arrivals.length < wanted && !isOver) await this.next();
    clearTimeout(timer);
  }

  wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** After its sender has died: until all that it had sent is read. */
  async drained(): Promise<void> {
    while (this.#connections > 0) await this.next();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {}); // its sender was killed
    request.on('end', () => {
      const messageId = String(request.headers['service-message-id']);
      const retried = Number(request.headers['service-retried']);
      const headers = request.rawHeaders.flatMap((name, at, raw) =>
        at % 2 === 0 ? [[name, raw[at + 1]!] as const] : [],
      );
      this.arrivals.push({
        messageId,
        retried,
        url: this.#url + request.url,
        method: request.method!,
        bodyHash: hashOf(Buffer.concat(chunks)),
        headers,
        at: Date.now(),
        mark: this.#mark(),
      });
      this.#seen.add(messageId);
      this.wake();
      const status = statusFor(request.url!, retried);
      setTimeout(() => response.writeHead(status).end(`${status}`), this.#chance.below(this.#answerMsMax));
    });
  }
}

function statusFor(path: string, retried: number): number {
  const [, kind, count] = path.split('/');
  if (kind === 'flaky') return retried < Number(count) ? 503 : 200;
  return kind === 'fail' ? 500 : 200;
}
