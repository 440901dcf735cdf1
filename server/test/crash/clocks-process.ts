// A real process with one to four lanes whose wall clock is turned, which is frozen for longer than a lease and stopped and
// started again, in a random order. What is due arrives once, what is not due does not arrive, and nothing is held.

import { join } from 'node:path';
import { Chance } from '../simulation/chance.ts';
import { ask } from '../support/client.ts';
import { FakedMachine } from '../support/faked-machine.ts';
import { type Reply, startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { ServerProcess } from './server-process.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** How far the wall clock is off when it is wrong. */
const WRONG = [-10 * DAY, -23 * HOUR, -HOUR, -5 * MINUTE, 5 * MINUTE, HOUR, 23 * HOUR, 10 * DAY];
/** A clock that was right at the stop and is less than a day ahead at the start looks like a machine that was off. */
const WRONG_AFTER_RIGHT = [-23 * HOUR, -HOUR, 10 * DAY];
/** Each over a connection of its own, so that all lanes get some. */
const PUBLISHED_EACH_STEP = 12;
const TICK_IN_MS = 3 * HOUR;

export interface ProcessReport {
  readonly messages: number;
  readonly freezes: number;
  readonly starts: number;
  readonly lanes: number;
  readonly problems: readonly string[];
}

export interface ProcessOptions {
  /** Empty. */
  readonly folder: string;
  readonly seed: number;
  readonly steps: number;
}

export async function clocksOfProcess(options: ProcessOptions): Promise<ProcessReport> {
  const ends: (() => void | Promise<void>)[] = [];
  const trial = new ProcessTrial(options);
  try {
    return await trial.run({ after: (end) => ends.unshift(end) });
  } finally {
    await trial.kill();
    for (const end of ends) await end();
  }
}

class ProcessTrial {
  readonly #options: ProcessOptions;
  readonly #chance: Chance;
  readonly #machine: FakedMachine;
  readonly #lanes: number;
  #server: ServerProcess | null = null;
  #token = '';
  /** The ids of the messages that are due, and how often each arrived, by their path. */
  readonly #due = new Map<string, { readonly id: string; arrivals: number }>();
  #letGo: (reply: Reply) => void = () => {};
  #answer: Promise<Reply> = Promise.resolve(200);
  #freezes = 0;
  #starts = 0;
  #later = 0;
  readonly #problems: string[] = [];

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.#chance = new Chance(options.seed);
    this.#machine = new FakedMachine(options.folder);
    this.#lanes = this.#chance.between(1, 4);
  }

  async run(cleanup: Parameters<typeof startReceiver>[0]): Promise<ProcessReport> {
    const receiver = await startReceiver(cleanup, ({ target }) => this.#arrive(target));
    await this.#start();
    const tickAt = new Date(Date.now() + TICK_IN_MS);
    const cron = `${tickAt.getUTCMinutes()} ${tickAt.getUTCHours()} * * *`;
    await this.#post(`/v2/schedules/${receiver.url}/early-tick`, {
      'Service-Cron': cron,
      'Service-Schedule-Id': 'daily',
    });
    for (let step = 0; step < this.#options.steps; step += 1) {
      await this.#publish(receiver.url, step);
      await this.#disturb();
    }
    if (this.#machine.offMs !== 0) await this.#machine.set(0);
    await this.#settled();
    await this.#check(tickAt.getTime());
    await this.#server!.stop();
    const [messages, freezes, starts, lanes] = [this.#due.size + this.#later, this.#freezes, this.#starts, this.#lanes];
    return { messages, freezes, starts, lanes, problems: this.#problems };
  }

  async kill(): Promise<void> {
    await this.#server?.kill();
  }

  /** What arrives is answered when it is let go. */
  #arrive(target: string): Reply | Promise<Reply> {
    const due = this.#due.get(target);
    if (!due) {
      this.#problems.push(`${target} arrived, and was not due`);
      return 200;
    }
    due.arrivals += 1;
    return this.#answer;
  }

  async #publish(url: string, step: number): Promise<void> {
    const gate = Promise.withResolvers<Reply>();
    this.#answer = gate.promise;
    this.#letGo = gate.resolve;
    const paths = Array.from({ length: PUBLISHED_EACH_STEP }, (_, index) => `/due-${step}-${index}`);
    for (const path of paths) this.#due.set(path, { id: '', arrivals: 0 });
    const published = paths.map(async (path) => {
      const { messageId } = await this.#post<{ messageId: string }>(`/v2/publish/${url}${path}`);
      this.#due.set(path, { id: messageId, arrivals: this.#due.get(path)!.arrivals });
    });
    await Promise.all(published);
    const delay = this.#chance.pick(['20m', '50m', '20h', '5d']);
    await this.#post(`/v2/publish/${url}/early-${step}`, { 'Service-Delay': delay });
    this.#later += 1;
    await waitFor('all to arrive', () => paths.every((path) => this.#due.get(path)!.arrivals > 0));
  }

  async #disturb(): Promise<void> {
    const chance = this.#chance;
    const what = chance.weighted({ freeze: 40, step: 25, restart: 35 });
    const isRight = this.#machine.offMs === 0;
    const offMs = chance.isTrue(30) ? 0 : chance.pick(what === 'restart' && isRight ? WRONG_AFTER_RIGHT : WRONG);
    if (what === 'freeze') await this.#freeze();
    else if (what === 'step') await this.#machine.set(offMs);
    await this.#settled();
    if (what === 'restart') {
      await this.#server!.stop();
      this.#machine.restartsAt(offMs);
      await this.#start();
    }
  }

  /** With requests in flight, for longer than a lease. */
  async #freeze(): Promise<void> {
    this.#freezes += 1;
    this.#server!.freeze();
    const thawsAt = performance.now() + this.#chance.between(16, 20) * SECOND;
    await waitFor('the freeze to be over', () => performance.now() > thawsAt);
    this.#server!.thaw();
    await this.#machine.isSeen();
  }

  /** All that is due has ended. */
  async #settled(): Promise<void> {
    this.#letGo(200);
    for (const [path, { id }] of this.#due) {
      await waitFor(`the end of ${path}`, async () => {
        const { state } = await this.#get<{ state: string }>(`/v2/messages/${id}`);
        return !['CREATED', 'ACTIVE', 'DELAYED', 'QUEUED', 'RETRY', 'PENDING'].includes(state);
      });
    }
  }

  async #check(tickAt: number): Promise<void> {
    for (const [path, { id, arrivals }] of this.#due) {
      const { state, attempts } = await this.#get<{ state: string; attempts: unknown[] }>(`/v2/messages/${id}`);
      if (state !== 'DELIVERED' || attempts.length !== 1 || arrivals !== 1) {
        this.#problems.push(`${path} is ${state} after ${attempts.length} attempts and ${arrivals} arrivals`);
      }
    }
    const { nextScheduleTime } = await this.#get<{ nextScheduleTime: number }>('/v2/schedules/daily');
    if (nextScheduleTime > tickAt) this.#problems.push('the tick of the schedule was skipped');
  }

  async #start(): Promise<void> {
    this.#starts += 1;
    const flags = ['--data', join(this.#options.folder, 'data'), '--lanes', String(this.#lanes)];
    this.#server = new ServerProcess([...flags, '--host-concurrency', '400'], this.#machine.env);
    const { api, token } = await this.#server.ready;
    this.#token ||= token!;
    this.#machine.api = api;
    await this.#machine.isSeen();
    const lanes = async () => /^postrider_lanes (\d+)$/m.exec((await ask(api, '/metrics', {})).text)?.[1] ?? '1';
    await waitFor('all lanes to listen', async () => (await lanes()) === String(this.#lanes));
  }

  async #post<T>(path: string, more: Record<string, string> = {}): Promise<T> {
    const answer = await ask(this.#machine.api, path, { method: 'POST', headers: { ...this.#headers, ...more } });
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.json<T>();
  }

  async #get<T>(path: string): Promise<T> {
    return (await ask(this.#machine.api, path, { headers: this.#headers })).json<T>();
  }

  get #headers(): Record<string, string> {
    return { Authorization: `Bearer ${this.#token}`, Connection: 'close' };
  }
}
