// A real Postrider on a port of its own and a data directory of its own, over real sockets, with the clock in the
// test's hands: a delay of a year or a backoff of a day takes no time, and is exact to the millisecond.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { Network } from '../../src/delivery/egress/dial.ts';
import type { CallerTimes } from '../../src/inbound/server/caller-connections.ts';
import { type Postrider, startPostrider } from '../../src/node/main.ts';
import { type Command, parseConfig } from '../../src/node/settings/config.ts';
import type { Scope } from '../../src/rules/accounts/account.ts';
import type { TierName } from '../../src/rules/limits/tier.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { NODE_TTL_MS } from '../../src/upkeep/leases.ts';
import { PATIENCE_MS } from '../postgres/open-patiently.ts';
import { type Answered, ask } from './client.ts';
import { contractOf } from './contract.ts';
import { type ManualClock, manualWorld } from './manual-clock.ts';
import type { Cleanup } from './receiver.ts';
import { storeOf } from './store-under-test.ts';
import { waitFor } from './wait.ts';

export interface RiderOptions {
  readonly command?: Command;
  readonly flags?: readonly string[];
  /** A directory that outlives this rider; without it, a fresh one that is removed at the end. */
  readonly data?: string;
  /** What the clock stands at first, in milliseconds since 1970; the start of 2026 unless told otherwise. */
  readonly now?: number;
  /** Name servers of the test's own. */
  readonly network?: Network;
  /** Shorter times for callers than people have. */
  readonly callerTimes?: Partial<CallerTimes>;
}

export interface CallOptions {
  /** Null sends no Authorization at all. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
}

/** What `GET /v2/messages/{id}` shows, as far as the tests look at it. */
export interface MessageView {
  readonly messageId: string;
  readonly url: string;
  readonly method: string;
  readonly state: string;
  readonly header: Readonly<Record<string, readonly string[]>>;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly maxRetries: number;
  readonly retried: number;
  readonly createdAt: number;
  readonly notBefore: number;
  readonly nextDeliveryTime?: number;
  readonly endedAt?: number;
  readonly failure?: string;
  readonly queueName?: string;
  readonly topicName?: string;
  readonly endpointName?: string;
  readonly callback?: string;
  readonly failureCallback?: string;
  readonly sourceMessageId?: string;
  readonly retriedAs?: string;
  readonly callerIP?: string;
  readonly attempts: readonly {
    readonly number: number;
    readonly startedAt: number;
    readonly endedAt: number;
    readonly outcome: string;
    readonly responseStatus?: number;
    readonly error?: string;
  }[];
}

export interface Published {
  readonly messageId: string;
  readonly url: string;
}

export interface Refused {
  readonly error: string;
  readonly code: string;
}

export interface TokenMade {
  readonly token: string;
  readonly tokenId: string;
  readonly accountId: string;
}

const QUIET_TURNS = 5;
const BEAT_EVERY_MS = 3000;
/** A busy machine may take long for the next part of a body. */
const BODY_MS = 600_000;
let ridersStarted = 0;

export class Rider {
  readonly url: string;
  /** The first token, unless it is given another; null when the data directory had accounts already. */
  readonly token: string | null;
  readonly clock: ManualClock;
  readonly postrider: Postrider;
  readonly #accountSuffix: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(postrider: Postrider, clock: ManualClock, token: string | null = postrider.token, accountSuffix = '') {
    this.#accountSuffix = accountSuffix;
    this.postrider = postrider;
    this.url = postrider.url;
    this.token = token;
    this.clock = clock;
  }

  /** Whatever it answers must be in the OpenAPI document. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answered> {
    const { token = this.token, headers = {}, body } = options;
    const authorization = token === null ? {} : { Authorization: `Bearer ${token}` };
    const asked = { method, headers: { ...authorization, ...headers }, ...(body !== undefined && { body }) };
    const answer = await ask(this.url, path, asked, this.#agent);
    contractOf(this.postrider.routes).require(method, path, answer);
    if (!path.startsWith('/dev/')) requireUncached(answer);
    return answer;
  }

  enqueue(queue: string, destination: string, options: CallOptions = {}): Promise<Answered> {
    return this.call('POST', `/v2/enqueue/${queue}/${destination}`, options);
  }

  publish(destination: string, options: CallOptions = {}): Promise<Answered> {
    return this.call('POST', `/v2/publish/${destination}`, options);
  }

  /** Publishes to a URL, requires that it was accepted, and answers the message's id. */
  async published(destination: string, options: CallOptions = {}): Promise<string> {
    const answer = await this.publish(destination, options);
    assert.equal(answer.status, 201, answer.text);
    return answer.json<Published>().messageId;
  }

  batch(elements: unknown, options: CallOptions = {}): Promise<Answered> {
    const headers = { 'Content-Type': 'application/json', ...options.headers };
    return this.call('POST', '/v2/batch', { ...options, headers, body: JSON.stringify(elements) });
  }

  /** Enqueues to a URL, requires that it was accepted, and answers the message's id. */
  async accepted(destination: string, options: CallOptions & { readonly queue?: string } = {}): Promise<string> {
    const answer = await this.enqueue(options.queue ?? 'q', destination, options);
    assert.equal(answer.status, 201, answer.text);
    return answer.json<Published>().messageId;
  }

  /** A management call that must succeed. */
  async manage<T>(method: string, path: string, body?: unknown, token?: string): Promise<T> {
    const options = {
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(token !== undefined && { token }),
    };
    const answer = await this.call(method, path, options);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.json<T>();
  }

  message(messageId: string, token?: string): Promise<MessageView> {
    return this.manage<MessageView>('GET', `/v2/messages/${messageId}`, undefined, token);
  }

  /** The message, once so many attempts of it are over. */
  attempted(messageId: string, count: number, token?: string): Promise<MessageView> {
    return waitFor(`${count} attempts of ${messageId}`, async () => {
      const message = await this.message(messageId, token);
      return message.attempts.length >= count && message;
    });
  }

  /** The message, once it is delivered or failed. The clock stands still meanwhile. */
  ended(messageId: string, token?: string): Promise<MessageView> {
    return waitFor(`the end of ${messageId}`, async () => {
      const message = await this.message(messageId, token);
      return message.endedAt !== undefined && message;
    });
  }

  /** An account of its own and a token for it. */
  async account(name: string, tier: TierName = 'free', scopes?: readonly Scope[]): Promise<TokenMade> {
    const account = await this.manage<{ id: string }>('POST', '/v2/admin/accounts', {
      name: name + this.#accountSuffix,
      tier,
    });
    return this.tokenFor(account.id, scopes ?? ['publish', 'read', 'manage', 'admin']);
  }

  tokenFor(accountId: string, scopes: readonly Scope[]): Promise<TokenMade> {
    return this.manage<TokenMade>('POST', '/v2/admin/tokens', { accountId, name: 'test', scopes });
  }

  /** The engine has done all there is to do at this time, and sleeps. */
  async quiet(): Promise<void> {
    // What a receiver in this process has answered needs some turns of the event loop to be read.
    await waitFor('the engine to fall asleep', async () => {
      for (let turn = 0; turn < QUIET_TURNS; turn += 1) {
        if (!this.postrider.isAsleep()) return false;
        await new Promise((done) => setImmediate(done));
      }
      return true;
    });
  }

  /** Moves the clock, and lets everything that became due by that start. */
  async advance(ms: number): Promise<void> {
    await this.quiet();
    this.clock.advance(ms);
    await this.quiet();
  }

  /** Closes what this one has opened, not the service. */
  leave(): void {
    this.#agent.destroy();
  }

  async close(): Promise<void> {
    this.leave();
    let isClosed = false;
    const closing = this.postrider.close().finally(() => {
      isClosed = true;
    });
    // Attempts that hang are given up after the drain time, which passes only if somebody moves the clock.
    await waitFor('the rider to close', () => {
      if (!isClosed) this.clock.advance(60_000);
      return isClosed;
    });
    await closing;
  }
}

export async function startRider(t: Cleanup, options: RiderOptions = {}): Promise<Rider> {
  const data = options.data ?? temporaryFolder(t);
  ridersStarted += 1;
  const world = manualWorld({ seed: ridersStarted, ...(options.now !== undefined && { now: options.now }) });
  const store = await storeOf(data);
  const postrider = await startPostrider(configFor(data, options, store.flags), {
    world,
    ...(options.network && { network: options.network }),
    callerTimes: { bodyMs: BODY_MS, ...options.callerTimes },
    morePatienceMs: PATIENCE_MS,
  });
  const rider = new Rider(postrider, world.clock);
  // A database goes by real time: it must not take a node for dead whose own clock stands still.
  const beats = setInterval(() => void beat(postrider.store).catch(() => {}), BEAT_EVERY_MS).unref();
  t.after(async () => {
    clearInterval(beats);
    await rider.close();
    await store.release();
  });
  return rider;
}

/** A service whose clock is that of the machine, in this process. */
export async function startInRealTime(t: Cleanup, options: RiderOptions): Promise<Postrider> {
  const data = options.data ?? temporaryFolder(t);
  const store = await storeOf(data);
  const postrider = await startPostrider(configFor(data, options, store.flags), { morePatienceMs: PATIENCE_MS });
  t.after(async () => {
    await postrider.close();
    await store.release();
  });
  return postrider;
}

async function beat(store: Store): Promise<void> {
  const [own] = (await store.listNodes()).toSorted((one, other) => other.startedAt - one.startedAt);
  if (own?.isAlive) await store.heartbeat(own.id, NODE_TTL_MS);
}

/** One rider for all tests of a file or a suite, where none leaves anything behind that another could meet. */
export function sharedRider(options: RiderOptions = {}): () => Rider {
  const ends: (() => void | Promise<void>)[] = [];
  let rider: Rider;
  before(async () => {
    rider = await startRider({ after: (end) => ends.unshift(end) }, options);
  });
  after(async () => {
    for (const end of ends) await end();
  });
  return () => rider;
}

/**
 * In place of `startRider`, for a file whose tests need nothing of their own but an account: they get one each, of the
 * one service of the file. Who asks for options gets a service of its own. The clock is everybody's: it goes on from
 * where the test before has left it.
 */
export function ridersOfOneService(): typeof startRider {
  const shared = sharedRider();
  let accounts = 0;
  return async (t, options) => {
    if (options) return startRider(t, options);
    accounts += 1;
    const { token } = await shared().account(`test-${accounts}`);
    const rider = new Rider(shared().postrider, shared().clock, token, `-of-test-${accounts}`);
    t.after(() => rider.leave());
    return rider;
  };
}

function configFor(data: string, { command = 'dev', flags = [] }: RiderOptions, store: readonly string[]) {
  const given = ['--host', '127.0.0.1', '--port', '0', '--data', data, '--log-level', 'silent', ...store, ...flags];
  // Set by a file that runs the tests of others once more with this setting.
  const { POSTRIDER_TEST_HTTP_READER: reader } = process.env;
  const parsed = parseConfig(command, given, { POSTRIDER_HTTP_READER: reader });
  if (!('config' in parsed)) throw new Error(JSON.stringify(parsed));
  return parsed.config;
}

/** Removed when everything that was started after it has been closed. */
export function temporaryFolder(t: Cleanup): string {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-http-'));
  t.after(() => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

/** Whatever the API answers is for the caller alone: nobody keeps it, and no browser guesses what it is. */
function requireUncached({ headers }: Answered): void {
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(headers['x-content-type-options'], 'nosniff');
}

/** Requires the refusal that `code` stands for, in the one shape all errors have, and answers its text. */
export function refusal(answer: Answered, status: number, code: string): string {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers['content-type'] ?? '', /^application\/json(;|$)/);
  const body = answer.json<Refused>();
  assert.deepEqual(Object.keys(body).sort(), ['code', 'error']);
  assert.equal(body.code, code, answer.text);
  assert.equal(typeof body.error, 'string');
  return body.error;
}
