// Orders are commands for a manual clock: advance by a span, advance to an instant, stop, or run.

import type { Claim } from '../delivery/message.ts';
import { type Problem, problem } from '../requests/problem.ts';
import { parseAnyDurationMs } from './duration.ts';

/**
 * Limit for one advance. Ten years are longer than any delay and any retention time, and short enough that all cron
 * ticks within them can be made.
 */
export const ADVANCE_MS_MAX = 3660 * 86_400_000;
/** The latest time of a manual clock. Cron expressions, dates in JSON and ids allow no later time. */
export const MANUAL_TIME_MAX = Date.UTC(9999, 0, 1);
/**
 * Limit for how often one advance stops because something becomes due. It is enough for an hourly schedule over ten
 * years, or a schedule of every minute over two months. More would take hours of real time, during which no other order
 * is carried out.
 */
export const ADVANCE_STEPS_MAX = 100_000;
/** How long, in real time, an advance waits at most for an attempt to end, unless the order sets `wait`. */
export const WAIT_MS_DEFAULT = 10_000;
/** Limit for `wait`: the longest timeout of an attempt, by the default limits of the tiers. */
export const WAIT_MS_MAX = 2 * 3_600_000;

/** The order in the body of a request. */
export interface ManualClockOrderBody {
  readonly advance?: string | number;
  readonly advanceTo?: string | number;
  readonly freeze?: true;
  readonly run?: true;
  readonly wait?: string | number;
}

/**
 * `to` returns the instant to advance to. It is called only when the order is carried out, because other orders may
 * move the clock before that.
 */
export type ManualClockOrder =
  | { readonly kind: 'advance'; readonly to: (now: number) => number | Problem; readonly waitMs: number }
  | { readonly kind: 'freeze' }
  | { readonly kind: 'run' };

/** The result of an order. `underWay`: the attempts that are still in flight after it. */
export type ManualClockOrderResult =
  | { readonly kind: 'done'; readonly underWay: readonly Claim[] }
  | { readonly kind: 'refused'; readonly problem: Problem };

const ORDERS = ['advance', 'advanceTo', 'freeze', 'run'] as const;

export function readManualClockOrder(body: ManualClockOrderBody): ManualClockOrder | { readonly problem: Problem } {
  const given = ORDERS.filter((name) => body[name] !== undefined);
  if (given.length !== 1) return problem('bad_body', `give exactly one of ${ORDERS.join(', ')}`);
  if (body.wait !== undefined && body.advance === undefined && body.advanceTo === undefined) {
    return problem('bad_body', 'wait: allowed only together with advance or advanceTo');
  }
  if (body.freeze) return { kind: 'freeze' };
  if (body.run) return { kind: 'run' };
  const waitMs = body.wait === undefined ? WAIT_MS_DEFAULT : parseAnyDurationMs(String(body.wait));
  if (waitMs === null) return problem('bad_body', 'wait: must be a duration such as 10s');
  if (waitMs > WAIT_MS_MAX) return problem('bad_body', 'wait: must be at most 2h');
  const to = body.advance === undefined ? instantOf(body.advanceTo!) : spanOf(body.advance);
  return 'problem' in to ? to : { kind: 'advance', to: to.to, waitMs };
}

type To = { readonly to: (now: number) => number | Problem };

function spanOf(value: string | number): To | { readonly problem: Problem } {
  const ms = parseAnyDurationMs(String(value));
  if (ms === null) return problem('bad_body', 'advance: must be a duration such as 1h, 1d12h or 250ms, or seconds');
  if (ms === 0 && /[1-9]/.test(String(value)))
    return problem('bad_body', 'advance: the smallest step is 1ms; 0 waits for what is due already');
  if (ms > ADVANCE_MS_MAX) return problem('bad_body', `advance: must be at most ${ADVANCE_MS_MAX / 86_400_000}d`);
  return { to: (now) => withinReach('advance', now + ms) };
}

/** An ISO date with a time and a time zone. */
const ISO_INSTANT = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;

function instantOf(value: string | number): To | { readonly problem: Problem } {
  const at = typeof value === 'number' ? value : parseInstant(value);
  if (!Number.isSafeInteger(at)) {
    return problem(
      'bad_body',
      'advanceTo: must be an instant such as 2030-01-01T00:00:00Z, or milliseconds since 1970',
    );
  }
  return {
    to: (now) => {
      if (at < now) {
        const shown = new Date(now).toISOString();
        return { code: 'bad_body', message: `advanceTo: it is ${shown} already, and a clock never goes back` };
      }
      if (at - now > ADVANCE_MS_MAX) {
        return { code: 'bad_body', message: `advanceTo: must be at most ${ADVANCE_MS_MAX / 86_400_000} days ahead` };
      }
      return withinReach('advanceTo', at);
    },
  };
}

/** Returns NaN if the text is invalid: 31 November is not taken for 1 December. */
function parseInstant(text: string): number {
  const date = ISO_INSTANT.exec(text)?.[1];
  const day = Date.parse(date ?? '');
  const isDay = !Number.isNaN(day) && new Date(day).toISOString().slice(0, date!.length) === date;
  return isDay ? Date.parse(text) : Number.NaN;
}

function withinReach(field: string, at: number): number | Problem {
  if (at <= MANUAL_TIME_MAX) return at;
  return { code: 'bad_body', message: `${field}: the time of a manual clock ends in the year 9999` };
}
