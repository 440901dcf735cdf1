// The state of a flow key: its limits, what it has admitted, and what waits. The limits apply that its newest message
// requested, unless a person has pinned others.

import type { KeyState } from './admission.ts';
import type { FlowLimits } from './flow-control.ts';

export interface FlowKey {
  readonly key: string;
  readonly limits: FlowLimits;
  /** A pinned limit stays the same, whatever limits messages request. */
  readonly isParallelismPinned: boolean;
  readonly isRatePinned: boolean;
  readonly isPaused: boolean;
  /** Attempts admitted and not ended. */
  readonly active: number;
  readonly waiting: number;
  /** Present if counting stopped at a limit: more than `waiting` messages wait. */
  readonly isWaitingCut?: true;
  readonly windowStartAt: number;
  /** Attempts admitted in the current period. */
  readonly windowCount: number;
}

/** What a person changes about one limit of a key: a value is pinned, `unpin` lets messages set the limit again. */
export type FlowPin<T> = T | 'keep' | 'unpin';

export interface FlowPins {
  readonly parallelism: FlowPin<number>;
  readonly rate: FlowPin<{ readonly rate: number; readonly periodMs: number }>;
}

type Pinned = Pick<KeyState, 'limits' | 'isParallelismPinned' | 'isRatePinned'>;

/** The limits that a message requested, except where limits of the key are pinned. */
export function requestedLimits(
  { limits, isParallelismPinned, isRatePinned }: Pinned,
  requested: FlowLimits,
): FlowLimits {
  return {
    parallelism: isParallelismPinned ? limits.parallelism : requested.parallelism,
    rate: isRatePinned ? limits.rate : requested.rate,
    periodMs: isRatePinned ? limits.periodMs : requested.periodMs,
  };
}

/** The limits that the newest message of the key requested, whether they have taken effect or not. */
export function newestLimits(key: Pinned & Pick<KeyState, 'requested'>): FlowLimits {
  return key.requested === null ? key.limits : requestedLimits(key, key.requested);
}

/** Whether a message that requests these limits changes nothing: the key has them already, apart from pinned ones. */
export function areLimitsUnchanged(key: Pinned & Pick<KeyState, 'requested'>, requested: FlowLimits): boolean {
  return key.requested === null && areSameLimits(key.limits, requestedLimits(key, requested));
}

export function areSameLimits(a: FlowLimits, b: FlowLimits): boolean {
  return a.parallelism === b.parallelism && a.rate === b.rate && a.periodMs === b.periodMs;
}

/** The key after a person has changed its pins. A limit that was unpinned stays until a message requests another. */
export function withPins(key: Pinned & Pick<KeyState, 'requested'>, { parallelism, rate }: FlowPins): Pinned {
  return {
    isParallelismPinned: isPinned(parallelism, key.isParallelismPinned),
    isRatePinned: isPinned(rate, key.isRatePinned),
    limits: {
      ...newestLimits(key),
      ...(typeof parallelism === 'number' ? { parallelism } : {}),
      ...(typeof rate === 'object' ? rate : {}),
    },
  };
}

function isPinned(pin: FlowPin<unknown>, before: boolean): boolean {
  return pin === 'keep' ? before : pin !== 'unpin';
}

/** The state of a key without messages. */
export interface IdleKey {
  readonly isParallelismPinned: boolean;
  readonly isRatePinned: boolean;
  readonly isPaused: boolean;
  readonly windowStartAt: number;
  readonly periodMs: number;
}

/** Whether a person has pinned or paused the key. Such a key is kept even without messages. */
export function isSetByPerson(key: Pick<IdleKey, 'isParallelismPinned' | 'isRatePinned' | 'isPaused'>): boolean {
  return key.isParallelismPinned || key.isRatePinned || key.isPaused;
}

/** Whether a key without messages may be deleted: nobody has set it, and its period is over. */
export function canDeleteFlowKey(key: IdleKey, now: number): boolean {
  return !isSetByPerson(key) && key.windowStartAt + key.periodMs <= now;
}
