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
  for (let turn = 0; turns.some((own) => turn < own.length); turn += 1) {
    for (const own of turns) {
      const key = own[turn];
      if (!key || chosen.length >= limits.schedules) continue;
      if (chosen.length > 0 && bytes + key.bytes > limits.bytes) continue;
      chosen.push(key);
      bytes += key.bytes;
    }
  }
  return chosen;
}
