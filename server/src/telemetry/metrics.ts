// Numbers for a monitoring system, in the text format that Prometheus reads. A small registry of ours: a few counters
// and gauges need no dependency. Nothing here tells one account from another.

import type { EngineEvent } from '../delivery/engine.ts';
import type { AcceptAnswer, Store } from '../store/store.ts';

interface Family {
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** By label set, as it is written between the braces. */
  readonly values: Map<string, number>;
  readonly read: (() => number) | null;
}

interface SharedPool {
  readonly max: number;
  readonly used: number;
  /** Not of a pool that refuses nothing, because what finds no room waits. */
  readonly refused?: Readonly<Record<'account' | 'node', number>>;
}

export class Metrics {
  readonly #families = new Map<string, Family>();
  readonly #pools = new Map<string, SharedPool>();

  /**
   * A number that only grows. Labels come as they are written between the braces, because this is called for every
   * message; they have few values each, all of our own: never an id, a URL or a name of a user's.
   */
  counter(name: string, help: string): (labels?: string, by?: number) => void {
    const values = new Map<string, number>();
    this.#families.set(name, { type: 'counter', help, values, read: null });
    return (labels = '', by = 1) => {
      values.set(labels, (values.get(labels) ?? 0) + by);
    };
  }

  gauge(name: string, help: string, read: () => number): void {
    this.#families.set(name, { type: 'gauge', help, values: new Map(), read });
  }

  /** A pool that accounts share, under its name in the table of budgets. */
  pool(name: string, pool: SharedPool): void {
    this.#pools.set(name, pool);
  }

  text(): string {
    const lines: string[] = [];
    for (const [name, { type, help, values, read }] of this.#families) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
      if (read) lines.push(`${name} ${read()}`);
      else if (values.size === 0) lines.push(`${name} 0`);
      for (const [labels, value] of values)
        lines.push(labels === '' ? `${name} ${value}` : `${name}{${labels}} ${value}`);
    }
    return `${[...lines, ...this.#poolLines()].join('\n')}\n`;
  }

  #poolLines(): string[] {
    if (this.#pools.size === 0) return [];
    const family = (
      name: string,
      type: Family['type'],
      help: string,
      values: (pool: SharedPool) => [string, number][],
    ) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      ...[...this.#pools].flatMap(([key, pool]) =>
        values(pool).map(([labels, value]) => `${name}{pool="${key}"${labels}} ${value}`),
      ),
    ];
    return [
      ...family('postrider_pool_used', 'gauge', 'What is held of a pool that accounts share.', ({ used }) => [
        ['', used],
      ]),
      ...family('postrider_pool_max', 'gauge', 'The most that a pool holds.', ({ max }) => [['', max]]),
      ...family(
        'postrider_pool_refused_total',
        'counter',
        'Refusals of a pool: the account had its share, or the node was full.',
        ({ refused }) =>
          refused
            ? [
                [',why="account"', refused.account],
                [',why="node"', refused.node],
              ]
            : [],
      ),
    ];
  }
}

/**
 * The store with its acceptances counted: every way in goes through it. `noteWrite` is told why one failed, or null; and the
 * same of the signs of life, which are written also while nobody publishes.
 */
export function countingStore(store: Store, metrics: Metrics, noteWrite: (error: unknown) => void): Store {
  const accepted = metrics.counter('postrider_messages_accepted_total', 'Messages accepted, callbacks not included.');
  return {
    ...store,
    async accept(messages, now, dayMax) {
      let answer: AcceptAnswer;
      try {
        answer = await store.accept(messages, now, dayMax);
      } catch (error) {
        noteWrite(error);
        throw error;
      }
      noteWrite(null);
      if (!answer.isOverQuota)
        accepted(undefined, messages.length - answer.duplicates.filter((id) => id !== null).length);
      return answer;
    },
    async heartbeat(node, ttlMs) {
      try {
        await store.heartbeat(node, ttlMs);
      } catch (error) {
        noteWrite(error);
        throw error;
      }
      noteWrite(null);
    },
  };
}

/** Counts attempts and ends as the engine reports them. */
export function countEngine(metrics: Metrics): (event: EngineEvent) => void {
  const attempts = metrics.counter(
    'postrider_attempts_total',
    'Attempts that have ended, by outcome and class of status.',
  );
  const ended = metrics.counter(
    'postrider_messages_ended_total',
    'Messages that have ended, by state; cancelled ones not included.',
  );
  const held = metrics.counter(
    'postrider_messages_held_total',
    'Times a message was held, because it was in flight alone at crash after crash.',
  );
  const trouble = metrics.counter(
    'postrider_engine_troubles_total',
    'Times the engine could not go on and tried again.',
  );
  const seconds = metrics.counter('postrider_attempt_seconds_total', 'Time spent in attempts.');
  return (event) => {
    if (event.kind === 'trouble') return trouble(`during="${event.during}"`);
    const { attempt, next } = event.settlement;
    const status = attempt.status === null ? 'none' : `${Math.floor(attempt.status / 100)}xx`;
    attempts(`outcome="${attempt.outcome}",status="${status}"`);
    // Nobody knows when a crash cut an attempt off, only when that was found.
    if (attempt.outcome !== 'interrupted') seconds(undefined, Math.max(0, attempt.endedAt - attempt.startedAt) / 1000);
    if (event.result !== 'settled') return;
    if (next.state === 'held') held();
    else if (next.state !== 'pending') ended(`state="${next.state}"`);
  };
}
