// A receiver that is down until it is told otherwise, and that notes what the service sends to it meanwhile.

import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How long a response takes once the receiver is back: so long that requests overlap, as they do in life. */
const WORK_MS = 100;
const FIRST_SECOND_MS = 1000;

export interface Seen {
  readonly attempts: number;
  /** The attempts beyond the first that the service has counted, of all messages together. */
  readonly retries: number;
  readonly delivered: number;
  /** From the return of the receiver until it had got the first message, and the last one. Null without any. */
  readonly firstMs: number | null;
  readonly lastMs: number | null;
  /** In the second that began with the first message after the return: how many came, and how many were open at once. */
  readonly inFirstSecond: number;
  readonly mostAtOnce: number;
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  comeBack(): void;
  seen(): Seen;
}

export async function startReceiver(): Promise<Receiver> {
  let backAt: number | null = null;
  let firstAt: number | null = null;
  let lastAt: number | null = null;
  let open = 0;
  let attempts = 0;
  let inFirstSecond = 0;
  let mostAtOnce = 0;
  const delivered = new Set<string>();
  const retried = new Map<string, number>();

  const note = ({ url, headers }: IncomingMessage): boolean => {
    const message = url!;
    attempts += 1;
    retried.set(message, Number(headers['service-retried']));
    if (backAt === null) return false;
    const now = performance.now();
    firstAt ??= now;
    lastAt = now;
    delivered.add(message);
    open += 1;
    if (now - firstAt < FIRST_SECOND_MS) {
      inFirstSecond += 1;
      mostAtOnce = Math.max(mostAtOnce, open);
    }
    return true;
  };

  const server = createServer((request, response) => {
    const isUp = note(request);
    request.resume();
    if (!isUp) {
      response.writeHead(503).end();
      return;
    }
    setTimeout(() => {
      open -= 1;
      response.writeHead(200).end();
    }, WORK_MS);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const sinceBack = (at: number | null) => (at === null ? null : at - backAt!);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    comeBack: () => {
      backAt = performance.now();
    },
    seen: () => ({
      attempts,
      retries: [...retried.values()].reduce((sum, each) => sum + each, 0),
      delivered: delivered.size,
      firstMs: sinceBack(firstAt),
      lastMs: sinceBack(lastAt),
      inFirstSecond,
      mostAtOnce,
    }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
