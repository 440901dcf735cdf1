// The events of a message, told from what the store keeps: its acceptance, its attempts, its cancellation. Nothing is
// stored twice for them.

import type { Attempt, Message } from './message.ts';

export const EVENT_STATES = [
  'CREATED',
  'ACTIVE',
  'RETRY',
  'ERROR',
  'DELIVERED',
  'FAILED',
  'CANCEL_REQUESTED',
  'CANCELLED',
] as const;
export type EventState = (typeof EVENT_STATES)[number];

export interface MessageEvent {
  readonly at: number;
  readonly state: EventState;
  readonly message: Message;
  /** The attempt it tells of; null for acceptance and cancellation. */
  readonly attempt: Attempt | null;
  /** Its place in the journal, where it was read from there: a live reader goes on behind it. */
  readonly place?: number;
}

/** What happened to a message in one transaction. */
export type Step =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'attempt'; readonly attempt: Attempt }
  | { readonly kind: 'cancelled' };

/** The most that are told of one step. */
export const STEP_EVENTS_MAX = 3;

export function stepEvents(message: Message, step: Step): MessageEvent[] {
  switch (step.kind) {
    case 'accepted':
      return [{ at: message.createdAt, state: 'CREATED', message, attempt: null }];
    case 'attempt':
      return attemptStates(step.attempt).map((state) => ({
        at: state === 'ACTIVE' ? step.attempt.startedAt : step.attempt.endedAt,
        state,
        message,
        attempt: step.attempt,
      }));
    case 'cancelled': {
      const at = message.endedAt ?? message.createdAt;
      return [
        { at, state: 'CANCEL_REQUESTED', message, attempt: null },
        { at, state: 'CANCELLED', message, attempt: null },
      ];
    }
  }
}

export function attemptStates(attempt: Pick<Attempt, 'outcome' | 'status' | 'nextAt'>): EventState[] {
  const isSuccess =
    attempt.outcome === 'answered' && attempt.status !== null && attempt.status >= 200 && attempt.status <= 299;
  if (isSuccess) return ['ACTIVE', 'DELIVERED'];
  return ['ACTIVE', 'ERROR', attempt.nextAt === null ? 'FAILED' : 'RETRY'];
}

/** All events of one message so far, oldest first. */
export function messageEvents(message: Message, attempts: readonly Attempt[]): MessageEvent[] {
  const events = stepEvents(message, { kind: 'accepted' });
  for (const attempt of attempts) events.push(...stepEvents(message, { kind: 'attempt', attempt }));
  if (message.state === 'claimed') {
    events.push({ at: message.claimedAt ?? message.createdAt, state: 'ACTIVE', message, attempt: null });
  }
  if (message.state === 'cancelled') events.push(...stepEvents(message, { kind: 'cancelled' }));
  return events;
}
