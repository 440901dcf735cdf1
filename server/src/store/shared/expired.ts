// Which expired messages one transaction deletes: those that expired first. If more have expired than fit, some
// messages of other accounts, which take turns, are chosen before them. Every adapter uses this file.

import { eachMax } from '../../rules/limits/budgets.ts';
import { CountedBodies } from './shared-bodies.ts';

interface Expired {
  /** The size of the body, which several messages may share. */
  readonly bytes: number;
  readonly body_id: number | null;
}

/**
 * The first messages whose bodies fit into the byte limit of one transaction. A message that exceeds the limit is taken
 * alone.
 */
export function firstWithinBytes<T extends Expired>(
  expired: readonly T[],
  bytesMax = eachMax('upkeepBytes'),
): readonly T[] {
  let bytes = 0;
  const bodies = new CountedBodies();
  const end = expired.findIndex((each, index) => {
    bytes += bodies.add(each.body_id, each.bytes);
    return index > 0 && bytes > bytesMax;
  });
  return end === -1 ? expired : expired.slice(0, end);
}

/** Limit for the accounts, and for the messages of each account, that are read for one transaction. */
export const EXPIRED_ACCOUNTS_MAX = 50;
export const EXPIRED_LOOKED_MAX = 20;
/**
 * Limit for the stored positions. Above it all positions are dropped, and each account is read from its first message
 * again.
 */
const POSITIONS_MAX = 10_000;

export interface ExpiredCandidate extends Expired {
  readonly account_id: string;
  readonly seq: number;
  readonly expires_at: number | null;
}

/**
 * The turns of accounts while more messages have expired than one transaction deletes. There is no index of the expired
 * messages of an account, so its messages are read in the order of acceptance, a few in each turn. However much one
 * account has to delete, another account waits only for the turns of the others and for the reading of its own messages
 * that have not expired.
 */
export class ExpiredTurns {
  #lastAccount = '';
  readonly #positions = new Map<string, number>();

  get lastAccount(): string {
    return this.#lastAccount;
  }

  /** Call this after the turn of the last account: the first one is next. */
  startAgain(): void {
    this.#lastAccount = '';
  }

  /** The position after which the messages of the account are read next. */
  positionOf(accountId: string): number {
    return this.#positions.get(accountId) ?? 0;
  }

  /** Adds the expired messages of an account to `chosen`. Returns false when `chosen` has no room for more. */
  turn<T extends ExpiredCandidate>(
    chosen: T[],
    accountId: string,
    looked: readonly T[],
    now: number,
    max: number,
  ): boolean {
    this.#lastAccount = accountId;
    let position = this.positionOf(accountId);
    let bytes = chosen.reduce((sum, each) => sum + each.bytes, 0);
    for (const row of looked) {
      if (row.expires_at !== null && row.expires_at <= now) {
        bytes += row.bytes;
        if (chosen.length >= max || (chosen.length > 0 && bytes > eachMax('upkeepBytes') / 2)) {
          this.#note(accountId, position);
          return false;
        }
        chosen.push(row);
      }
      position = row.seq;
    }
    if (looked.length === EXPIRED_LOOKED_MAX) this.#note(accountId, position);
    else this.#positions.delete(accountId);
    return true;
  }

  #note(accountId: string, position: number): void {
    if (this.#positions.size >= POSITIONS_MAX) this.#positions.clear();
    this.#positions.set(accountId, position);
  }
}

/** The messages that were chosen in turn, and after them the oldest messages. No message is in the result twice. */
export function mergeChosen<T extends ExpiredCandidate>(
  chosen: readonly T[],
  oldest: readonly T[],
  limit: number,
): T[] {
  const taken = new Set(chosen.map(({ account_id, seq }) => `${seq} ${account_id}`));
  const others = oldest.filter(({ account_id, seq }) => !taken.has(`${seq} ${account_id}`));
  return [...chosen, ...others].slice(0, limit);
}
