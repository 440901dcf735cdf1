// Limits how many messages may descend from one message, because a delivery or a callback can reach this service again
// and make messages. Each message may have a limited number of descendants, and passes parts of that number on to them.

import { eachMax } from '../limits/budgets.ts';
import { type Problem, problem } from '../requests/problem.ts';
import type { Message, NewMessage } from './message.ts';

export const DESCENDANTS_MAX = eachMax('descendants');

/** Where a request comes from: from outside, or from one of our deliveries. */
export interface Descent {
  /** How often the chain of deliveries before the request has passed through this service. */
  readonly hops: number;
  /**
   * How many messages the request may make, including all that these lead to. Null if the request did not come from a
   * delivery of this service: it has no such limit.
   */
  readonly left: number | null;
}

export const NO_DESCENT: Descent = { hops: 0, left: null };

/** The lower of two limits; null is no limit. The request's own headers can only lower the limit of its origin. */
export function stricterDescent(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** How many descendants each of the new messages may have. The messages themselves first reduce `left`. */
export function divideDescendants(left: number | null, messages: number): number | { readonly problem: Problem } {
  if (left === null || messages === 0) return DESCENDANTS_MAX;
  if (messages > left) {
    return problem(
      'loop_detected',
      `possible loop: this request comes from a delivery of this service. The number of messages that one message may cause is limited: ${left} more are allowed, not ${messages}`,
    );
  }
  return Math.floor((left - messages) / messages);
}

type Parent = Pick<NewMessage, 'descendantsLeft' | 'callback' | 'failureCallback' | 'retriesMax'>;

/** How many of a message's descendants are reserved for its callbacks: half if it has a callback, otherwise none. */
function callbacksShare({ descendantsLeft, callback, failureCallback }: Parent): number {
  return callback || failureCallback ? Math.floor(descendantsLeft / 2) : 0;
}

/**
 * How many messages the request of the next attempt may lead to. At the first attempt: half of the descendants that are
 * not reserved for callbacks. At each further attempt: half of the previous number.
 */
export function descendantsOfRequest(message: Parent & Pick<Message, 'attempts'>): number {
  const share = message.descendantsLeft - callbacksShare(message);
  return Math.floor(share / 2 ** Math.min(message.attempts + 1, 52));
}

/** How many descendants the next callback may use for itself and what it leads to. 0: the callback is not created. */
export function callbackRoom(source: Parent & Pick<Message, 'retried'>, kind: 'callback' | 'failureCallback'): number {
  const share = callbacksShare(source);
  const failures = source.failureCallback ? 1 : 0;
  const most = (source.callback ? source.retriesMax + 1 : 0) + failures;
  const room = most <= share ? Math.floor(share / most) : Math.min(1, share);
  if (kind === 'failureCallback') return room;
  // One descendant stays reserved for the failure callback, which is created after all other callbacks.
  return Math.min(source.retried, source.retriesMax) + 1 + failures <= share ? room : 0;
}
