// How a claim shares the free slots: equally among the accounts that have ready messages, and the slots of each account
// equally among its hosts. What an account or a host cannot use goes to those that can use more. The store reads the
// messages; this file decides how many of each backlog.

import type { SlotBudget } from './slots.ts';

/** The ready messages of one account to one host. Those that park are another backlog (rules/hosts/parking.ts). */
export interface Backlog {
  readonly accountId: string;
  /** The host, with a mark for messages that park. */
  readonly name: string;
}

/** How many messages of a backlog the caller must take. It writes to `taken` how many it took. */
export interface BacklogShare<L extends Backlog> {
  readonly backlog: L;
  readonly wanted: number;
  taken: number;
}

/**
 * Yields what to take, round by round, until no slot is left or no backlog can use one. After each round, the caller
 * counts in `budget` what it took. A backlog of which it took less than `wanted` has no more ready messages that fit,
 * and is left out of further rounds.
 */
export function* shareSlots<L extends Backlog>(
  backlogs: readonly L[],
  budget: SlotBudget,
): Generator<readonly BacklogShare<L>[]> {
  let waiting = backlogs.map((backlog) => ({ backlog, had: 0 }));
  const hadOf = new Map<string, number>();
  while (budget.slots > 0) {
    const asks = askFor(waiting, hadOf, budget);
    const asked = asks.filter(({ wanted }) => wanted > 0);
    if (asked.length === 0) return;
    yield asked;
    for (const { backlog, taken } of asked) hadOf.set(backlog.accountId, (hadOf.get(backlog.accountId) ?? 0) + taken);
    waiting = asks
      .filter(({ wanted, taken }) => taken === wanted)
      .map(({ backlog, had, taken }) => ({ backlog, had: had + taken }));
  }
}

function askFor<L extends Backlog>(
  waiting: readonly { readonly backlog: L; readonly had: number }[],
  hadOf: ReadonlyMap<string, number>,
  budget: SlotBudget,
): (BacklogShare<L> & { readonly had: number })[] {
  const open = waiting
    .map((each) => ({ ...each, room: budget.room(each.backlog.accountId, each.backlog.name) }))
    .filter(({ room }) => room > 0);
  const accounts = [...Map.groupBy(open, ({ backlog }) => backlog.accountId)].map(([id, own]) => ({
    own,
    had: hadOf.get(id) ?? 0,
    room: budget.accountRoom(id),
  }));
  const parts = inEqualParts(budget.slots, accounts);
  return accounts.flatMap(({ own }, index) => {
    const shares = inEqualParts(parts[index]!, own);
    return own.map(({ backlog, had }, at) => ({ backlog, had, wanted: shares[at]!, taken: 0 }));
  });
}

/**
 * How many more each entry gets, in the order of `each`, so that all have as equally many as their `room` allows. No
 * entry `had` more than its equal part plus one: in later rounds there are fewer entries, so the part only grows.
 */
function inEqualParts(count: number, each: readonly { readonly had: number; readonly room: number }[]): number[] {
  const part = equalPart(count, each);
  const shares = each.map(({ had, room }) => Math.max(0, Math.min(room, part - had)));
  let left = count - shares.reduce((sum, share) => sum + share, 0);
  // The remainder of the division goes to the first entries, one more for each.
  for (const [index, { had, room }] of each.entries()) {
    const share = shares[index]!;
    if (left > 0 && share < room && had + share === part) {
      shares[index] = share + 1;
      left -= 1;
    }
  }
  return shares;
}

/**
 * How many each entry with enough room has at the end, rounded down. Entries with less room leave more for the others.
 * Infinity if `count` is more than all entries together have room for.
 */
function equalPart(count: number, each: readonly { readonly had: number; readonly room: number }[]): number {
  let total = each.reduce((sum, { had }) => sum + had, count);
  let others = each.length;
  for (const most of each.map(({ had, room }) => had + room).sort((a, b) => a - b)) {
    if (most * others >= total) break;
    total -= most;
    others -= 1;
  }
  return Math.floor(total / others);
}
