// kill -9 while receivers work: deliveries that are answered with 202, workers that acknowledge them at whatever server
// runs then, and again until they get a response, and what arrives.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { Chance } from '../simulation/chance.ts';
import { waitFor } from '../support/wait.ts';
import { Caller } from './caller.ts';
import { endServers, ServerProcess } from './server-process.ts';

const SETTINGS = { 'Service-Await-Ack': '1h', 'Service-Retries': '0' };
const PAUSE_MS_MAX = 25;
const WORK_MS_MAX = 400;
const UP_MS_MAX = 2000;
const PUBLISHERS = 3;

/** What a worker was told, in the order of all that arrived. */
export type Noted =
  | { readonly kind: 'arrived'; readonly messageId: string; readonly path: string }
  | { readonly kind: 'acked'; readonly messageId: string; readonly path: string; readonly status: number };

export interface AcksRun {
  readonly published: readonly string[];
  readonly noted: readonly Noted[];
  /** Of each message that was published and acknowledged. */
  readonly states: ReadonlyMap<string, string>;
  /** Acks that a kill left without a response, and that were sent again. */
  readonly repeated: number;
}

/** Half of the messages end well. */
export const isOk = (messageId: string) => messageId.charCodeAt(messageId.length - 1) % 2 === 0;

/** Takes each delivery with a 202, and acknowledges it a little later. */
class Workers {
  readonly noted: Noted[] = [];
  readonly working = new Set<Promise<void>>();
  repeated = 0;
  readonly #caller: AcksCaller;
  readonly #chance: Chance;
  readonly #server: Server;

  constructor(caller: AcksCaller, chance: Chance) {
    this.#caller = caller;
    this.#chance = chance;
    this.#server = createServer((request, response) => {
      const messageId = request.headers['service-message-id'] as string;
      const path = new URL(request.headers['service-ack-url'] as string).pathname;
      this.noted.push({ kind: 'arrived', messageId, path });
      request.resume();
      response.writeHead(202).end();
      const working = this.#work(messageId, path).finally(() => this.working.delete(working));
      this.working.add(working);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #work(messageId: string, path: string): Promise<void> {
    await wait(this.#chance.below(WORK_MS_MAX));
    const body = JSON.stringify({ ok: isOk(messageId) });
    while (!this.#caller.isAbandoned) {
      const response = await fetch(`${this.#caller.api}${path}`, { method: 'POST', body }).catch(() => null);
      await response?.arrayBuffer().catch(() => null);
      if (response !== null && response.status < 500) {
        this.noted.push({ kind: 'acked', messageId, path, status: response.status });
        return;
      }
      this.repeated += 1;
      await wait(PAUSE_MS_MAX);
    }
  }
}

class AcksCaller extends Caller {
  /** The campaign has failed: nobody waits for a server any more. */
  isAbandoned = false;

  /** Until it is over. */
  async publish(to: string, chance: Chance): Promise<string[]> {
    const published: string[] = [];
    while (!this.isOver) {
      const reply = await this.call<{ messageId: string }>('POST', `/v2/publish/${to}`, SETTINGS).catch(() => null);
      if (reply !== null) published.push(reply.messageId);
      await wait(chance.below(PAUSE_MS_MAX));
      while (!this.isUp && !this.isOver) await wait(PAUSE_MS_MAX);
    }
    return published;
  }
}

export async function acksCampaign(folder: string, seed: number, kills: number): Promise<AcksRun> {
  const chance = new Chance(seed);
  const caller = new AcksCaller();
  const workers = new Workers(caller, new Chance(seed + 1));
  const to = await workers.listen();
  const start = async () => {
    const server = new ServerProcess(['--data', folder]);
    const { api, token } = await server.ready;
    caller.api = api;
    caller.token = token ?? caller.token;
    caller.isUp = true;
    return server;
  };
  try {
    let server = await start();
    const publishing = Array.from({ length: PUBLISHERS }, (_, index) =>
      caller.publish(to, new Chance(seed + 2 + index)),
    );
    for (let kill = 0; kill < kills; kill += 1) {
      await wait(chance.below(UP_MS_MAX));
      const killed = server.kill();
      caller.isUp = false;
      await killed;
      server = await start();
    }
    caller.isOver = true;
    const published = (await Promise.all(publishing)).flat();
    await waitFor('all messages to be acknowledged', () => caller.isDone());
    await Promise.all(workers.working);
    const states = new Map<string, string>();
    for (const messageId of published) {
      states.set(messageId, (await caller.call<{ state: string }>('GET', `/v2/messages/${messageId}`)).state);
    }
    await server.stop();
    return { published, noted: workers.noted, states, repeated: workers.repeated };
  } finally {
    caller.isOver = true;
    caller.isAbandoned = true;
    workers.close();
    await endServers();
  }
}
