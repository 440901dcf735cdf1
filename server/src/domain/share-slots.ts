// How a claim shares the free slots: equally among the accounts that have ready messages, and each account's part among
// its hosts. Slots that some cannot use go to those that used all of theirs. The store reads the messages; the numbers
// are decided here.

import type { SlotBudget } from './slots.ts';

/** One account's messages to one host. */
export interface Lane {
  readonly accountId: string;
  readonly host: string;
}

/** How many messages of a lane to take. The caller records how many it took. */
export interface Ask<L extends Lane> {
  readonly lane: L;
  readonly wanted: number;
  taken: number;
}

/**
 * Yields, round by round, what to take, until no slot is left or no lane can use one. Between two rounds the budget has
 * counted what was taken. A lane that took less than its share has no more ready messages that fit, and is not asked
 * again.
 */
export function* shareSlots<L extends Lane>(lanes: readonly L[], budget: SlotBudget): Generator<readonly Ask<L>[]> {
  let waiting = lanes.map((lane) => ({ lane, had: 0 }));
  const hadOf = new Map<string, number>();
  while (budget.slots > 0) {
    const asks = askFor(waiting, hadOf, budget);
    const asked = asks.filter(({ wanted }) => wanted > 0);
    if (asked.length === 0) return;
    yield asked;
    for (const { lane, taken } of asked) hadOf.set(lane.accountId, (hadOf.get(lane.accountId) ?? 0) + taken);
    waiting = asks
      .filter(({ wanted, taken }) => taken === wanted)
      .map(({ lane, had, taken }) => ({ lane, had: had + taken }));
  }
}

function askFor<L extends Lane>(
  waiting: readonly { readonly lane: L; readonly had: number }[],
  hadOf: ReadonlyMap<string, number>,
  budget: SlotBudget,
): (Ask<L> & { readonly had: number })[] {
  const open = waiting
    .map((each) => ({ ...each, room: budget.room(each.lane.accountId, each.lane.host) }))
    .filter(({ room }) => room > 0);
  const accounts = [...Map.groupBy(open, ({ lane }) => lane.accountId)].map(([id, own]) => ({
    own,
    had: hadOf.get(id) ?? 0,
    room: budget.accountRoom(id),
  }));
  const parts = inEqualParts(budget.slots, accounts);
  return accounts.flatMap(({ own }, index) => {
    const shares = inEqualParts(parts[index]!, own);
    return own.map(({ lane, had }, at) => ({ lane, had, wanted: shares[at]!, taken: 0 }));
  });
}

/** Parallel to `each`: how many more it gets, so that all end up as equal as `had` and `room` allow. */
function inEqualParts(count: number, each: readonly { readonly had: number; readonly room: number }[]): number[] {
  const shares = each.map(() => 0);
  let left = count;
  let had = each.reduce((sum, one) => sum + one.had, 0);
  let others = each.length;
  // In descending order of `had`: one that already has more than an equal part gets nothing, and is left out of the
  // division.
  for (const index of [...each.keys()].sort((a, b) => each[b]!.had - each[a]!.had)) {
    const one = each[index]!;
    const equal = Math.ceil((left + had) / others);
    shares[index] = Math.max(0, Math.min(equal - one.had, one.room, left));
    left -= shares[index];
    had -= one.had;
    others -= 1;
  }
  return shares;
}
