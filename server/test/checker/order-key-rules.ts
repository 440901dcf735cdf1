// Order keys, by what the store did: of the messages of a queue with one order key only one is under way, and none starts
// while another is open that stood ahead of it when it came.

import type { Evidence } from './evidence.ts';
import type { Step } from './step.ts';

interface Open {
  readonly id: string;
  /** Decides its place: fixed by its acceptance, and by a change of its time before its first attempt. */
  firstDueAt: number;
  fixedAt: number;
  isClaimed: boolean;
  hasBegun: boolean;
}

export function* orderKeys({ history }: Evidence): Iterable<string> {
  const keyOf = new Map<string, string>();
  const openOf = new Map<string, Map<string, Open>>();
  for (const [index, step] of (history.steps ?? []).entries()) {
    if (step.kind === 'accepted') {
      if (step.orderKey === null) continue;
      const { id, orderKey, dueAt } = step;
      keyOf.set(id, orderKey);
      const open = openOf.get(orderKey) ?? new Map<string, Open>();
      open.set(id, { id, firstDueAt: dueAt, fixedAt: index, isClaimed: false, hasBegun: false });
      openOf.set(orderKey, open);
      continue;
    }
    const key = 'id' in step ? keyOf.get(step.id) : undefined;
    if (key !== undefined) yield* take(key, openOf.get(key)!, step as Step & { readonly id: string }, index);
  }
}

function* take(
  key: string,
  open: Map<string, Open>,
  step: Step & { readonly id: string },
  index: number,
): Iterable<string> {
  const message = open.get(step.id);
  if (!message) return;
  if (step.kind === 'claimed') {
    for (const other of open.values()) {
      if (other.isClaimed) yield `${key}: ${step.id} was claimed while ${other.id} was under way`;
      else if (isAhead(other, message))
        yield `${key}: ${step.id} was claimed before ${other.id}, which stood ahead of it`;
    }
    message.isClaimed = true;
  } else if (step.kind === 'waits') {
    message.isClaimed = false;
    message.hasBegun ||= step.hasBegun;
  } else if (step.kind === 'ended') {
    open.delete(step.id);
  } else if (step.kind === 'changed' && step.dueAt !== null && !message.hasBegun) {
    message.firstDueAt = step.dueAt;
    message.fixedAt = index;
  }
}

function isAhead(other: Open, message: Open): boolean {
  return other.fixedAt < message.fixedAt && other.firstDueAt <= message.firstDueAt;
}
