// The goals of a release, held against the rows of one run. Times were set on a machine where the floor takes 83 µs for
// a message, so they are multiples of the floor here.

import { formatted, type Row } from './part.ts';
import { divided } from './verdicts.ts';

export const REFERENCE = 'floor: store in a worker, signed';
export const OURS = 'Postrider on SQLite';
const ON_POSTGRES = 'Postrider on PostgreSQL';
const THREE = `${ON_POSTGRES}, 3 nodes`;
/** What three nodes are for: each has as much to do as one had. */
export const THREE_BUSY = `${THREE}, each with as many publishers as 1`;
export const SLOW = ', a flush takes 1 ms longer, a connection for each request';
export const LANES_NAMES: Readonly<Record<number, string>> = { 1: '1 lane', 2: '2 lanes', 4: '4 lanes' };
export const AT_REST = 'at rest, from the package';

/** What the floor took where the times were set. */
const FLOOR_US = 83;
/** A share of the accepted messages that is delivered a moment later is no backlog. */
const NO_BACKLOG = 0.98;

export interface Goal {
  readonly goal: string;
  readonly measured: string;
  readonly verdict: 'met' | '**missed**' | 'not measured';
}

export function goals(rows: readonly Row[]): Goal[] {
  const value = (row: string, key: string) => numberOf(rows, row, key);
  const both = (row: string) => bothUs(rows, row);
  const floorUs = value(REFERENCE, 'cpuUs');
  const timesFloor = (us: number) => us / FLOOR_US;
  const flushed = rows.filter(({ name, text }) => isPeer(name) && /^(fsync|commit)/.test(text?.durability ?? ''));
  return [
    atLeast('delivered/s, of the floor', divided(value(OURS, 'delivered'), value(REFERENCE, 'delivered')), 0.65),
    ...flushed.map(({ name, numbers }) => {
      const ours = value(name.includes('PostgreSQL') ? ON_POSTGRES : OURS, 'delivered');
      return atLeast(`delivered/s, times ${name}`, divided(ours, numbers.delivered ?? null), 1.8);
    }),
    atMost('CPU a message, all threads, times the floor', divided(value(OURS, 'cpuUs'), floorUs), timesFloor(140)),
    atMost('bytes allocated a message', value(OURS, 'allocatedBytes'), 25_000),
    atMost(
      'CPU a message of the busiest thread with 4 lanes, times the floor',
      divided(value(LANES_NAMES[4]!, 'busiestUs'), floorUs),
      timesFloor(55),
    ),
    atMost(
      'CPU a message of node and PostgreSQL, times the floor',
      divided(both(ON_POSTGRES), floorUs),
      timesFloor(300),
    ),
    atLeast(
      'delivered of accepted on PostgreSQL',
      divided(value(ON_POSTGRES, 'delivered'), value(ON_POSTGRES, 'accepted')),
      NO_BACKLOG,
    ),
    atMost(
      'CPU a message with 3 nodes, each with as many publishers as 1, times 1 node',
      divided(both(THREE_BUSY), both(ON_POSTGRES)),
      1.15,
    ),
    atLeast(
      'delivered/s on a slow disk, of the floor',
      divided(value(OURS + SLOW, 'delivered'), value(REFERENCE + SLOW, 'delivered')),
      0.7,
    ),
    atMost('memory at rest, MB', value(AT_REST, 'rssMb'), 110),
    atMost('memory when saturated, MB', value(OURS, 'rssMb'), 300),
  ];
}

/** No goal: what it costs to run more nodes than the load needs. */
export function sharingText(rows: readonly Row[]): string {
  const times = formatted(divided(bothUs(rows, THREE), bothUs(rows, ON_POSTGRES)));
  return `Three nodes that share the publishers of one take ${times} times its CPU for a message.`;
}

function numberOf(rows: readonly Row[], row: string, key: string): number | null {
  return rows.find(({ name }) => name === row)?.numbers[key] ?? null;
}

/** Of node and database. */
function bothUs(rows: readonly Row[], row: string): number | null {
  return sum(numberOf(rows, row, 'cpuUs'), numberOf(rows, row, 'databaseCpuUs'));
}

function isPeer(name: string): boolean {
  return !/^(floor|Postrider|\d+ lanes?$|at rest)/.test(name);
}

function atLeast(what: string, measured: number | null, least: number): Goal {
  return judged(`${what} ≥ ${formatted(least)}`, measured, measured !== null && measured >= least);
}

function atMost(what: string, measured: number | null, most: number): Goal {
  return judged(`${what} ≤ ${formatted(most)}`, measured, measured !== null && measured <= most);
}

function judged(goal: string, measured: number | null, isMet: boolean): Goal {
  const verdict = measured === null ? 'not measured' : isMet ? 'met' : '**missed**';
  return { goal, measured: formatted(measured), verdict };
}

function sum(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one + other;
}
