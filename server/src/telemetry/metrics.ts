// Metrics in the text format that Prometheus reads. The registry is our own: a few counters and gauges need no
// dependency. No metric distinguishes accounts, except for the few that use most of the event loop's time.

import type { EngineEvent } from '../delivery/engine/engine.ts';
import type { Attempt, MessageKind, Settlement } from '../rules/delivery/message.ts';
import { afterCancel } from '../rules/delivery/settle.ts';
import type { AcceptAnswer, LastKeptTime } from '../store/ports/delivery-store.ts';
import type { Store } from '../store/ports/store.ts';

interface Family {
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** The values by label set, as it is written between the braces. */
  readonly values: ReadonlyMap<string, number>;
}

interface Registered extends Family {
  readonly read: (() => number | ReadonlyMap<string, number>) | null;
  readonly isOfProcess: boolean;
}

/** The metrics of one lane by name, as they can be sent to another thread. */
export type MetricValues = ReadonlyMap<string, Family & { readonly isOfProcess: boolean }>;

interface SharedPool {
  readonly max: number;
  readonly used: number;
  /** Absent for a pool that refuses nothing: there, work without room waits. */
  readonly refused?: Readonly<Record<'account' | 'node', number>>;
}

export class Metrics {
  readonly #families = new Map<string, Registered>();
  readonly #pools = new Map<string, { readonly pool: SharedPool; readonly showsSize: boolean }>();

  /**
   * A number that only grows. `labels` is the text between the braces, because this is called for every message. Each
   * label has few values, all of our own: never an id, a URL or a user's name.
   */
  counter(name: string, help: string): (labels?: string, by?: number) => void {
    const values = new Map<string, number>();
    this.#families.set(name, { type: 'counter', help, values, read: null, isOfProcess: false });
    return (labels = '', by = 1) => {
      values.set(labels, (values.get(labels) ?? 0) + by);
    };
  }

  /** `ofProcess`: every lane has the same value, so their values are not added up. */
  gauge(name: string, help: string, read: () => number, ofProcess: 'ofProcess' | null = null): void {
    this.#families.set(name, { type: 'gauge', help, values: new Map(), read, isOfProcess: ofProcess !== null });
  }

  /** Several numbers, by label set. There must be few of them. */
  gauges(name: string, help: string, read: () => ReadonlyMap<string, number>): void {
    this.#families.set(name, { type: 'gauge', help, values: new Map(), read, isOfProcess: false });
  }

  /**
   * A pool that accounts share, under its name in the table of budgets. If all lanes share the pool, one lane shows its
   * size, and each lane shows how much it holds itself.
   */
  pool(name: string, pool: SharedPool, showsSize = true): void {
    this.#pools.set(name, { pool, showsSize });
  }

  values(): MetricValues {
    const all = new Map([...this.#families].map(([name, { read, ...family }]) => [name, withValue(family, read)]));
    if (this.#pools.size === 0) return all;
    const family = (
      type: Family['type'],
      help: string,
      read: (pool: SharedPool, showsSize: boolean) => readonly [string, number][],
    ) => {
      const values = [...this.#pools].flatMap(([key, { pool, showsSize }]) =>
        read(pool, showsSize).map(([labels, value]) => [`pool="${key}"${labels}`, value] as const),
      );
      return { type, help, values: new Map(values), isOfProcess: false };
    };
    return all
      .set(
        'postrider_pool_used',
        family('gauge', 'Used amount of a pool that all accounts share.', ({ used }) => [['', used]]),
      )
      .set(
        'postrider_pool_max',
        family('gauge', 'Size of the pool.', ({ max }, showsSize) => [['', showsSize ? max : 0]]),
      )
      .set(
        'postrider_pool_refused_total',
        family('counter', 'Refusals of a pool: the account had used its share, or the pool was full.', ({ refused }) =>
          refused
            ? [
                [',why="account"', refused.account],
                [',why="node"', refused.node],
              ]
            : [],
        ),
      );
  }
}

function withValue<F extends Family>(family: F, read: Registered['read']): F {
  if (read) {
    const value = read();
    return { ...family, values: typeof value === 'number' ? new Map([['', value]]) : value };
  }
  return family.values.size === 0 ? { ...family, values: new Map([['', 0]]) } : family;
}

/** The metrics of all lanes of a process as one text. The first lane provides what is the same in all of them. */
export function metricsText([first, ...others]: readonly MetricValues[]): string {
  const lines: string[] = [];
  for (const [name, { type, help, values, isOfProcess }] of first!) {
    const further = isOfProcess ? [] : others.map((other) => other.get(name)?.values ?? []);
    const sums = sumsOf([values, ...further]);
    // A lane that has not counted yet has the value 0 without labels.
    if (sums.size > 1) sums.delete('');
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const [labels, value] of sums) lines.push(labels === '' ? `${name} ${value}` : `${name}{${labels}} ${value}`);
  }
  return `${lines.join('\n')}\n`;
}

function sumsOf(all: readonly Iterable<[labels: string, value: number]>[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const values of all) {
    for (const [labels, value] of values) sums.set(labels, (sums.get(labels) ?? 0) + value);
  }
  return sums;
}

/** Adds up the counters of both. Gauges are left out, because they describe the current state. */
export function addCounters(some: MetricValues, more: MetricValues): MetricValues {
  const sums = new Map(some);
  for (const [name, family] of more) {
    if (family.type !== 'counter') continue;
    sums.set(name, { ...family, values: sumsOf([sums.get(name)?.values ?? [], family.values]) });
  }
  return sums;
}

/** How a message was created. Each message is counted once, on the node that accepted it. */
const WAYS_IN = {
  publish: 'way="publish"',
  schedule: 'way="schedule"',
  callback: 'way="callback"',
  failureCallback: 'way="failureCallback"',
  alert: 'way="alert"',
  retry: 'way="retry"',
} satisfies Record<MessageKind | 'retry', string>;

const ENDS = { delivered: 'state="delivered"', failed: 'state="failed"', cancelled: 'state="cancelled"' };

export type MessageCounters = ReturnType<typeof messageCounters>;

export function messageCounters(metrics: Metrics) {
  const countAccepted = metrics.counter(
    'postrider_messages_accepted_total',
    'Messages accepted, by source: publish, schedule, callback, alert, or retry of a dead letter.',
  );
  const countEnded = metrics.counter('postrider_messages_ended_total', 'Messages that have ended, by state.');
  return {
    accepted(way: keyof typeof WAYS_IN, by: number): void {
      if (by > 0) countAccepted(WAYS_IN[way], by);
    },
    ended(state: keyof typeof ENDS, by: number): void {
      if (by > 0) countEnded(ENDS[state], by);
    },
  };
}

function countIds(ids: readonly (string | null)[]): number {
  let count = 0;
  for (const id of ids) if (id !== null) count += 1;
  return count;
}

/**
 * Wraps the store and counts what is accepted and cancelled. The results of settlements are counted from the engine's
 * events. `noteWrite` gets the error of a failed acceptance or heartbeat, or null after one that succeeded. Heartbeats
 * are included because they are written even while nobody publishes.
 */
export function countingStore(
  store: Store,
  { accepted, ended }: MessageCounters,
  noteWrite: (error: unknown) => void,
): Store {
  return {
    ...store,
    async heartbeat(node, ttlMs, time) {
      let heard: LastKeptTime;
      try {
        heard = await store.heartbeat(node, ttlMs, time);
      } catch (error) {
        noteWrite(error);
        throw error;
      }
      noteWrite(null);
      return heard;
    },
    // Not async, because each publish passes here and `then` allocates half as much.
    accept(messages, now, dayMax) {
      const count = (answer: AcceptAnswer) => {
        noteWrite(null);
        if (answer.isOverQuota) return answer;
        // All messages of one request have the same kind.
        accepted(messages[0]?.kind ?? 'publish', messages.length - countIds(answer.duplicates));
        return answer;
      };
      return store.accept(messages, now, dayMax).then(count, (error) => {
        noteWrite(error);
        throw error;
      });
    },
    async fireSchedules(ticks, now) {
      const made = await store.fireSchedules(ticks, now);
      accepted(
        'schedule',
        made.reduce<number>((sum, count) => sum + (typeof count === 'number' ? count : 0), 0),
      );
      return made;
    },
    async notifyAlerts(evaluated, now) {
      const results = await store.notifyAlerts(evaluated, now);
      accepted('alert', results.filter((each) => each === 'notified').length);
      return results;
    },
    async retryDeadLetters(retries, now, dayMax) {
      const isRetried = await store.retryDeadLetters(retries, now, dayMax);
      if (isRetried !== 'overQuota') accepted('retry', isRetried.filter(Boolean).length);
      return isRetried;
    },
    async runJobStep(accountId, id, work, step) {
      const done = await store.runJobStep(accountId, id, work, step);
      if (work.action === 'retry') accepted('retry', done);
      if (work.action === 'cancel') ended('cancelled', done);
      return done;
    },
    async cancel(accountId, messageIds, now, expiresAt) {
      const answer = await store.cancel(accountId, messageIds, now, expiresAt);
      ended('cancelled', answer.cancelled.length + answer.requested.length);
      return answer;
    },
  };
}

interface ShownClock {
  readonly isBelieved: boolean;
  readonly aheadMs: number;
  readonly offMs: number;
}

/** Shows the time that the node uses, and how far the wall clock is from it. */
export function showClock(metrics: Metrics, clock: ShownClock): void {
  metrics.gauge(
    'postrider_clock_believed',
    '1 while the node trusts the wall clock, 0 after the clock has jumped.',
    () => (clock.isBelieved ? 1 : 0),
    'ofProcess',
  );
  metrics.gauge(
    'postrider_clock_ahead_seconds',
    'How far the wall clock is ahead of the time that the node uses.',
    () => clock.aheadMs / 1000,
    'ofProcess',
  );
  metrics.gauge(
    'postrider_clock_off_seconds',
    "How far the time of this node was ahead of the database's clock when it was last corrected.",
    () => clock.offMs / 1000,
    'ofProcess',
  );
}

/** Limit for the accounts that the metrics of the event loop name, for each lane. */
const NAMED_MAX = 5;

interface SharedLoop {
  readonly waits: number;
  most(count: number): { readonly accounts: readonly (readonly [string, number])[]; readonly unknownMs: number };
}

/** Shows who uses the event loop's time. Accounts are named only where not everybody can read the metrics. */
export function showLoop(metrics: Metrics, loop: SharedLoop, isHidden: boolean): void {
  metrics.gauges(
    'postrider_loop_used_seconds',
    'Time of the event loop used for callers in the last one to two seconds: the accounts that used most, and all callers without a known token. Accounts have their ids with --metrics-token or --metrics-port, else a rank.',
    () => {
      const { accounts, unknownMs } = loop.most(NAMED_MAX);
      const labels = (id: string, index: number) => (isHidden ? `account="${id}"` : `rank="${index + 1}"`);
      const most = accounts.map(([id, ms], index) => [labels(id, index), ms / 1000] as const);
      return new Map([['account="none"', unknownMs / 1000], ...most]);
    },
  );
  metrics.gauge(
    'postrider_loop_waits',
    'How often a caller had to wait for its turn, because it had used more than its share of a busy event loop, since the start.',
    () => loop.waits,
  );
}

/** The label texts, by outcome and class of status. Each is built once. */
const ATTEMPT_LABELS = new Map<Attempt['outcome'], Map<number, string>>();

function attemptLabels(outcome: Attempt['outcome'], status: number | null): string {
  const group = status === null ? 0 : Math.floor(status / 100);
  const known = ATTEMPT_LABELS.get(outcome)?.get(group);
  if (known !== undefined) return known;
  const labels = `outcome="${outcome}",status="${status === null ? 'none' : `${group}xx`}"`;
  const groups = ATTEMPT_LABELS.get(outcome) ?? new Map<number, string>();
  ATTEMPT_LABELS.set(outcome, groups.set(group, labels));
  return labels;
}

/** Counts attempts, ends and callbacks as the engine reports them. */
export function countEngine(metrics: Metrics, { accepted, ended }: MessageCounters): (event: EngineEvent) => void {
  const attempts = metrics.counter(
    'postrider_attempts_total',
    'Attempts that have ended, by outcome and status class.',
  );
  const held = metrics.counter(
    'postrider_messages_held_total',
    'Times a message was held, because the server crashed repeatedly while only this message was in flight.',
  );
  const trouble = metrics.counter(
    'postrider_engine_troubles_total',
    'Times the delivery engine failed and tried again.',
  );
  const strays = metrics.counter(
    'postrider_stray_claims_total',
    'Messages that were leased to this node without its knowledge and were given back.',
  );
  const seconds = metrics.counter('postrider_attempt_seconds_total', 'Time spent in attempts.');
  const countNext = (state: Settlement['next']['state']) => {
    if (state === 'held') held();
    else if (state !== 'pending') ended(state, 1);
  };
  return (event) => {
    if (event.kind === 'trouble') return trouble(`during="${event.during}"`);
    if (event.kind === 'strays') return strays(undefined, event.count);
    const { attempt, next } = event.settlement;
    attempts(attemptLabels(attempt.outcome, attempt.status));
    // For an attempt cut off by a crash, `endedAt` is when the crash was found, not when it happened.
    if (attempt.outcome !== 'interrupted') seconds(undefined, Math.max(0, attempt.endedAt - attempt.startedAt) / 1000);
    if (event.result === 'lost') return;
    const { followUps } = event.result === 'settled' ? event.settlement : afterCancel(event.settlement);
    for (const { kind } of followUps) accepted(kind, 1);
    if (event.result === 'settled') countNext(next.state);
  };
}
