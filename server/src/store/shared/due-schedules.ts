// Which of the due schedules run first. The accounts take turns, beginning after the account that was served last, so
// that neither many schedules nor large bodies of one account delay the others. Every adapter uses this file.

import type { DueLimits } from '../ports/upkeep-store.ts';

export interface DueKey {
  readonly account_id: string;
  readonly id: string;
  /** The size of the body. */
  readonly bytes: number;
}

/** As many of `keys` as the limits allow, in the order in which they run. */
export function chooseDue<K extends DueKey>(keys: readonly K[], limits: DueLimits): K[] {
  const byAccount = [...Map.groupBy(keys, ({ account_id }) => account_id)];
  const behind = byAccount.filter(([accountId]) => accountId > limits.after);
  const turns = [...behind, ...byAccount.filter(([accountId]) => accountId <= limits.after)].map(([, own]) => own);
  const chosen: K[] = [];
  let bytes = 0;
  for (const key of oneOfEach(turns)) {
    if (chosen.length >= limits.schedules) break;
    if (chosen.length > 0 && bytes + key.bytes > limits.bytes) continue;
    chosen.push(key);
    bytes += key.bytes;
  }
  return chosen;
}

/** The first of each line, then the second of each, and so on. */
function oneOfEach<K>(lines: readonly (readonly K[])[]): K[] {
  const longest = Math.max(0, ...lines.map((line) => line.length));
  return Array.from({ length: longest }, (_, turn) => lines.flatMap((line) => line.slice(turn, turn + 1))).flat();
}
