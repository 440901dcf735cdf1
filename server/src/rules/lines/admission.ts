// What a flow key admits when something about it changes: a message came, ended or started, time passed, or its limits
// changed. The store reads the key and counts its messages, calls these functions, and writes the plan.

import { eachMax } from '../limits/budgets.ts';
import { AT_NEXT_START, admit, type FlowLimits, type FlowState, letIn, nextStartAt, started } from './flow-control.ts';

export type FlowWindow = Pick<FlowState, 'windowStartAt' | 'windowCount'>;

/** The state of a key, without its messages. */
export interface KeyState extends FlowWindow {
  /** The limits that apply now. */
  readonly limits: FlowLimits;
  readonly isParallelismPinned: boolean;
  readonly isRatePinned: boolean;
  readonly isPaused: boolean;
  /** When the key admits more messages, if that depends on the clock or on a start. */
  readonly nextStartAt: number | null;
  /** The limits that its newest message requested, until they take effect. Null if they have. */
  readonly said: FlowLimits | null;
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
 * How far each number is counted; null means to the end. Nothing is counted further than a decision needs, because
 * counting runs for every message of a key.
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

/** How far `planAdmission` needs each count. */
export function countedToAdmit(key: KeyState, now: number): CountLimits {
  const max = eachMax('flowKeyReady');
  const most = letIn(admit(stateOf(key, NONE), key.limits, now), 0, max);
  const { active, unstarted } = countedToStart(key, now);
  const joined = most === 0 ? 0 : max;
  return {
    active,
    unstarted: unstarted === null ? null : Math.max(unstarted, joined),
    // One more than can be admitted, to see whether others stay behind.
    waiting: most + 1,
  };
}

/** How far `planStart` and `planOne` need each count. */
export function countedToStart(key: KeyState, now: number): CountLimits {
  const { parallelism, rate } = key.limits;
  return { active: parallelism ?? 0, unstarted: isPast(key, now) ? rate : 0, waiting: 0 };
}

export interface AdmissionPlan {
  /** How many messages are admitted, from the front of the line. */
  readonly letIn: number;
  readonly window: FlowWindow;
  readonly nextStartAt: number | null;
  /** The earliest time at which the key has something to claim, or null. */
  readonly dueAt: number | null;
}

/** Plans which waiting messages are admitted: at most `most`. */
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

/** Whether a start changes the key itself. Usually it does not. */
export function isChangedByStart(key: KeyState, now: number): boolean {
  return key.nextStartAt === AT_NEXT_START || isPast(key, now);
}

export type StartPlan = Pick<AdmissionPlan, 'window' | 'nextStartAt'>;

/**
 * The plan after `claimed` messages were claimed. `unstarted`: how many others are admitted and not started. Messages
 * admitted in an earlier window count in the window in which they start. If the key waits for a start, it now admits
 * more.
 */
export function planStart(key: KeyState, unstarted: number, claimed: number, now: number): StartPlan {
  const { state } = admit(stateOf(key, { ...NONE, unstarted: unstarted + claimed }), key.limits, now);
  return { window: windowOf(state), nextStartAt: key.nextStartAt === AT_NEXT_START ? now : key.nextStartAt };
}

/**
 * The plan for one message that starts at once if the limits allow it. Messages that wait for a slot do not block it.
 * Null: the message may not start.
 */
export function planOne(key: KeyState, counts: KeyCounts, now: number): StartPlan | null {
  const verdict = admit(stateOf(key, counts), key.limits, now);
  if (verdict.free === 0) return null;
  return { window: windowOf(started(verdict.state, 1, now)), nextStartAt: key.nextStartAt };
}

/** The window after the starts of `count` messages were taken back. */
export function withoutStarts({ windowStartAt, windowCount }: FlowWindow, count: number): FlowWindow {
  return { windowStartAt, windowCount: Math.max(0, windowCount - count) };
}

/**
 * Of the claims that were released before their attempts began: how many were counted in the current window. These are
 * subtracted again.
 */
export function startsIn({ windowStartAt }: FlowWindow, claimedAt: readonly number[]): number {
  return claimedAt.filter((at) => at >= windowStartAt).length;
}

function windowOf({ windowStartAt, windowCount }: FlowState): FlowWindow {
  return { windowStartAt, windowCount };
}
