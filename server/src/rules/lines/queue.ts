// A named FIFO queue: its messages start in the order of the time they first became due, then of acceptance. The next
// one starts when one before it has ended, so a head that is being retried blocks its queue. The store reads the
// messages of the queue, calls these functions, and writes the plan.

import { mustStartInQueue } from '../delivery/expiry.ts';
import type { NewMessage } from '../delivery/message.ts';
import { NEVER_AT } from '../delivery/recovery.ts';
import { type GivenOutage, outageInQueue } from '../hosts/parking.ts';
import type { Waiting } from './line.ts';

export const QUEUE_PARALLELISM_DEFAULT = 1;
export const QUEUE_PARALLELISM_MAX = 1000;

export interface Queue {
  readonly accountId: string;
  readonly name: string;
  /** How many of its messages may be started but not ended at the same time. */
  readonly parallelism: number;
  /** A paused queue accepts messages but starts none. Running attempts are not stopped. */
  readonly isPaused: boolean;
  /** How long after it is due a message may start, if it has no expiry of its own. Null: as long as it takes. */
  readonly expiresMs: number | null;
  /** The priority of all its messages, before those of other queues and of no queue. Null: the default priority. */
  readonly priority: number | null;
  /** Of its messages that say nothing themselves. Null: the account decides. */
  readonly outage: GivenOutage | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** How many of its messages have not ended. */
  readonly lag: number;
  /** Present if counting stopped at a limit: the real number is larger than `lag`. */
  readonly isLagCut?: true;
}

export interface QueueChange {
  readonly parallelism?: number;
  readonly isPaused?: boolean;
  /** For the messages that are accepted from then on. */
  readonly expiresMs?: number | null;
  /** Likewise. */
  readonly priority?: number | null;
  /** Likewise. */
  readonly outage?: GivenOutage | null;
}

/** What a queue gives to its messages. */
export type QueueDefaults = Pick<Queue, 'expiresMs' | 'priority' | 'outage'>;

/** What a new message of a queue has: its own settings, or else those of its queue. */
export function withQueueDefaults(
  { mustStartBefore, dueAt, priority, outage }: Pick<NewMessage, 'mustStartBefore' | 'dueAt' | 'priority' | 'outage'>,
  queue: QueueDefaults,
): Pick<NewMessage, 'mustStartBefore' | 'priority' | 'outage'> {
  return {
    mustStartBefore: mustStartInQueue({ mustStartBefore, dueAt }, queue.expiresMs),
    priority: priority ?? queue.priority,
    outage: outageInQueue(outage, queue.outage),
  };
}

/** Whether a queue gives its messages anything. Most queues do not. */
export function hasDefaults({ expiresMs, priority, outage }: QueueDefaults): boolean {
  return expiresMs !== null || priority !== null || outage !== null;
}

/** The rules by which a queue starts its messages. */
export type QueueRules = Pick<Queue, 'parallelism' | 'isPaused'>;

export function changedRules(before: QueueRules, change: QueueChange): QueueRules {
  return { parallelism: change.parallelism ?? before.parallelism, isPaused: change.isPaused ?? before.isPaused };
}

/** A queue without messages. */
export interface IdleQueue extends QueueRules {
  /** Whether a person has created or changed the queue. Otherwise a message created it. */
  readonly isSet: boolean;
  readonly createdAt: number;
}

/** The shortest time for which a queue that a message made is listed. */
const IDLE_KEPT_MS = 24 * 60 * 60 * 1000;

/** Whether a queue without messages may be deleted. The next message to it would create the same queue again. */
export function canDeleteQueue({ isSet, parallelism, isPaused, createdAt }: IdleQueue, now: number): boolean {
  return !isSet && !isPaused && parallelism === QUEUE_PARALLELISM_DEFAULT && createdAt + IDLE_KEPT_MS <= now;
}

/** How many more heads may start now. */
export function freeHeads({ parallelism, isPaused }: QueueRules, started: number): number {
  return isPaused ? 0 : Math.max(0, parallelism - started);
}

/** A message of a queue that has no place yet. */
export interface QueuedMessage {
  /** When the message was first due. This time decides its order in the queue. */
  readonly firstDueAt: number;
  readonly dueAt: number;
}

export interface HeadPlan<T> {
  /** The messages that get a place now. */
  readonly start: readonly { readonly head: T; readonly state: Waiting }[];
  /** How many messages beyond the parallelism lose their place: the last first, and none with an attempt in flight. */
  readonly giveBack: number;
  /** When the next message may start, if only the clock decides that; otherwise null. */
  readonly nextStartAt: number | null;
  /** The earliest time at which the queue has something to claim, or null. */
  readonly dueAt: number | null;
}

/**
 * Plans which messages of a queue get a place, and which lose it. `started`: how many messages have a place. `line`:
 * the next messages, in order: as many as may start, or up to the first that is not due. At most `most` messages start.
 * If the queue could start more, it is due again at once.
 */
export function planHeads<T extends QueuedMessage>(
  queue: QueueRules,
  started: number,
  line: readonly T[],
  now: number,
  most = Number.POSITIVE_INFINITY,
): HeadPlan<T> {
  const giveBack = Math.max(0, started - queue.parallelism);
  const free = freeHeads(queue, started);
  const heads = line.slice(0, Math.min(free, most));
  const waitsAt = heads.findIndex(({ firstDueAt }) => firstDueAt > now);
  const isCut = waitsAt === -1 && most < free && heads.length === most;
  const nextStartAt = isCut ? now : (heads[waitsAt]?.firstDueAt ?? null);
  const start = (waitsAt === -1 ? heads : heads.slice(0, waitsAt)).map((head) => ({
    head,
    // A message that lost its place while it waited for its retry still waits for the time of the retry, now as a head.
    state: head.dueAt > now ? ('delayed' as const) : ('ready' as const),
  }));
  const dueAt = Math.min(
    giveBack > 0 ? now : NEVER_AT,
    nextStartAt ?? NEVER_AT,
    ...start.map(({ head }) => Math.max(head.dueAt, now)),
  );
  return { start, giveBack, nextStartAt, dueAt: dueAt === NEVER_AT ? null : dueAt };
}

/**
 * How the states of messages with a place change when their queue is paused or resumed. During the pause they keep
 * their place, but wait for the queue. After the pause they wait for the clock again.
 */
export function stateChangeInPause(isPaused: boolean): { readonly from: readonly Waiting[]; readonly to: Waiting } {
  return isPaused ? { from: ['ready', 'delayed'], to: 'queued' } : { from: ['queued'], to: 'delayed' };
}

/**
 * Of the open messages with one order key, only the first may be a head. Call this if none of them has a place. `line`
 * holds the first few of them, in order. Returns those whose mark `isFirstOfKey` must change, with the new mark.
 */
export function wrongFirstMarks<T extends { readonly isFirstOfKey: boolean }>(
  line: readonly T[],
): { readonly message: T; readonly isFirst: boolean }[] {
  return line
    .map((message, index) => ({ message, isFirst: index === 0 }))
    .filter(({ message, isFirst }) => message.isFirstOfKey !== isFirst);
}
