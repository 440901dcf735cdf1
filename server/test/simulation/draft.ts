// Random publishes: the request as the domain takes it, and beside it what the client expects to come of it, worked
// out from the specification and not with the code under test.

import { createHash } from 'node:crypto';
import { type HeaderList, NO_SETTINGS } from '../../src/rules/delivery/message.ts';
import type { TierName } from '../../src/rules/limits/tier.ts';
import { parseTargetUrl, type TargetUrl } from '../../src/rules/publish/destination.ts';
import type { CallbackRequest, DeliverySettings, PublishRequest } from '../../src/rules/publish/publish.ts';
import type { ExpectedMessage } from '../checker/history.ts';
import type { Chance } from './chance.ts';

/** Whoever sends to it dies of it, until everything is healed. */
export const POISON_HOST = 'poison.example';
/** It takes its time for every answer, until everything is healed. */
export const SLOW_HOST = 'slow.example';
/** It is down now and then, and what is sent to it parks. */
export const PARKING_HOST = 'parking.example';
export const HOSTS = ['a.example', 'b.example', 'c.example', 'd.example'];
export const TOPICS: Readonly<Record<string, readonly string[]>> = {
  pair: ['https://a.example/pair', 'https://b.example/pair'],
  news: ['https://a.example/news', 'https://c.example/news?x=%2F', 'https://d.example/news'],
};
/** By name: how many messages at once. Only the last one is changed on the way. */
export const QUEUES: Readonly<Record<string, number>> = { orders: 1, mail: 1, bulk: 3 };

const WAITS: readonly (readonly [expression: string, waitMs: (retried: number) => number])[] = [
  ['0', () => 0],
  ['750', () => 750],
  ['1000 * (1 + retried)', (retried) => 1000 * (1 + retried)],
  ['500 * pow(2, retried)', (retried) => 500 * 2 ** retried],
];
const RETRIES_DEFAULT: Readonly<Record<TierName, number>> = { free: 3, paid: 5 };

export interface DraftAccount {
  readonly id: string;
  readonly tier: TierName;
}

/** One element of a publish; a topic is still a name, as in the request. */
export interface Draft {
  readonly destination: { readonly topicName: string } | { readonly target: TargetUrl };
  readonly request: Omit<PublishRequest, 'destination'>;
  readonly expected: readonly ExpectedMessage[];
}

export class Drafter {
  readonly #chance: Chance;
  readonly #wallNow: () => number;
  #count = 0;

  constructor(chance: Chance, wallNow: () => number) {
    this.#chance = chance;
    this.#wallNow = wallNow;
  }

  draft(account: DraftAccount): Draft {
    const chance = this.#chance;
    this.#count += 1;
    const topicName = chance.isTrue(20) ? chance.pick(Object.keys(TOPICS)) : null;
    const url = `https://${chance.pick(HOSTS)}/${this.#count}?way=%2Fup&n=${this.#count}`;
    const body = this.#body(topicName !== null);
    const forward: HeaderList = [['X-Trace', `t-${this.#count}`]];
    const contentType = chance.isTrue(70) ? 'application/json; charset=utf-8' : null;
    const wait = chance.isTrue(60) ? chance.pick(WAITS) : null;
    const jitter = chance.isTrue(20) ? chance.pick([0, 20, 100]) : null;
    const settings: DeliverySettings = {
      method: chance.isTrue(20) ? 'PUT' : null,
      retries: this.#retries(wait !== null),
      retryDelay: wait?.[0] ?? null,
      retryJitter: jitter,
      delayMs: chance.isTrue(20) ? chance.between(1, 20_000) : chance.isTrue(3) ? 300_000 : null,
      timeoutMs: chance.pick([null, null, 1000, 5000, 20_000]),
      forward,
    };
    const retriesMax = settings.retries ?? RETRIES_DEFAULT[account.tier];
    const callback = chance.isTrue(30) ? this.#callback('callback') : null;
    const failureCallback = chance.isTrue(30) ? this.#callback('failure') : null;
    const queueName = chance.isTrue(45) ? chance.pick(Object.keys(QUEUES)) : null;
    const notBefore = chance.isTrue(5) ? this.#wallNow() + chance.between(-5000, 15_000) : null;
    const expected: Omit<ExpectedMessage, 'url'> = {
      id: null,
      method: settings.method ?? 'POST',
      bodyHash: hashOf(body),
      headers: contentType === null ? forward : [['Content-Type', contentType], ...forward],
      queue: queueName && queueKey(account.id, queueName),
      retriesMax,
      waitsMs: wait && Array.from({ length: retriesMax }, (_, retried) => wait[1](retried)),
      callbackUrl: callback?.target.url ?? null,
      failureCallbackUrl: failureCallback?.target.url ?? null,
      isUndelayed: settings.delayMs === null && notBefore === null,
      jitterPercent: jitter,
    };
    return {
      destination: topicName === null ? { target: targetOf(url) } : { topicName },
      request: {
        queueName,
        contentType,
        settings,
        notBefore,
        expiry: notBefore === null ? this.#expiry(settings.delayMs ?? 0) : null,
        callback,
        failureCallback,
        ...NO_SETTINGS,
        deduplication: null,
        debounce: null,
        scheduleId: null,
        body,
        callerIp: '192.0.2.1',
        hops: 0,
        descendantsLeft: null,
      },
      expected: (topicName === null ? [url] : TOPICS[topicName]!).map((to) => ({ ...expected, url: to })),
    };
  }

  /** Of a message that is changed: none of it is that of another. */
  newContent() {
    this.#count += 1;
    const forward: HeaderList = [['X-Trace', `c-${this.#count}`]];
    const target = targetOf(`https://${this.#chance.pick(HOSTS)}/changed/${this.#count}`);
    return { target: { url: target.url, host: target.host }, body: this.#body(true), forward };
  }

  /** One whose delivery brings down the process that makes it. */
  draftPoison(account: DraftAccount): Draft {
    const draft = this.draft(account);
    const url = `https://${POISON_HOST}/${this.#count}`;
    const settings = { ...draft.request.settings, timeoutMs: 20_000 };
    return {
      destination: { target: targetOf(url) },
      // It must live until it is held.
      request: { ...draft.request, settings, expiry: null },
      expected: [{ ...draft.expected[0]!, url }],
    };
  }

  /** A small one to the slow host, tried once, now. */
  draftSlow(account: DraftAccount): Draft {
    const draft = this.draft(account);
    const url = `https://${SLOW_HOST}/${this.#count}`;
    const body = Buffer.from(`${this.#count}:slow`);
    const once = { retries: 0, retryDelay: null, retryJitter: null, delayMs: null, timeoutMs: 20_000 };
    const settings = { ...draft.request.settings, ...once };
    const asked = { url, bodyHash: hashOf(body), queue: null, retriesMax: 0, waitsMs: null, isUndelayed: true };
    return {
      destination: { target: targetOf(url) },
      request: { ...draft.request, settings, body, queueName: null, notBefore: null, expiry: null },
      expected: [{ ...draft.expected[0]!, ...asked }],
    };
  }

  /** A small one that parks while its host is down. */
  draftParking(account: DraftAccount): Draft {
    const draft = this.draft(account);
    const url = `https://${PARKING_HOST}/${this.#count}`;
    const body = Buffer.from(`${this.#count}:parks`);
    const retries = this.#chance.pick([0, 1, 2, 4]);
    const tried = { retries, retryDelay: '750', retryJitter: null, delayMs: null, timeoutMs: 5000 };
    const settings = { ...draft.request.settings, ...tried };
    const expiry = this.#chance.isTrue(15) ? { afterMs: this.#chance.between(5000, 60_000) } : null;
    const asked = { url, bodyHash: hashOf(body), queue: null, jitterPercent: null, isUndelayed: true };
    const waits = { retriesMax: retries, waitsMs: Array.from({ length: retries }, () => 750) };
    const request = {
      ...draft.request,
      settings,
      body,
      expiry,
      outage: 'park',
      queueName: null,
      notBefore: null,
    } as const;
    return {
      destination: { target: targetOf(url) },
      request,
      expected: [{ ...draft.expected[0]!, ...asked, ...waits }],
    };
  }

  /** One of several with the same key, of which one waits. All of a key are alike, but for what is sent. */
  draftDebounced(
    account: DraftAccount,
    debounce: NonNullable<PublishRequest['debounce']>,
    queueName: string | null,
  ): Draft {
    const draft = this.draft(account);
    const url = `https://${this.#chance.pick(HOSTS)}/debounced/${this.#count}`;
    const body = Buffer.from(`${this.#count}:debounced`);
    const tried = { retries: 1, retryDelay: '0', retryJitter: null, delayMs: null, timeoutMs: 5000 };
    const settings = { ...draft.request.settings, ...tried };
    const rest = { queueName, notBefore: null, expiry: null, callback: null, failureCallback: null };
    const asked = { url, bodyHash: hashOf(body), retriesMax: 1, waitsMs: [0], jitterPercent: null, isUndelayed: false };
    const noCallbacks = { callbackUrl: null, failureCallbackUrl: null };
    const inLine = {
      queue: queueName && queueKey(account.id, queueName),
      debounceKey: `${account.id} ${debounce.key}`,
    };
    return {
      destination: { target: targetOf(url) },
      request: { ...draft.request, settings, body, ...rest, debounce },
      expected: [{ ...draft.expected[0]!, ...asked, ...noCallbacks, ...inLine }],
    };
  }

  /** One that is over a limit of every tier. */
  draftTooMuch(account: DraftAccount): Draft {
    const draft = this.draft(account);
    return { ...draft, request: { ...draft.request, settings: { ...draft.request.settings, retries: 101 } } };
  }

  /** Unique, unless it is empty: then the URL is. */
  #body(mustBeUnique: boolean): Uint8Array {
    if (!mustBeUnique && this.#chance.isTrue(5)) return new Uint8Array(0);
    // Some are large enough to be counted among the bytes in flight.
    const isLarge = this.#chance.isTrue(25);
    const padding = isLarge ? Buffer.alloc(20_000, 7) : this.#chance.bytes(this.#chance.pick([0, 1, 30, 200]));
    return Buffer.concat([Buffer.from(`${this.#count}:`), padding]);
  }

  /** The built-in backoff grows fast: many of its retries would only make the run long. */
  #retries(hasOwnWait: boolean): number | null {
    if (hasOwnWait) return this.#chance.pick([null, 0, 1, 2, 3, 4, 5]);
    return this.#chance.isTrue(4) ? null : this.#chance.pick([0, 0, 1, 1, 2, 3]);
  }

  /** Some expire: a few soon after they are due, others at a time at which they may be anywhere. */
  #expiry(delayMs: number): PublishRequest['expiry'] {
    if (!this.#chance.isTrue(25)) return null;
    const [from, to] = this.#chance.pick([
      [1, 200],
      [200, 5000],
      [5000, 60_000],
    ] as const);
    return { afterMs: delayMs + this.#chance.between(from, to) };
  }

  #callback(path: string): CallbackRequest {
    const delayMs = this.#chance.isTrue(20) ? this.#chance.between(1, 5000) : null;
    const unset = { method: null, retries: null, retryDelay: null, retryJitter: null, timeoutMs: null };
    return {
      target: targetOf(`https://${this.#chance.pick(HOSTS)}/${path}/${this.#count}`),
      settings: { ...unset, delayMs, forward: [] },
    };
  }
}

export function targetOf(url: string): TargetUrl {
  const target = parseTargetUrl(url);
  if ('problem' in target) throw new Error(target.problem);
  return target;
}

export function hashOf(body: Uint8Array): string {
  return createHash('sha1').update(body).digest('base64');
}

export function queueKey(accountId: string, name: string): string {
  return `${accountId}/${name}`;
}
