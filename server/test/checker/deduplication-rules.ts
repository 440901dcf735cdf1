// Deduplication, by what the store did: a key makes one message within its window, unless that message has failed or is to
// be cancelled; and only what has its key already is a duplicate.

import type { Evidence } from './evidence.ts';

export function* duplicates({ history }: Evidence): Iterable<string> {
  const holders = new Map<string, { readonly id: string; readonly until: number }>();
  const keyOf = new Map<string, string>();
  /** A publish of a node that was frozen on its way comes with an old time, when an id that was over is forgotten. */
  let latestAt = Number.NEGATIVE_INFINITY;
  for (const step of history.steps ?? []) {
    if ('at' in step) latestAt = Math.max(latestAt, step.at);
    if (step.kind === 'accepted' && step.deduplication) {
      const { key, until } = step.deduplication;
      const holder = holders.get(key);
      if (holder && latestAt < holder.until) yield `${step.id} was accepted, although ${holder.id} has its id ${key}`;
      holders.set(key, { id: step.id, until });
      keyOf.set(step.id, key);
    } else if (step.kind === 'duplicate') {
      const holder = holders.get(step.key);
      const isRight = holder?.id === step.of && step.at < holder.until;
      if (!isRight) yield `a publish was taken for a duplicate of ${step.of}, which does not have the id ${step.key}`;
    } else if (step.kind === 'cancelRequested' || (step.kind === 'ended' && step.how !== 'delivered')) {
      const key = keyOf.get(step.id);
      if (key !== undefined && holders.get(key)?.id === step.id) holders.delete(key);
    }
  }
}
