// Where a waiting message waits after its time was changed: whether it keeps its place, and for what it waits now.

import type { Message } from '../delivery/message.ts';
import { NEVER_AT } from '../delivery/recovery.ts';
import { firstState, type Waiting } from './line.ts';

/** How an unclaimed message waits. */
export interface WaitingPlace {
  readonly state: Waiting;
  /** NEVER_AT while `aloneFromAt` is set. */
  readonly dueAt: number;
  /** Decides the order in a queue. */
  readonly firstDueAt: number;
  readonly readyAt: number | null;
  readonly aloneFromAt: number | null;
  readonly holdsPlace: boolean;
}

/** The part of a message that decides where it waits. */
export type InLine = Pick<Message, 'queueName' | 'flow' | 'attempts'>;

export interface NewPlace extends WaitingPlace {
  /** Whether it has left its place in its line: in its queue, or under its flow key. */
  readonly hasLeft: boolean;
}

/**
 * The place after the time was set to `at`. A message that was never attempted waits like one that is accepted now with
 * that time, so in a queue others may go before it. Between two attempts only the time of the next one changes: a message
 * of a queue keeps its place, because no later one may start before it has ended. Under a flow key a place lasts only for
 * one attempt, so it is always given back.
 */
export function placeAtNewTime(
  place: WaitingPlace,
  { queueName, flow, attempts }: InLine,
  at: number,
  now: number,
): NewPlace {
  // Nothing else may start together with such a message: it waits for the new time and still starts alone.
  if (place.aloneFromAt !== null) return { ...place, aloneFromAt: at, hasLeft: false };
  const isFirst = attempts === 0;
  if (queueName !== null && !isFirst) {
    // While it waits in a paused queue, or for a place, it stays `queued`; its place begins with its time then.
    const state = place.state === 'queued' ? 'queued' : at > now ? 'delayed' : 'ready';
    return { ...place, state, dueAt: at, hasLeft: false };
  }
  return {
    state: firstState({ queueName, flow, dueAt: at }, false, now) as Waiting,
    dueAt: at,
    firstDueAt: isFirst ? at : place.firstDueAt,
    // As if it had never had a place: others that started meanwhile have not overtaken it.
    readyAt: isFirst ? null : place.readyAt,
    aloneFromAt: null,
    holdsPlace: false,
    hasLeft: true,
  };
}

/** When the message can be claimed through its own state, or null: its queue or its flow key decides, or it starts alone. */
export function claimableAt({ state, dueAt }: WaitingPlace): number | null {
  return state === 'queued' || dueAt === NEVER_AT ? null : dueAt;
}
