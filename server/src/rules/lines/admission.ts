// What a flow key admits when something about it changes: a message came, ended or started, time passed, or its limits
// changed. The store reads the key and counts its messages, calls these functions, and writes the plan.

import { eachMax } from '../limits/budgets.ts';
import {
  AT_NEXT_START,
  admit,
  admittedCount,
  type FlowLimits,
  type FlowState,
  nextStartAt,
  stateAfterStarts,
} from './flow-control.ts';

export type FlowWindow = Pick<FlowState, 'windowStartAt' | 'windowCount'>;

/** The state of a key, without its messages. */
export interface KeyState extends FlowWindow {
  /** The limits that apply now. */
  readonly limits: FlowLimits;
  readonly isParallelismPinned: boolean;
  readonly isRatePinned: boolean;
  readonly isPaused: boolean;
  /**
   * When the key can admit more of its waiting messages; AT_NEXT_START: when an admitted message starts. Null if no
   * message waits, or if the key waits for another event: an end, or that a person resumes it.
   */
  readonly nextStartAt: number | null;
  /** The limits that the newest message of the key requested, until they take effect. Null once they have. */
  readonly requested: FlowLimits | null;
}

/** Counts of a key's messages. */
export interface KeyCounts {
  /** Messages that are admitted and have not ended. */
  readonly active: number;
  /** Messages that are admitted and have not started. */
  readonly unstarted: number;
  /** Messages that wait for the key. */
  readonly waiting: number;
}

/**
 * Up to which number each of KeyCounts is counted; null means that all are counted. Nothing is counted further than a
 * decision needs, because counting runs for every message of a key.
 */
export type CountLimits = Readonly<Record<keyof KeyCounts, number | null>>;

const NONE: KeyCounts = { active: 0, unstarted: 0, waiting: 0 };

function stateOf({ windowStartAt, windowCount, isPaused }: KeyState, { active, unstarted }: KeyCounts): FlowState {
  return { active, unstarted, windowStartAt, windowCount, isPaused };
}

/**
 * Whether the window is over, so that the next start opens a new one. Messages that are admitted but not started then
 * count in the new window.
 */
function isPast(key: KeyState, now: number): boolean {
  return admit(stateOf(key, NONE), key.limits, now).state.windowStartAt !== key.windowStartAt;
}

/** Up to which number `planAdmission` needs each count. */
export function countLimitsToAdmit(key: KeyState, now: number): CountLimits {
  const max = eachMax('flowKeyReady');
  const most = admittedCount(admit(stateOf(key, NONE), key.limits, now), 0, max);
  const { active, unstarted } = countLimitsToStart(key, now);
  const joined = most === 0 ? 0 : max;
  return {
    active,
    unstarted: unstarted === null ? null : Math.max(unstarted, joined),
    // One more than can be admitted, to see whether messages remain that wait.
    waiting: most + 1,
  };
}

/** Up to which number `planStart` and `planOneStart` need each count. */
export function countLimitsToStart(key: KeyState, now: number): CountLimits {
  const { parallelism, rate } = key.limits;
  return { active: parallelism ?? 0, unstarted: isPast(key, now) ? rate : 0, waiting: 0 };
}

export interface AdmissionPlan {
  /** How many messages are admitted, from the front of the line. */
  readonly admitted: number;
  readonly window: FlowWindow;
  readonly nextStartAt: number | null;
  /** The earliest time at which the key has something to claim, or null. */
  readonly dueAt: number | null;
}

/** Plans how many of the waiting messages are admitted now: at most `most`. */
export function planAdmission(
  key: KeyState,
  counts: KeyCounts,
  now: number,
  most = Number.POSITIVE_INFINITY,
): AdmissionPlan {
  const max = eachMax('flowKeyReady');
  const { unstarted, waiting } = counts;
  const verdict = admit(stateOf(key, counts), key.limits, now);
  const count = Math.min(admittedCount(verdict, unstarted, max), waiting, most);
  const state = stateAfterStarts(verdict.state, count, now);
  const nextAt = waiting > count ? nextStartAt(admit(state, key.limits, now), unstarted + count >= max, now) : null;
  return {
    admitted: count,
    window: windowOf(state),
    nextStartAt: nextAt,
    dueAt: count > 0 ? now : nextAt === AT_NEXT_START ? null : nextAt,
  };
}

/** Whether the state of the key must be written when an admitted message starts. Usually it does not change. */
export function isChangedByStart(key: KeyState, now: number): boolean {
  return key.nextStartAt === AT_NEXT_START || isPast(key, now);
}

export type StartPlan = Pick<AdmissionPlan, 'window' | 'nextStartAt'>;

/**
 * The plan after `claimed` messages were claimed. `unstarted`: how many other messages are admitted and not started.
 * Messages admitted in an earlier window count in the window in which they start. If the key waited for a start, it can
 * now admit more.
 */
export function planStart(key: KeyState, unstarted: number, claimed: number, now: number): StartPlan {
  const { state } = admit(stateOf(key, { ...NONE, unstarted: unstarted + claimed }), key.limits, now);
  return { window: windowOf(state), nextStartAt: key.nextStartAt === AT_NEXT_START ? now : key.nextStartAt };
}

/**
 * The plan for one new message that starts at once. Null if the limits do not allow that. Messages that are admitted
 * and wait for a slot do not block it.
 */
export function planOneStart(key: KeyState, counts: KeyCounts, now: number): StartPlan | null {
  const verdict = admit(stateOf(key, counts), key.limits, now);
  if (verdict.free === 0) return null;
  return { window: windowOf(stateAfterStarts(verdict.state, 1, now)), nextStartAt: key.nextStartAt };
}

/** The window after the starts of `count` messages were taken back. */
export function windowWithoutStarts({ windowStartAt, windowCount }: FlowWindow, count: number): FlowWindow {
  return { windowStartAt, windowCount: Math.max(0, windowCount - count) };
}

/**
 * How many claims that were released before their attempts began have been counted in the current window. They are
 * subtracted again. `claimedAt`: the times of these claims.
 */
export function startsInWindow({ windowStartAt }: FlowWindow, claimedAt: readonly number[]): number {
  return claimedAt.filter((at) => at >= windowStartAt).length;
}

function windowOf({ windowStartAt, windowCount }: FlowState): FlowWindow {
  return { windowStartAt, windowCount };
}
