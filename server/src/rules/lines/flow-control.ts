// The limits of a flow key: how many of its deliveries may be in flight, and how many may start in a period. The store
// reads the state of the key, asks these functions what may start, and writes the new state.

import { NEVER_AT } from '../delivery/recovery.ts';
import { CLOCK_STEP_MS_MAX } from '../time/clock.ts';
import { parseDurationMs } from '../time/duration.ts';

export interface FlowLimits {
  /** Deliveries in flight at once. Null for no limit. */
  readonly parallelism: number | null;
  /** Starts per period. Null for no limit. */
  readonly rate: number | null;
  readonly periodMs: number;
}

export interface FlowState {
  /** Deliveries admitted and not ended. */
  readonly active: number;
  readonly windowStartAt: number;
  /** Starts in the window, including those of messages that are admitted and have not started. */
  readonly windowCount: number;
  /** Deliveries admitted and not started. They count in the window in which they start. */
  readonly unstarted: number;
  readonly isPaused: boolean;
}

export const FLOW_KEY_LENGTH_MAX = 256;
export const FLOW_PERIOD_MS_DEFAULT = 1_000;
export const FLOW_PERIOD_MS_MIN = 1_000;
export const FLOW_PERIOD_MS_MAX = 7 * 86_400_000;

/** The rule as text, for error messages. */
export const FLOW_KEY_RULE = `1 to ${FLOW_KEY_LENGTH_MAX} printable ASCII characters, without leading or trailing spaces`;

/** ASCII only: a key comes in headers and in paths, which treat other characters differently. */
export function isFlowKey(text: string): boolean {
  return text.length <= FLOW_KEY_LENGTH_MAX && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
}

interface Refusal {
  readonly problem: string;
}

const EXAMPLE = 'as in parallelism=3, rate=10, period=1m';
/** `ratePerSecond` is an old name for a rate without a period. */
const NAMES = ['parallelism', 'rate', 'period', 'ratePerSecond'];

export function parseFlowControl(text: string): FlowLimits | Refusal {
  const given = parsePairs(text);
  if ('problem' in given) return given;
  if (given.has('ratePerSecond') && (given.has('rate') || given.has('period'))) {
    return {
      problem: 'ratePerSecond means rate with a period of 1s; give ratePerSecond, or rate and period, but not both',
    };
  }
  const parallelism = parseCount('parallelism', given);
  if (isRefusal(parallelism)) return parallelism;
  const rate = parseCount(given.has('ratePerSecond') ? 'ratePerSecond' : 'rate', given);
  if (isRefusal(rate)) return rate;
  if (parallelism === null && rate === null) return { problem: `needs parallelism, rate or both, ${EXAMPLE}` };
  const periodMs = parsePeriod(given.get('period'));
  return isRefusal(periodMs) ? periodMs : { parallelism, rate, periodMs };
}

/** The value of `parallelism` or a rate. Null if it is not given. */
function parseCount(name: string, given: ReadonlyMap<string, string>): number | null | Refusal {
  const value = given.get(name);
  if (value === undefined) return null;
  if (/^0*[1-9]\d{0,8}$/.test(value)) return Number(value);
  return { problem: `${name} must be a whole number, 1 or more, not ${shown(value)}` };
}

function parsePeriod(text: string | undefined): number | Refusal {
  if (text === undefined) return FLOW_PERIOD_MS_DEFAULT;
  const periodMs = parseDurationMs(text);
  if (periodMs !== null && periodMs >= FLOW_PERIOD_MS_MIN && periodMs <= FLOW_PERIOD_MS_MAX) return periodMs;
  return { problem: `period must be a duration from 1s to 7d, such as 30s or 5m, not ${shown(text)}` };
}

function isRefusal(value: number | null | Refusal): value is Refusal {
  return typeof value === 'object' && value !== null;
}

function parsePairs(text: string): ReadonlyMap<string, string> | Refusal {
  const pairs = new Map<string, string>();
  for (const part of text.split(',')) {
    if (part.trim() === '') continue;
    const equals = part.indexOf('=');
    if (equals === -1) return { problem: `${shown(part)} has no "=", ${EXAMPLE}` };
    const written = part.slice(0, equals);
    const name = NAMES.find((each) => each.toLowerCase() === written.trim().toLowerCase());
    if (name === undefined) return { problem: `${shown(written)} is not known, ${EXAMPLE}` };
    if (pairs.has(name)) return { problem: `${name} is given twice` };
    pairs.set(name, part.slice(equals + 1).trim());
  }
  return pairs;
}

export interface Admission {
  /** How many messages may start now. Infinite when no limit applies. */
  readonly free: number;
  /** When the next message may start, if only the rate blocks it. Null if nothing or something else blocks it. */
  readonly nextAt: number | null;
  /** The state with the window that contains `now`. `stateAfterStarts` continues from it. */
  readonly state: FlowState;
}

export function admit(state: FlowState, limits: FlowLimits, now: number): Admission {
  const current = inWindow(state, limits.periodMs, now);
  const freeByParallelism = left(limits.parallelism, current.active);
  const freeByRate = left(limits.rate, current.windowCount);
  if (current.isPaused || freeByParallelism === 0) return { free: 0, nextAt: null, state: current };
  const nextAt = freeByRate === 0 ? current.windowStartAt + limits.periodMs : null;
  return { free: Math.min(freeByParallelism, freeByRate), nextAt, state: current };
}

/**
 * How many of the messages that may start are admitted. At most `unstartedMax` messages of one key are admitted and not
 * started, because a change of its limits checks all of them again in one transaction. The others wait for the key.
 */
export function admittedCount({ free }: Admission, unstarted: number, unstartedMax: number): number {
  return Math.min(free, Math.max(0, unstartedMax - unstarted));
}

/** Instead of a time: the key admits more when an admitted message starts. */
export const AT_NEXT_START = NEVER_AT;

/**
 * When a key with waiting messages can admit more. Null when it waits for an end, or that a person resumes it.
 * `isFull`: as many messages as possible are admitted and not started.
 */
export function nextStartAt({ free, nextAt }: Admission, isFull: boolean, now: number): number | null {
  if (free === 0) return nextAt;
  return isFull ? AT_NEXT_START : now;
}

/** The state after `count` messages were admitted. `state` is the one that `admit` returned. */
export function stateAfterStarts(state: FlowState, count: number, now: number): FlowState {
  if (count === 0) return state;
  return {
    ...state,
    active: state.active + count,
    // A window begins with its first start, not with the first check.
    windowStartAt: state.windowCount === 0 ? now : state.windowStartAt,
    windowCount: state.windowCount + count,
  };
}

/**
 * The state with the window for `now`. If this clock is behind the one that opened the window, the window stays:
 * otherwise two nodes with different clocks would open new windows in turn, and the rate would not hold. If it is
 * behind by more than clocks may differ, the window moves back and keeps its count: otherwise a clock that was once a
 * year ahead would block the key for a year.
 */
function inWindow(state: FlowState, periodMs: number, now: number): FlowState {
  if (now >= state.windowStartAt + periodMs) return { ...state, windowStartAt: now, windowCount: state.unstarted };
  if (now < state.windowStartAt - Math.max(periodMs, CLOCK_STEP_MS_MAX)) return { ...state, windowStartAt: now };
  return state;
}

function left(max: number | null, used: number): number {
  return max === null ? Number.POSITIVE_INFINITY : Math.max(0, max - used);
}

function shown(text: string): string {
  return JSON.stringify(text.trim().slice(0, 40));
}
