// What must have happened at least once over the seeds of a run. A run in which one of these never happened proves
// nothing about it: the generator is weak.

import type { Fate } from './network.ts';

const FATES: readonly Fate[] = [
  'ok',
  'redirect',
  'clientError',
  'serverError',
  'tooMany',
  'status489',
  'markedFinal',
  'slow',
  'hang',
  'resetAfter',
  'resetBefore',
  'connectHang',
  'refusedByPolicy',
];

const EDGES = [
  'accepted as ready',
  'accepted as delayed',
  'accepted into a queue',
  'accepted as claimed',
  'accepted with a shared body',
  'claim',
  'claim of a retry',
  'claim from a queue',
  'claim in place of one that ended',
  'expired while it waited',
  'expired before a retry',
  'retry',
  'repeat after an interruption',
  'delivered',
  'delivered after a retry',
  'failed by exhaustion',
  'failed by refusal',
  'failed by 489',
  'repeat after a drain',
  'pause after an interruption',
  'claim alone',
  'held',
  'release of what was held',
  'cancelled while pending',
  'cancelled while claimed',
  'cancelled while held',
  'cancelled too late',
  'changed before the first attempt',
  'changed between two attempts',
  'changed the time of one in a queue',
  'change refused while claimed',
  'changed too late',
  'change of the version that was read',
  'change of another version refused',
  'changed the priority',
  'changed the expiry',
  'changed the outage',
  'changed how long an ack is awaited',
  'taken for a duplicate',
  'took the place of one that waits',
  'is due at the latest of its key',
  'debounced in another line refused',
  'host parked',
  'probe failed',
  'host resumed',
  'two at once at a host that opens',
  'host open again',
  'failed while its host opened',
  'answered with 202',
  'ack of success',
  'ack of a failure',
  'ack of progress',
  'ack before the response',
  'ack for an attempt before',
  'ack refused: the attempt is over',
  'no ack in time',
  'cancelled while its ack was awaited',
  'settle of an ack lost to another',
  'tick made',
  'tick made later by its jitter',
  'tick skipped',
  'recorded after a cancel',
  'given back to be cancelled',
  'cancel requested, not confirmed',
  'settle lost to a takeover',
  'orphan takeover',
  'release',
  'claims given back that a node did not know of',
  'callback made',
  'failure callback made',
] as const;

const FAULTS = [
  'crash',
  'crash with attempts in flight',
  'crash with a publish in flight',
  'crash after the commit, before the answer',
  'crash of every node',
  'crash by poison',
  'arrival of a request that was given up',
  'freeze',
  'node taken for dead while it lives',
  'store away',
  'answer of the store lost',
  'stop',
  'stop that cuts attempts off',
  'clock set forward',
  'clock set back',
  'clock ten days ahead for a while',
  'clock not believed',
  'clock believed again',
  'pause',
  'resume',
  'parallelism lowered',
  'priority of a queue',
  'crowd at a slow host',
  'receiver down',
  'host parked by hand',
  'host resumed by hand',
  'flow key pinned',
  'flow key paused',
  'schedule changed',
  'change of another version of a schedule refused',
  'schedule paused or resumed',
  'publish refused by a limit',
  'publish refused by the store',
] as const;

export type Happening = (typeof EDGES)[number] | (typeof FAULTS)[number] | `fate ${Fate}`;

export const HAPPENINGS: readonly Happening[] = [...EDGES, ...FAULTS, ...FATES.map((fate) => `fate ${fate}` as const)];

export type Coverage = Map<Happening, number>;

export function note(coverage: Coverage, happening: Happening, times = 1): void {
  coverage.set(happening, (coverage.get(happening) ?? 0) + times);
}

export function addCoverage(total: Coverage, part: Coverage): void {
  for (const [happening, times] of part) note(total, happening, times);
}

export function missing(coverage: Coverage): Happening[] {
  return HAPPENINGS.filter((happening) => !coverage.has(happening));
}
