// Takes a few of many items, by turns of their owners: an owner with one item does not wait behind the thousand of
// another.

/**
 * At most `max` of `all`, and the others. The items of each owner stay in order. The owner that comes first in `all`
 * goes first in each round.
 */
export function takeInTurn<T>(
  all: readonly T[],
  max: number,
  ownerOf: (each: T) => string,
): { readonly taken: T[]; readonly rest: T[] } {
  const rounds: T[][] = [];
  const seen = new Map<string, number>();
  const roundOf = all.map((each) => {
    const owner = ownerOf(each);
    const round = seen.get(owner) ?? 0;
    seen.set(owner, round + 1);
    rounds[round] ??= [];
    rounds[round].push(each);
    return round;
  });
  let last = 0;
  let room = max;
  while (last < rounds.length && rounds[last]!.length <= room) {
    room -= rounds[last]!.length;
    last += 1;
  }
  const taken = [...rounds.slice(0, last).flat(), ...(rounds[last]?.slice(0, room) ?? [])];
  const inLast = new Set(taken.slice(taken.length - room));
  const rest = all.filter((each, index) => roundOf[index]! > last || (roundOf[index] === last && !inLast.has(each)));
  return { taken, rest };
}
