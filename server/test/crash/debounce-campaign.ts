// kill -9 while messages take the places of others: publishers that count up under a few keys, and what arrives.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { Chance } from '../simulation/chance.ts';
import { waitFor } from '../support/wait.ts';
import { Caller, type Listed } from './caller.ts';
import { endServers, ServerProcess } from './server-process.ts';

const KEYS = ['a', 'b', 'c', 'd'];
const PAUSE_MS_MAX = 40;
const WINDOW = { 'Service-Debounce': '1s', 'Service-Debounce-Max': '2s' };
/** A kill comes after this at most: some before the first window is over, some after. */
const UP_MS_MAX = 3000;

interface Reply {
  readonly messageId: string;
  readonly debounced: number;
}
interface Shown extends Listed {
  readonly attempts: readonly unknown[];
}
export type Published = { readonly key: string; readonly number: number; readonly reply: Reply | null };

/** Notes the body of each request under the id of its message. */
class Sink {
  readonly bodies = new Map<string, string[]>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const id = request.headers['service-message-id'] as string;
        this.bodies.set(id, [...(this.bodies.get(id) ?? []), Buffer.concat(parts).toString()]);
        response.end();
      });
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** The highest number that has arrived for the key. */
  newestOf(key: string): number {
    const numbers = [...this.bodies.values()].flat().map((body) => body.split(' '));
    return Math.max(0, ...numbers.flatMap(([of, number]) => (of === key ? [Number(number)] : [])));
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** Publishes to the server that runs now. */
class Publisher extends Caller {
  /** Publishes 1, 2, 3 … under the key until it is over. What a kill left unanswered has no reply. */
  async publish(to: string, key: string, chance: Chance): Promise<Published[]> {
    const published: Published[] = [];
    for (let number = 1; !this.isOver; number += 1) {
      const headers = { 'Service-Debounce-Key': key, ...WINDOW };
      const reply = await this.call<Reply>('POST', `/v2/publish/${to}`, headers, `${key} ${number}`).catch(() => null);
      published.push({ key, number, reply });
      await wait(chance.below(PAUSE_MS_MAX));
      while (!this.isUp && !this.isOver) await wait(PAUSE_MS_MAX);
    }
    return published;
  }

  /** Those for which no attempt has ended, and none is under way. */
  async waiting(): Promise<Listed[]> {
    const messages = await this.listed(['CREATED']);
    const shown = await Promise.all(
      messages.map(({ messageId }) => this.call<Shown>('GET', `/v2/messages/${messageId}`)),
    );
    return shown.filter(({ attempts }) => attempts.length === 0);
  }
}

export interface DebounceRun {
  /** For each key, in order. */
  readonly published: readonly (readonly Published[])[];
  /** By message id. */
  readonly bodies: ReadonlyMap<string, readonly string[]>;
  /** For each restart: the keys of the messages that then waited. */
  readonly waiting: readonly (readonly (string | undefined)[])[];
  newestOf(key: string): number;
}

export async function debounceCampaign(folder: string, seed: number, kills: number): Promise<DebounceRun> {
  const chance = new Chance(seed);
  const sink = new Sink();
  const to = await sink.listen();
  const caller = new Publisher();
  const waiting: (string | undefined)[][] = [];
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
    const publishing = KEYS.map((key, index) => caller.publish(to, key, new Chance(seed + index + 1)));
    for (let kill = 0; kill < kills; kill += 1) {
      await wait(chance.below(UP_MS_MAX));
      const killed = server.kill();
      caller.isUp = false;
      await killed;
      server = await start();
      waiting.push((await caller.waiting()).map(({ debounceKey }) => debounceKey));
    }
    caller.isOver = true;
    const published = await Promise.all(publishing);
    await waitFor('all messages to be sent', () => caller.isDone());
    await server.stop();
    return { published, bodies: sink.bodies, waiting, newestOf: (key) => sink.newestOf(key) };
  } finally {
    caller.isOver = true;
    sink.close();
    await endServers();
  }
}
