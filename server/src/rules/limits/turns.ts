// Decides whose work goes into the next transaction when more is pending than one transaction may hold: the account
// that has used least of the writer's time goes first. A new account starts at the position of the one that was served
// last, so it waits for a bounded amount of the others' work, and no account can save up time by being idle.

/** One pending piece of work. */
export interface PendingWork {
  readonly accountId: string;
  /** Work of one account and line stays in order. */
  readonly line: string;
  /** How long the work is expected to take, in microseconds. */
  readonly cost: number;
}

/** Writing this many bytes takes about as long as writing a small message. */
const UNIT_BYTES = 8 * 1024;

/** The work of writing messages with this many bytes in total, in units of small messages. */
export function unitsOf(messages: number, bytes: number): number {
  return messages + Math.floor(bytes / UNIT_BYTES);
}

/** A piece that takes more than this part of a transaction is long. */
const LONG_PART = 1 / 4;

/**
 * Whether the piece is so long that other accounts should not wait for its end. It then gets a transaction without
 * their work.
 */
export function isLong(cost: number, budget: number): boolean {
  return cost > longCost(budget);
}

/** The most that a piece may cost without being long. */
export function longCost(budget: number): number {
  return budget * LONG_PART;
}

export class Turns {
  /** The position of the account that was served last, in microseconds of work. */
  #now = 0;
  /** The position of an account's next work. Holds only accounts whose position is after `#now`. */
  readonly #nextAt = new Map<string, number>();

  /** How many accounts it remembers. */
  get size(): number {
    return this.#nextAt.size;
  }

  /**
   * The indexes of the next pieces, in ascending order: as many as `budget` holds, and at least the first. A long piece
   * is not put behind pieces of other accounts, which would get their replies only when it is done. `asked` is in order
   * of arrival.
   */
  choose(asked: readonly PendingWork[], budget: number): number[] {
    if (asked.reduce((sum, { cost }) => sum + cost, 0) <= budget && !isLongForOthers(asked, budget)) {
      this.forget();
      return asked.map((_, index) => index);
    }
    const chosen: number[] = [];
    const owners = new Set<string>();
    /** Accounts with a long piece that needs its own transaction. Their later work stays behind it. */
    const later = new Set<string>();
    let left = budget;
    for (const { index, at } of this.#inTurn(asked, budget)) {
      const { accountId, cost } = asked[index]!;
      if (later.has(accountId)) continue;
      if (cost > left && chosen.length > 0) break;
      if (isLong(cost, budget) && (owners.size > 1 || (owners.size === 1 && !owners.has(accountId)))) {
        later.add(accountId);
        continue;
      }
      chosen.push(index);
      owners.add(accountId);
      left -= cost;
      this.#now = at;
      this.charge(accountId, cost);
    }
    for (const [accountId, at] of this.#nextAt) if (at <= this.#now) this.#nextAt.delete(accountId);
    return chosen.sort((a, b) => a - b);
  }

  /** Resets all positions: everything fits, and no account waits. */
  forget(): void {
    if (this.#nextAt.size > 0) this.#nextAt.clear();
    this.#now = 0;
  }

  /** Notes that work of the account took this much more than was expected; less, if negative. */
  charge(accountId: string, cost: number): void {
    const at = Math.max(this.#now, this.#nextAt.get(accountId) ?? 0) + cost;
    if (at > this.#now) this.#nextAt.set(accountId, at);
    else this.#nextAt.delete(accountId);
  }

  /**
   * The pieces in the order in which accounts are served in turn. Each line gives no more than one transaction can
   * hold.
   */
  #inTurn(asked: readonly PendingWork[], budget: number): { readonly index: number; readonly at: number }[] {
    const lines = new Map<string, { at: number; readonly endAt: number }>();
    const begins: { readonly index: number; readonly at: number }[] = [];
    asked.forEach(({ accountId, line, cost }, index) => {
      const id = `${line} ${accountId}`;
      let own = lines.get(id);
      if (!own) {
        const at = Math.max(this.#now, this.#nextAt.get(accountId) ?? 0);
        own = { at, endAt: at + budget };
        lines.set(id, own);
      }
      if (own.at >= own.endAt) return;
      begins.push({ index, at: own.at });
      own.at += cost;
    });
    // Pieces with the same position stay in order of arrival.
    return begins.sort((a, b) => a.at - b.at);
  }
}

/** Whether a piece is long, and not all are of one account. */
function isLongForOthers(asked: readonly PendingWork[], budget: number): boolean {
  const [first] = asked;
  return (
    asked.some(({ cost }) => isLong(cost, budget)) && asked.some(({ accountId }) => accountId !== first!.accountId)
  );
}

/** Estimates the cost of a kind of work for an account, from its recent costs. */
export class Costs {
  readonly #unknown: number;
  readonly #accountsMax: number;
  readonly #known = new Map<string, number>();

  /** `unknown`: the cost of one unit of work of a new account. */
  constructor(unknown: number, accountsMax = 1000) {
    this.#unknown = unknown;
    this.#accountsMax = accountsMax;
  }

  get size(): number {
    return this.#known.size;
  }

  of(accountId: string, units: number): number {
    return units * (this.#known.get(accountId) ?? this.#unknown);
  }

  note(accountId: string, units: number, took: number): void {
    if (units === 0) return;
    const before = this.#known.get(accountId) ?? this.#unknown;
    // When the table is full, its oldest entry is dropped.
    this.#known.delete(accountId);
    if (this.#known.size >= this.#accountsMax) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(accountId, before + (took / units - before) / NOTED_PART);
  }

  /**
   * Notes work that took less than `tookMax`, if no more is known of it. Lowers the expected cost, but not below that
   * of an unknown account: otherwise a single pause of the machine would count for ever. Returns whether more was
   * expected.
   */
  noteLess(accountId: string, units: number, tookMax: number): boolean {
    const before = this.#known.get(accountId);
    if (before === undefined || units === 0) return false;
    const most = Math.max(this.#unknown, tookMax / units);
    if (most >= before) return false;
    this.#known.set(accountId, before + (most - before) / NOTED_PART);
    return true;
  }
}

/** One observation moves the expected cost by this part of the difference. */
const NOTED_PART = 4;
