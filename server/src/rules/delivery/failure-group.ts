// Groups dead letters with the same cause: one group for each host and failure text, so that a thousand failures of one
// receiver appear as one problem.

import type { Message } from './message.ts';

/** The fields of a dead letter that grouping needs. */
export type FailureFact = Pick<Message, 'id' | 'url' | 'host' | 'lastStatus' | 'createdAt'> & {
  readonly failure: string;
  readonly endedAt: number;
};

export interface FailureGroup {
  readonly host: string;
  /** Why the messages failed, as text. The filter `failure` matches exactly this text. */
  readonly failure: string;
  readonly status: number | null;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** When the oldest message of the group was accepted. */
  readonly createdAtMin: number;
  /** The message that failed last. */
  readonly sample: Pick<Message, 'id' | 'url'>;
}

/**
 * Groups dead letters, the largest group first. Of two groups of equal size, the one with the latest failure comes
 * first.
 */
export function groupFailures(facts: Iterable<FailureFact>): FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const fact of facts) {
    const key = `${fact.host} ${fact.failure}`;
    const before = groups.get(key);
    const isLatest = !before || fact.endedAt > before.lastAt;
    groups.set(key, {
      host: fact.host,
      failure: fact.failure,
      status: isLatest ? fact.lastStatus : before.status,
      count: (before?.count ?? 0) + 1,
      firstAt: Math.min(before?.firstAt ?? fact.endedAt, fact.endedAt),
      lastAt: Math.max(before?.lastAt ?? fact.endedAt, fact.endedAt),
      createdAtMin: Math.min(before?.createdAtMin ?? fact.createdAt, fact.createdAt),
      sample: isLatest ? { id: fact.id, url: fact.url } : before.sample,
    });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || b.lastAt - a.lastAt);
}
