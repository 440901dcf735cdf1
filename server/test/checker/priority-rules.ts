// Priorities, by what the store did: of the ready messages of an account to a host the one with the highest level starts
// first, and a level rises by one each minute. So a message that waits is overtaken only by what outranks it, and by nothing
// that came after it by as many minutes as there are levels; and by a few that start on another way than from the line.

import type { Evidence } from './evidence.ts';
import type { ClaimedStep } from './step.ts';

const DEFAULT = 5;
const LEVEL_MS = 60_000;
/** How often one is overtaken by those that start as they are accepted, or in place of one of their queue that has ended. */
const OVERTAKEN_MAX = 20;

export function* priorities({ history }: Evidence): Iterable<string> {
  const ofQueue = new Map<string, number | null>();
  const priorityOf = new Map<string, number>();
  const overtaken = new Map<string, number>();
  for (const step of history.steps ?? []) {
    if (step.kind === 'queueSet') ofQueue.set(step.queue, step.priority);
    else if (step.kind === 'accepted') {
      priorityOf.set(step.id, step.priority ?? ofQueue.get(step.queue ?? '') ?? DEFAULT);
    } else if (step.kind === 'changed' && step.priority !== null) priorityOf.set(step.id, step.priority);
    else if (step.kind === 'claimed') yield* ahead(step, priorityOf, overtaken);
  }
}

function* ahead(
  step: ClaimedStep,
  priorityOf: ReadonlyMap<string, number>,
  overtaken: Map<string, number>,
): Iterable<string> {
  const rankOf = ({ id, dueAt }: { readonly id: string; readonly dueAt: number }) =>
    dueAt - (priorityOf.get(id)! - DEFAULT) * LEVEL_MS;
  const rank = rankOf(step);
  for (const other of step.left) {
    const aheadMs = rank - rankOf(other);
    if (aheadMs <= 0 || step.by === 'alone') continue;
    const times = (overtaken.get(other.id) ?? 0) + 1;
    overtaken.set(other.id, times);
    if (step.by === 'search') yield `${step.id} started before ${other.id}, which was ${aheadMs} ms ahead of it`;
    else if (times > OVERTAKEN_MAX) yield `${other.id} was overtaken ${times} times by what it was ahead of`;
  }
}
