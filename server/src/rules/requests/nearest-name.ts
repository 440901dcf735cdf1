// Finds the known name that a mistyped name most likely stands for, to ask "did you mean …?".

/** The closest of `names`, or undefined if none is so close that `mistyped` is probably a typing error. */
export function nearestName(mistyped: string, names: readonly string[]): string | undefined {
  const distanceMax = Math.max(1, Math.floor(mistyped.length / 4));
  const ranked = names.map((name) => ({ name, distance: editDistance(mistyped, name) }));
  ranked.sort((a, b) => a.distance - b.distance);
  return ranked.find(({ distance }) => distance <= distanceMax)?.name;
}

/** Insertions, deletions, replacements, and swaps of two neighbours each count one. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, change);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
