// The state of a flow key: its limits, what it has admitted, and what waits. The limits of its newest message apply,
// unless a person has pinned others.

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
  /** More messages wait: counting stopped at a limit. */
  readonly isWaitingCut?: true;
  readonly windowStartAt: number;
  /** Attempts admitted in the current period. */
  readonly windowCount: number;
}

/** What to do with one limit of a key. */
export type FlowPin<T> = T | 'keep' | 'unpin';

export interface FlowPins {
  readonly parallelism: FlowPin<number>;
  readonly rate: FlowPin<{ readonly rate: number; readonly periodMs: number }>;
}

type Pinned = Pick<KeyState, 'limits' | 'isParallelismPinned' | 'isRatePinned'>;

/** The limits of a message, except where the key's are pinned. */
export function requestedLimits({ limits, isParallelismPinned, isRatePinned }: Pinned, said: FlowLimits): FlowLimits {
  return {
    parallelism: isParallelismPinned ? limits.parallelism : said.parallelism,
    rate: isRatePinned ? limits.rate : said.rate,
    periodMs: isRatePinned ? limits.periodMs : said.periodMs,
  };
}

/** The limits of its newest message, whether they have taken effect or not. */
export function newestLimits(key: Pinned & Pick<KeyState, 'said'>): FlowLimits {
  return key.said === null ? key.limits : requestedLimits(key, key.said);
}

/** Whether the key already has these limits, apart from pinned ones. */
export function areLimitsUnchanged(key: Pinned & Pick<KeyState, 'said'>, said: FlowLimits): boolean {
  return key.said === null && areSameLimits(key.limits, requestedLimits(key, said));
}

export function areSameLimits(a: FlowLimits, b: FlowLimits): boolean {
  return a.parallelism === b.parallelism && a.rate === b.rate && a.periodMs === b.periodMs;
}

/** A limit that is no longer pinned stays until a message sets another. */
export function withPins(key: Pinned & Pick<KeyState, 'said'>, { parallelism, rate }: FlowPins): Pinned {
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
