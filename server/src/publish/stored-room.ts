// Decides whether an account may store more. The count of an account's stored bytes is the last one that was read from
// the store, plus what this node has accepted since. A count that is too old is read again: see the two limits below.

import type { Account } from '../rules/accounts/account.ts';
import type { NewMessage } from '../rules/delivery/message.ts';
import { type AllStored, type DiskMark, isSpaceScarce, storageProblem } from '../rules/limits/disk-marks.ts';
import { bytesOfAll } from '../rules/limits/stored-bytes.ts';
import type { Tiers } from '../rules/limits/tier.ts';
import type { Problem } from '../rules/requests/problem.ts';
import type { Clock } from '../runtime/world.ts';
import type { AccountStore } from '../store/ports/account-store.ts';

/** How long a count is used before it is read again. */
const FRESH_MS = 5000;
/**
 * How old a count may be if it leads to a refusal: an older one is read again before. This bounds the reads, however
 * often an account is refused.
 */
const FRESH_FOR_REFUSAL_MS = 200;
const KNOWN_MAX = 10_000;
const PIECE = 1000;
const LOOK_EVERY_MS = 10_000;

interface Known {
  bytes: number;
  atMs: number;
  asking: Promise<void> | null;
}

type Storing = Pick<Account, 'id' | 'tier'>;

export interface StoredRoomOptions {
  readonly store: Pick<AccountStore, 'storedBytes' | 'storedAccounts'>;
  readonly tiers: Tiers;
  readonly clock: Clock;
  readonly mark: () => DiskMark;
}

export class StoredRoom {
  readonly name = 'stored bytes';
  readonly #options: StoredRoomOptions;
  readonly #known = new Map<string, Known>();
  #all: AllStored = { bytes: 0, accounts: 0 };
  #largest = 0;

  constructor(options: StoredRoomOptions) {
    this.#options = options;
  }

  /** The bytes that all accounts store together, and that the largest account stores, when they were last added up. */
  get all(): AllStored & { readonly largest: number } {
    return { ...this.#all, largest: this.#largest };
  }

  /** Upkeep: adds up what all accounts store. */
  async run(): Promise<number> {
    const { store } = this.#options;
    let [bytes, accounts, largest, after] = [0, 0, 0, ''];
    for (;;) {
      const piece = await store.storedAccounts(after, PIECE);
      for (const each of piece) {
        if (each.bytes <= 0) continue;
        bytes += each.bytes;
        accounts += 1;
        largest = Math.max(largest, each.bytes);
      }
      if (piece.length < PIECE) break;
      after = piece.at(-1)!.accountId;
    }
    this.#all = { bytes, accounts };
    this.#largest = largest;
    return LOOK_EVERY_MS;
  }

  /** Why the account may not store this, or null: then it is counted. A promise only if the store must be read. */
  problem(account: Storing, what: readonly NewMessage[] | number): Problem | null | Promise<Problem | null> {
    if (this.#isUnlimited(account)) return null;
    const more = typeof what === 'number' ? what : bytesOfAll(what);
    const known = this.#look(account.id, FRESH_MS);
    if (this.#check(account, known, more) === null) {
      known.bytes += more;
      return null;
    }
    return this.#checkAgain(account, more);
  }

  /** Whether there is room for something optional, such as a response. If so, its bytes are counted. */
  takes(account: Storing, bytes: number): boolean {
    if (this.#options.mark() === 'all') return false;
    if (this.#isUnlimited(account)) return true;
    const known = this.#look(account.id, FRESH_MS);
    if (this.#check(account, known, bytes) !== null) return false;
    known.bytes += bytes;
    return true;
  }

  /**
   * Until when a message that is cancelled now is kept. If space is scarce, the message is not kept, so that space
   * becomes free.
   */
  async cancelledUntil(account: Storing, now: number): Promise<number> {
    const { tiers, mark } = this.#options;
    const { storedBytesMax: max, retentionMs } = tiers[account.tier];
    const known = max === null ? null : this.#look(account.id, FRESH_FOR_REFUSAL_MS);
    await known?.asking;
    return isSpaceScarce({ bytes: known?.bytes ?? 0, max, mark: mark() }) ? now : now + retentionMs;
  }

  async #checkAgain(account: Storing, more: number): Promise<Problem | null> {
    const known = this.#look(account.id, FRESH_FOR_REFUSAL_MS);
    await known.asking;
    const why = this.#check(account, known, more);
    if (why === null) known.bytes += more;
    return why;
  }

  #isUnlimited({ tier }: Storing): boolean {
    return this.#options.tiers[tier].storedBytesMax === null && this.#options.mark() === 'none';
  }

  #check({ tier }: Storing, { bytes }: Known, more: number): Problem | null {
    const { tiers, mark } = this.#options;
    return storageProblem({ bytes, more, max: tiers[tier].storedBytesMax, mark: mark(), all: this.#all }, tier);
  }

  /** The count of an account, which is read again in the background if it is too old. Until the first read, it is 0. */
  #look(accountId: string, freshMs: number): Known {
    const { clock, store } = this.#options;
    const nowMs = clock.monotonicMs();
    let known = this.#known.get(accountId);
    if (!known) {
      if (this.#known.size >= KNOWN_MAX) this.#known.clear();
      known = { bytes: 0, atMs: Number.NEGATIVE_INFINITY, asking: null };
      this.#known.set(accountId, known);
    }
    if (known.asking === null && nowMs - known.atMs >= freshMs) {
      const asked = known;
      asked.atMs = nowMs;
      const before = asked.bytes;
      asked.asking = store
        .storedBytes(accountId)
        .then((bytes) => {
          // Messages accepted meanwhile may not be written yet.
          asked.bytes = bytes + Math.max(0, asked.bytes - before);
        })
        .catch(() => {
          // A failed read refuses nobody: if the store is unavailable, the call that stores reports that.
          asked.atMs = Number.NEGATIVE_INFINITY;
        })
        .finally(() => {
          asked.asking = null;
        });
    }
    return known;
  }
}
