// Takes a few of many items, by turns of their owners: an owner with one item does not wait behind the thousand of
// another.

/**
 * Divides `all` into at most `max` items that are taken, and the rest. The items of each owner stay in order. In each
 * round every owner has one item, in the order in which the owners appear in `all`.
 */
export function takeInTurn<T>(
  all: readonly T[],
  max: number,
  ownerOf: (each: T) => string,
): { readonly taken: T[]; readonly rest: T[] } {
  // Most often all are of one owner, and then nothing is to be divided.
  if (areOfOneOwner(all, ownerOf)) return { taken: all.slice(0, max), rest: all.slice(max) };
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

function areOfOneOwner<T>(all: readonly T[], ownerOf: (each: T) => string): boolean {
  if (all.length === 0) return true;
  const owner = ownerOf(all[0]!);
  for (let index = 1; index < all.length; index += 1) if (ownerOf(all[index]!) !== owner) return false;
  return true;
}
