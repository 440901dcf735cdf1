// What a publish or a change may have beside the ordinary: a priority, an order key, a flow key, a deduplication id, a
// version that it must meet. By dice of its own, so that a run without them stays the run it was.

import type { MessageChange } from '../../src/rules/delivery/change.ts';
import type { RequestedSettings } from '../../src/rules/delivery/message.ts';
import type { QueueChange } from '../../src/rules/lines/queue.ts';
import type { PublishRequest } from '../../src/rules/publish/publish.ts';
import type { Chance } from './chance.ts';
import { type Draft, type DraftAccount, queueKey } from './draft.ts';

/** `plain`: without what this file adds. The seeds that once showed something are run so. */
export type Cast = 'plain' | 'full';

/** Beside the queues of draft.ts: one whose messages go before others, and do not stay for long. */
export const URGENT = 'urgent';
export const URGENT_QUEUE: QueueChange = { parallelism: 2, priority: 8, expiresMs: 90_000 };

/** Each message of a key asks for the same, so that nobody need know which was the newest. */
export const FLOW_KEYS: Readonly<Record<string, NonNullable<RequestedSettings['flow']>['limits']>> = {
  narrow: { parallelism: 1, rate: null, periodMs: 1000 },
  slow: { parallelism: null, rate: 2, periodMs: 3000 },
  both: { parallelism: 2, rate: 5, periodMs: 10_000 },
};
const ORDER_KEYS = ['red', 'green', 'blue'];
const PRIORITIES = [0, 0, 2, 4, 6, 8, 9, 9];
/** By key: the queue of its messages. */
const DEBOUNCE_KEYS: Readonly<Record<string, string | null>> = { cart: null, document: 'mail' };
const AWAIT_ACK_MS = [1000, 4000, 15_000];
const DEDUPLICATION_IDS = 3;
/** Short: some windows are over before a run is. */
export const DEDUPLICATION_WINDOW_MS = 20_000;

type ExtraChange = Pick<MessageChange, 'priority' | 'mustStartBefore' | 'outage' | 'awaitAckMs'>;

export class Extras {
  readonly #chance: Chance;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** The same draft with some of them, or as it was. */
  adorn(draft: Draft, account: DraftAccount): Draft {
    const chance = this.#chance;
    const queued = chance.isTrue(15) ? this.#move(draft, account, chance.pick([URGENT, 'bulk'])) : draft;
    const settings = queued.request.queueName === null ? this.#outside() : this.#inQueue();
    const outage = chance.isTrue(15) ? ('park' as const) : null;
    const awaitAckMs = chance.isTrue(20) ? chance.pick(AWAIT_ACK_MS) : null;
    return { ...queued, request: { ...queued.request, ...settings, outage, awaitAckMs } };
  }

  /** A key, its times, and its queue; now and then another line than that of the others with the key. */
  debounced(): readonly [debounce: NonNullable<PublishRequest['debounce']>, queueName: string | null] {
    const chance = this.#chance;
    const key = chance.pick(Object.keys(DEBOUNCE_KEYS));
    const windowMs = chance.pick([1000, 3000, 3000, 8000]);
    return [
      { key, windowMs, maxMs: chance.pick([null, 8000, 20_000]) },
      chance.isTrue(95) ? DEBOUNCE_KEYS[key]! : 'bulk',
    ];
  }

  /** Only for a publish of one message: a batch is accepted as a whole, and part of it may be a duplicate. */
  withDeduplication(draft: Draft): Draft {
    if (!this.#chance.isTrue(20)) return draft;
    const id = `once-${this.#chance.below(DEDUPLICATION_IDS)}`;
    return { ...draft, request: { ...draft.request, deduplication: { id } } };
  }

  /** Of a change: null is for what stays. */
  ofChange(now: number): ExtraChange {
    const chance = this.#chance;
    return {
      priority: chance.isTrue(20) ? chance.pick(PRIORITIES) : null,
      mustStartBefore: chance.isTrue(15) ? now + chance.between(200, 60_000) : null,
      outage: chance.isTrue(20) ? chance.pick(['park', 'park', 'retry'] as const) : null,
      awaitAckMs: chance.isTrue(15) ? chance.pick(AWAIT_ACK_MS) : null,
    };
  }

  /** Whether a change names the version that its client knows. */
  hasIfMatch(): boolean {
    return this.#chance.isTrue(40);
  }

  #outside(): Partial<RequestedSettings> {
    const chance = this.#chance;
    const key = chance.isTrue(25) ? chance.pick(Object.keys(FLOW_KEYS)) : null;
    return {
      priority: chance.isTrue(40) ? chance.pick(PRIORITIES) : null,
      flow: key === null ? null : { key, limits: FLOW_KEYS[key]! },
    };
  }

  #inQueue(): Partial<RequestedSettings> {
    return { orderKey: this.#chance.isTrue(50) ? this.#chance.pick(ORDER_KEYS) : null };
  }

  #move(draft: Draft, { id }: DraftAccount, queueName: string): Draft {
    return {
      ...draft,
      request: { ...draft.request, queueName },
      expected: draft.expected.map((message) => ({ ...message, queue: queueKey(id, queueName) })),
    };
  }
}
