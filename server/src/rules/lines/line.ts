// How an unclaimed message waits: for the clock (`delayed`), for its turn in its queue or behind its flow key
// (`queued`), or for a slot (`ready`). Every store adapter uses these rules.

import type { FailureCode, NewMessage, Settlement } from '../delivery/message.ts';
import { NEVER_AT } from '../delivery/recovery.ts';

export type Waiting = 'delayed' | 'queued' | 'ready';

/** The first state of a new message. Only a message that waits for nothing is leased at accept. */
export function firstState(
  { queueName, flow, dueAt }: Pick<NewMessage, 'queueName' | 'flow' | 'dueAt'>,
  isLeased: boolean,
  now: number,
): Waiting | 'claimed' {
  if (isLeased) return 'claimed';
  if (queueName !== null) return 'queued';
  if (dueAt > now) return 'delayed';
  return flow ? 'queued' : 'ready';
}

/** What is written for a message after its attempt. */
export interface AfterAttempt {
  readonly state: Waiting | 'delivered' | 'failed';
  /**
   * The time of the next attempt. NEVER_AT for a message that is held or starts alone. Null for a message that has
   * ended: its time is not changed.
   */
  readonly dueAt: number | null;
  /** From when the message may start alone, or null. */
  readonly aloneFromAt: number | null;
  readonly heldAt: number | null;
  readonly endedAt: number | null;
  readonly expiresAt: number | null;
  readonly failure: string | null;
  readonly failureCode: FailureCode | null;
  /** When the message can start, if only the clock decides that; otherwise null. */
  readonly startAt: number | null;
}

const NOTHING = {
  dueAt: null,
  aloneFromAt: null,
  heldAt: null,
  endedAt: null,
  expiresAt: null,
  failure: null,
  failureCode: null,
  startAt: null,
};

/** What is written after an attempt. In a paused queue, an open message becomes `queued` and keeps its place. */
export function afterAttempt(
  { next, attempt }: Pick<Settlement, 'next' | 'attempt'>,
  isQueuePaused: boolean,
): AfterAttempt {
  const state = isQueuePaused ? 'queued' : 'delayed';
  switch (next.state) {
    case 'held':
      return { ...NOTHING, state, dueAt: NEVER_AT, heldAt: next.heldAt };
    case 'awaiting':
      throw new Error('an attempt that awaits its ack has not ended');
    case 'pending':
      if (next.startsAlone) return { ...NOTHING, state, dueAt: NEVER_AT, aloneFromAt: next.dueAt };
      return { ...NOTHING, state, dueAt: next.dueAt, startAt: isQueuePaused ? null : next.dueAt };
    default: {
      const { state, expiresAt } = next;
      const { failure = null, code: failureCode = null } = state === 'failed' ? next : {};
      return { ...NOTHING, state, endedAt: attempt.endedAt, expiresAt, failure, failureCode };
    }
  }
}

export interface ReleasedMessage {
  readonly isQueuePaused: boolean;
  /** Whether the message waits for a time at which no other message starts. */
  readonly startsAlone: boolean;
  readonly hasFlowKey: boolean;
}

/** The state after a claim that was released before its attempt began. */
export function stateAfterRelease({ isQueuePaused, startsAlone, hasFlowKey }: ReleasedMessage): Waiting {
  if (isQueuePaused) return 'queued';
  if (startsAlone) return 'delayed';
  return hasFlowKey ? 'queued' : 'ready';
}

/** A message that has not ended, and that a person wants to be delivered now. */
export interface UnclaimedMessage {
  readonly state: string;
  readonly queue_name: string | null;
  readonly held_at: number | null;
  readonly alone_from_at: number | null;
}

/**
 * `inQueue`: the message cannot start before its turn in the queue. This does not apply to a head that waits because
 * crashes interrupted its attempts: it has its turn, so it can start now.
 */
export type DeliverNowResult = 'due' | 'inQueue' | 'held' | 'notWaiting';

/** The result, and the column that is set to the current time, so that the message becomes due; null: none. */
export function planDeliverNow(open: UnclaimedMessage | undefined): {
  readonly answer: DeliverNowResult;
  readonly column: 'due_at' | 'alone_from_at' | null;
} {
  if (!open) return { answer: 'notWaiting', column: null };
  if (open.held_at !== null) return { answer: 'held', column: null };
  // In a queue, only a head waits for the clock.
  const isInterruptedHead = open.state === 'delayed' && open.alone_from_at !== null;
  if (open.queue_name !== null && !isInterruptedHead) return { answer: 'inQueue', column: null };
  if (open.state !== 'delayed') return { answer: 'due', column: null };
  return { answer: 'due', column: open.alone_from_at === null ? 'due_at' : 'alone_from_at' };
}
