// A backlog of messages to healthy receivers, and a server that is killed, dies soon after each start, is restarted with a
// short drain, or is brought down by one message. None may fail, none may be lost, and queues keep their order.

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { endServers, ServerProcess } from './server-process.ts';
import { until } from './trial.ts';

export type Ordeal = 'kills' | 'starts' | 'drains' | 'poison';

const QUEUES = 20;
const BATCH = 500;
/** A process that dies "after a second". */
const LIFE_MS = 1000;
const DRAIN = '1s';
const ENDING_MS_MAX = 600_000;
/** A poison message is held by then: three crashes until it starts alone, three alone, and some room. */
const POISON_CRASHES_MAX = 15;
/**
 * How long an answer takes. With short lives so long that the queues outlast the first of them; in a drain longer than
 * the drain, so that it cuts attempts off.
 */
const ANSWER_MS = { kills: 40, starts: 200, drains: 3000, poison: 10 };

export interface InterruptionsReport {
  readonly messages: number;
  readonly delivered: number;
  readonly failed: number;
  readonly held: number;
  /** How often the server ended before it was done. */
  readonly ends: number;
  /** Requests that came more than once. */
  readonly repeats: number;
  readonly seconds: number;
  readonly problems: readonly string[];
}

export async function interruptionsCampaign(options: {
  readonly ordeal: Ordeal;
  readonly messages: number;
  readonly times: number;
  /** What a server is given to find its store. */
  readonly flags: readonly string[];
  readonly onEnd?: () => void;
}): Promise<InterruptionsReport> {
  const startedAtMs = performance.now();
  const receiver = await Receiver.start(ANSWER_MS[options.ordeal]);
  const run = new Run(receiver, options);
  try {
    await run.fill();
    const ends = options.ordeal === 'poison' ? await run.poison() : await run.interrupt();
    const counts = await run.finish();
    return {
      ...counts,
      messages: options.messages,
      ends,
      repeats: receiver.repeats,
      seconds: (performance.now() - startedAtMs) / 1000,
      problems: [...run.problems(counts), ...receiver.problems],
    };
  } finally {
    await endServers();
    await receiver.close();
  }
}

interface Counts {
  readonly delivered: number;
  readonly failed: number;
  readonly held: number;
  readonly open: number;
  readonly all: number;
}

class Run {
  readonly #receiver: Receiver;
  readonly #options: Parameters<typeof interruptionsCampaign>[0];
  #token = '';
  #api = '';

  constructor(receiver: Receiver, options: Parameters<typeof interruptionsCampaign>[0]) {
    this.#receiver = receiver;
    this.#options = options;
  }

  /** Everything is accepted before anything starts: the queues are paused, and the rest is delayed for a moment. */
  async fill(): Promise<void> {
    const { messages, ordeal } = this.#options;
    const server = await this.#start();
    if (ordeal === 'poison') await this.#call('POST', '/v2/batch', [this.#delayed('/poison')]);
    const elements = Array.from({ length: messages }, (_, at) => this.#element(at));
    for (let at = 0; at < messages; at += BATCH) {
      await this.#call('POST', '/v2/batch', elements.slice(at, at + BATCH));
    }
    await server.stop();
  }

  /** Half of them in queues. Delayed, so that all are there before the first starts. */
  #element(at: number) {
    const isQueued = at % 2 === 0;
    const path = isQueued ? `/queue/${(at / 2) % QUEUES}/${at}` : `/plain/${at}`;
    return { ...this.#delayed(path), ...(isQueued && { queue: `q${(at / 2) % QUEUES}` }) };
  }

  #delayed(path: string) {
    const headers = { 'Service-Delay': '2s', 'Service-Retries': '0', 'Service-Timeout': '60s' };
    return { destination: this.#receiver.url + path, headers, body: path };
  }

  /** Ends the server again and again in the way that is asked for. */
  async interrupt(): Promise<number> {
    const { ordeal, times, messages, onEnd } = this.#options;
    for (let done = 0; done < times; done += 1) {
      const server = await this.#start();
      // So that the backlog lasts for all of them.
      if (ordeal === 'kills') await this.#receiver.count(Math.ceil(messages / times / 2), LIFE_MS);
      else {
        if (ordeal === 'starts') await wait(LIFE_MS);
        await this.#receiver.underWay(1, LIFE_MS);
      }
      if (ordeal === 'drains') {
        const { code } = await server.stop();
        if (code !== 0) throw new Error(`told to stop, the server left with ${code}: ${server.stderr}`);
      } else await server.kill();
      onEnd?.();
    }
    return times;
  }

  /** Whoever sends the poison dies of it, until it is held and all others are delivered. */
  async poison(): Promise<number> {
    for (let ends = 0; ends <= POISON_CRASHES_MAX; ends += 1) {
      const server = await this.#start();
      this.#receiver.victim = server.pid;
      const isDone = async () => {
        const { open, held } = await this.#counts();
        return open === held && held > 0;
      };
      const survived = until(isDone, () => 'the message that crashes the server is not held', ENDING_MS_MAX).then(
        () => true,
        () => false,
      );
      const isOver = await Promise.race([survived, server.exited.then(() => false)]);
      this.#receiver.victim = null;
      if (isOver) {
        await server.stop();
        return ends;
      }
      this.#options.onEnd?.();
    }
    throw new Error(`the poison message has crashed the server more than ${POISON_CRASHES_MAX} times`);
  }

  async finish(): Promise<Counts> {
    this.#receiver.answerMs = 0;
    const server = await this.#start();
    let counts = await this.#counts();
    await until(
      async () => {
        counts = await this.#counts();
        return counts.open === counts.held;
      },
      () => `${counts.open} messages are open, ${counts.held} of them held,`,
      ENDING_MS_MAX,
    );
    await server.stop();
    return counts;
  }

  problems({ delivered, failed, held, all }: Counts): string[] {
    const { ordeal, messages } = this.#options;
    const poison = ordeal === 'poison' ? 1 : 0;
    return [
      ...(all === messages + poison ? [] : [`${all} messages are in the store, ${messages + poison} were accepted`]),
      ...(failed === 0 ? [] : [`${failed} messages have failed`]),
      ...(held === poison ? [] : [`${held} messages are held, not ${poison}`]),
      ...(delivered === messages ? [] : [`${delivered} of ${messages} messages were delivered`]),
    ];
  }

  async #start(): Promise<ServerProcess> {
    const server = new ServerProcess([...this.#options.flags, '--drain', DRAIN]);
    const { api, token } = await server.ready;
    this.#api = api;
    this.#token ||= token!;
    return server;
  }

  async #counts(): Promise<Counts> {
    const { waiting, scheduled, active, retrying, held, failed, cancelled, all } = (await this.#call(
      'GET',
      '/v2/overview',
    )) as Record<string, number> & { waiting: number };
    const open = waiting + scheduled! + active! + retrying! + held!;
    return { open, held: held!, failed: failed!, all: all!, delivered: all! - open - failed! - cancelled! };
  }

  async #call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(this.#api + path, {
      method,
      headers: { Authorization: `Bearer ${this.#token}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }
}

/** Answers all with 200, after a while; notes steps back in a queue; and kills whoever brings it the poison. */
class Receiver {
  readonly problems: string[] = [];
  /** The process that the poison kills. */
  victim: number | null = null;
  answerMs: number;
  readonly #server: Server;
  readonly #seen = new Set<string>();
  /** The last that came of each queue. */
  readonly #last = new Map<string, number>();
  #arrived = 0;
  #underWay = 0;

  private constructor(answerMs: number) {
    this.answerMs = answerMs;
    this.#server = createServer((request, response) => {
      request.resume().on('end', () => this.#take(request.url!, response));
    });
    this.#server.keepAliveTimeout = 600_000;
  }

  static async start(answerMs: number): Promise<Receiver> {
    const receiver = new Receiver(answerMs);
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get repeats(): number {
    return this.#arrived - this.#seen.size;
  }

  /** Until so many more have come, but no longer than `msMax`. */
  async count(more: number, msMax: number): Promise<void> {
    const wanted = this.#arrived + more;
    await until(
      () => this.#arrived >= wanted,
      () => '',
      msMax,
    ).catch(() => {});
  }

  async underWay(least: number, msMax: number): Promise<void> {
    await until(
      () => this.#underWay >= least,
      () => '',
      msMax,
    ).catch(() => {});
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(path: string, response: ServerResponse): void {
    this.#arrived += 1;
    this.#seen.add(path);
    const [, kind, queue, number] = path.split('/');
    if (kind === 'poison') {
      if (this.victim !== null) process.kill(this.victim, 'SIGKILL');
      return;
    }
    if (kind === 'queue') this.#judge(queue!, Number(number));
    this.#underWay += 1;
    response.once('close', () => {
      this.#underWay -= 1;
    });
    setTimeout(() => response.writeHead(200).end(), this.answerMs);
  }

  /** A repeat of the last is allowed; one that came before it is not, and none may be left out. */
  #judge(queue: string, number: number): void {
    const last = this.#last.get(queue);
    const next = last === undefined ? 2 * Number(queue) : last + 2 * QUEUES;
    if (number === last) return;
    if (number !== next) this.problems.push(`queue ${queue}: ${number} came after ${last}, not ${next}`);
    this.#last.set(queue, number);
  }
}
