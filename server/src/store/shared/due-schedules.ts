// Which of the due schedules run first. The accounts take turns, beginning after the account that was served last, so
// that neither many schedules nor large bodies of one account delay the others. Every adapter uses this file.

import type { DueLimits } from '../ports/upkeep-store.ts';

export interface DueKey {
  readonly account_id: string;
  readonly id: string;
  /** The size of what the schedule has from its caller, and of the ids of its last messages. */
  readonly bytes: number;
}

/** The expression for `bytes` of a key. */
export const DUE_BYTES = 'octet_length(body) + octet_length(headers) + octet_length(last_message_ids)';

/** A time at which schedules of an account are due. */
export interface DueTime {
  readonly next_at: number;
  readonly account_id: string;
}

/**
 * How many due times are looked at for one that is chosen. An account that has more ticks than the service can run is
 * due at many different seconds, all of them earlier than the one at which another account is due.
 */
const LOOKED_AT = 4;

export function lookedAtTimes(limits: DueLimits): number {
  return LOOKED_AT * limits.schedules;
}

/** As many of `times` as schedules may run, the earliest of each account first. */
export function chooseTimes<T extends DueTime>(times: readonly T[], limits: DueLimits): T[] {
  if (times.length <= limits.schedules) return [...times];
  return oneOfEach(turnsOf(times, limits)).slice(0, limits.schedules);
}

/** As many of `keys` as the limits allow, in the order in which they run. */
export function chooseDue<K extends DueKey>(keys: readonly K[], limits: DueLimits): K[] {
  const chosen: K[] = [];
  let bytes = 0;
  for (const key of oneOfEach(turnsOf(keys, limits))) {
    if (chosen.length >= limits.schedules) break;
    if (chosen.length > 0 && bytes + key.bytes > limits.bytes) continue;
    chosen.push(key);
    bytes += key.bytes;
  }
  return chosen;
}

/** What each account has, beginning with the account after the one that was served last. */
function turnsOf<T extends { readonly account_id: string }>(all: readonly T[], { after }: DueLimits): T[][] {
  const byAccount = [...Map.groupBy(all, ({ account_id }) => account_id)];
  const behind = byAccount.filter(([accountId]) => accountId > after);
  return [...behind, ...byAccount.filter(([accountId]) => accountId <= after)].map(([, own]) => own);
}

/** The first of each line, then the second of each, and so on. */
function oneOfEach<K>(lines: readonly (readonly K[])[]): K[] {
  const longest = Math.max(0, ...lines.map((line) => line.length));
  return Array.from({ length: longest }, (_, turn) => lines.flatMap((line) => line.slice(turn, turn + 1))).flat();
}
