// How a message waits that nobody has claimed: for the clock (`delayed`), for its turn in its queue or behind its flow key
// (`queued`), or for a slot (`ready`). Every store adapter asks here which of them it is.

import type { NewMessage } from './message.ts';

export type Waiting = 'delayed' | 'queued' | 'ready';

/** How a new message begins. A lease at acceptance is given only to one that waits for nothing. */
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

/** After an attempt that another one follows. In a paused queue the head waits for the queue, and keeps its place. */
export function stateForRetry(isQueuePaused: boolean): Waiting {
  return isQueuePaused ? 'queued' : 'delayed';
}

export interface GivenBack {
  readonly isQueuePaused: boolean;
  /** It waits for a time of its own, at which nothing else starts. */
  readonly startsAlone: boolean;
  readonly hasFlowKey: boolean;
}

/** After a claim that was given back before its attempt began. */
export function stateGivenBack({ isQueuePaused, startsAlone, hasFlowKey }: GivenBack): Waiting {
  if (isQueuePaused) return 'queued';
  if (startsAlone) return 'delayed';
  return hasFlowKey ? 'queued' : 'ready';
}
