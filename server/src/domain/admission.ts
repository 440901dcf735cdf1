// What a flow key lets in when something about it changes: a message came, ended or started, the clock went on, its limits
// are others. The store reads the key and counts its messages, asks here, and writes the plan.

import { eachMax } from './budgets.ts';
import { AT_NEXT_START, admit, type FlowLimits, type FlowState, letIn, nextStartAt, started } from './flow-control.ts';

export type FlowWindow = Pick<FlowState, 'windowStartAt' | 'windowCount'>;

/** A key as it stands, without its messages. */
export interface KeyState extends FlowWindow {
  /** In force. */
  readonly limits: FlowLimits;
  readonly isParallelismPinned: boolean;
  readonly isRatePinned: boolean;
  readonly isPaused: boolean;
  /** When it lets more in, as far as the clock or a start decides it. */
  readonly nextStartAt: number | null;
  /** What its newest message says, while that has not taken effect. */
  readonly said: FlowLimits | null;
}

/** Messages of a key. */
export interface KeyCounts {
  /** Let in and not ended. */
  readonly active: number;
  /** Of those, not started. */
  readonly unstarted: number;
  /** Behind the key. */
  readonly waiting: number;
}

/** How far each is counted; null for to the end. No further than a decision needs: it is made at every message of a key. */
export type CountLimits = Readonly<Record<keyof KeyCounts, number | null>>;

const NONE: KeyCounts = { active: 0, unstarted: 0, waiting: 0 };

function stateOf({ windowStartAt, windowCount, isPaused }: KeyState, { active, unstarted }: KeyCounts): FlowState {
  return { active, unstarted, windowStartAt, windowCount, isPaused };
}

/** Whether its window is over, so that the next start opens another: in that one, those that have not started count. */
function isPast(key: KeyState, now: number): boolean {
  return admit(stateOf(key, NONE), key.limits, now).state.windowStartAt !== key.windowStartAt;
}

/** For `planAdmission`. */
export function countedToAdmit(key: KeyState, now: number): CountLimits {
  const max = eachMax('flowKeyReady');
  const most = letIn(admit(stateOf(key, NONE), key.limits, now), 0, max);
  const { active, unstarted } = countedToStart(key, now);
  const joined = most === 0 ? 0 : max;
  return {
    active,
    unstarted: unstarted === null ? null : Math.max(unstarted, joined),
    // One more than can be let in, to see whether others stay behind.
    waiting: most + 1,
  };
}

/** For `planStart` and `planOne`. */
export function countedToStart(key: KeyState, now: number): CountLimits {
  const { parallelism, rate } = key.limits;
  return { active: parallelism ?? 0, unstarted: isPast(key, now) ? rate : 0, waiting: 0 };
}

export interface AdmissionPlan {
  /** So many are let in, the first of those that wait. */
  readonly letIn: number;
  readonly window: FlowWindow;
  readonly nextStartAt: number | null;
  /** The earliest time at which the key has something to claim, or null. */
  readonly dueAt: number | null;
}

/** At most `most` are let in. */
export function planAdmission(
  key: KeyState,
  counts: KeyCounts,
  now: number,
  most = Number.POSITIVE_INFINITY,
): AdmissionPlan {
  const max = eachMax('flowKeyReady');
  const { unstarted, waiting } = counts;
  const verdict = admit(stateOf(key, counts), key.limits, now);
  const count = Math.min(letIn(verdict, unstarted, max), waiting, most);
  const state = started(verdict.state, count, now);
  const nextAt = waiting > count ? nextStartAt(admit(state, key.limits, now), unstarted + count >= max, now) : null;
  return {
    letIn: count,
    window: windowOf(state),
    nextStartAt: nextAt,
    dueAt: count > 0 ? now : nextAt === AT_NEXT_START ? null : nextAt,
  };
}

/** Whether a start changes the key itself: mostly it does not. */
export function isChangedByStart(key: KeyState, now: number): boolean {
  return key.nextStartAt === AT_NEXT_START || isPast(key, now);
}

export type StartPlan = Pick<AdmissionPlan, 'window' | 'nextStartAt'>;

/**
 * Of those that are claimed now, `claimed`; `unstarted` are the others that it has let in. Let in in an earlier window, they
 * count in the window in which they start; and a key that waits for a start lets more in.
 */
export function planStart(key: KeyState, unstarted: number, claimed: number, now: number): StartPlan {
  const { state } = admit(stateOf(key, { ...NONE, unstarted: unstarted + claimed }), key.limits, now);
  return { window: windowOf(state), nextStartAt: key.nextStartAt === AT_NEXT_START ? now : key.nextStartAt };
}

/** Of one that starts at once if the limits allow it: whoever waits for a slot does not keep it back. Null: it may not. */
export function planOne(key: KeyState, counts: KeyCounts, now: number): StartPlan | null {
  const verdict = admit(stateOf(key, counts), key.limits, now);
  if (verdict.free === 0) return null;
  return { window: windowOf(started(verdict.state, 1, now)), nextStartAt: key.nextStartAt };
}

/** After `count` that were let in were taken back. */
export function withoutStarts({ windowStartAt, windowCount }: FlowWindow, count: number): FlowWindow {
  return { windowStartAt, windowCount: Math.max(0, windowCount - count) };
}

/** Of claims that were given back before their attempts began: they did not count, if this is still the window they counted in. */
export function startsIn({ windowStartAt }: FlowWindow, claimedAt: readonly number[]): number {
  return claimedAt.filter((at) => at >= windowStartAt).length;
}

function windowOf({ windowStartAt, windowCount }: FlowState): FlowWindow {
  return { windowStartAt, windowCount };
}
