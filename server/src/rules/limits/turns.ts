// Decides whose work goes into the next transaction when more is pending than one transaction may hold: the account
// that has used least of the writer's time goes first. As in fair queueing, each account has a virtual time, which its
// work moves on. A new account starts at the virtual time of the account that was served last: so it does not wait long,
// and no account can save up time by being idle.

/** One pending piece of work. */
export interface PendingWork {
  readonly accountId: string;
  /** A name. The pieces of an account with the same `line` stay in order. */
  readonly line: string;
  /** How long the work is expected to take, in microseconds. */
  readonly cost: number;
}

/** Writing this many bytes takes about as long as writing a small message. */
const UNIT_BYTES = 8 * 1024;

/** The work of writing messages with this many bytes in total, in units of small messages. */
export function workUnitsOf(messages: number, bytes: number): number {
  return messages + Math.floor(bytes / UNIT_BYTES);
}

/** A piece of work is long if it takes more than this part of the time that one transaction may take. */
const LONG_PART = 1 / 4;

/** Whether a piece is so long that it gets its own transaction, so that no other account waits for its end. */
export function isLong(cost: number, budget: number): boolean {
  return cost > longCost(budget);
}

/** The most that a piece may cost without being long. */
export function longCost(budget: number): number {
  return budget * LONG_PART;
}

/**
 * After so many transactions in a row that held everything, nobody owes anything. Not after the first: between two long
 * pieces of one account, little is pending, and the second would come before work that arrived just after it.
 */
const CALM_CHOICES = 100;

export class WriterTurns {
  /** The virtual time, in microseconds of work, at which the piece that was chosen last began. */
  #virtualNow = 0;
  /** The virtual time at which an account's next work begins. Holds only accounts whose time is after `#virtualNow`. */
  readonly #nextAt = new Map<string, number>();
  /** How many times in a row everything fitted into one transaction. */
  #calm = 0;

  /** How many accounts have a virtual time after that of the account that was served last. */
  get size(): number {
    return this.#nextAt.size;
  }

  /**
   * The indexes of the pieces for the next transaction, in ascending order: as many as `budget` allows, and at least
   * one. A long piece shares no transaction with pieces of other accounts, which would get their replies only when it
   * is done. `asked` is in order of arrival.
   */
  choose(asked: readonly PendingWork[], budget: number): number[] {
    if (asked.reduce((sum, { cost }) => sum + cost, 0) <= budget && !isLongForOthers(asked, budget)) {
      this.#noteCalm();
      return asked.map((_, index) => index);
    }
    this.#calm = 0;
    const chosen: number[] = [];
    const owners = new Set<string>();
    /** Accounts with a long piece that waits for a transaction of its own. Their later pieces wait behind it. */
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
      this.#virtualNow = at;
      this.charge(accountId, cost);
    }
    for (const [accountId, at] of this.#nextAt) if (at <= this.#virtualNow) this.#nextAt.delete(accountId);
    return chosen.sort((a, b) => a - b);
  }

  /** Whether no account owes anything. Then everything that fits may go without a choice. */
  get isCalm(): boolean {
    return this.#nextAt.size === 0;
  }

  #noteCalm(): void {
    this.#calm += 1;
    if (this.#calm < CALM_CHOICES) return;
    this.#nextAt.clear();
    this.#virtualNow = 0;
  }

  /** Adds `cost` to the virtual time of the account. Negative if its work took less time than was expected. */
  charge(accountId: string, cost: number): void {
    const at = Math.max(this.#virtualNow, this.#nextAt.get(accountId) ?? 0) + cost;
    if (at > this.#virtualNow) this.#nextAt.set(accountId, at);
    else this.#nextAt.delete(accountId);
  }

  /**
   * The pieces in the order in which accounts take turns, each with the virtual time at which it begins. Of each
   * account and line, only as many as one transaction can hold.
   */
  #inTurn(asked: readonly PendingWork[], budget: number): { readonly index: number; readonly at: number }[] {
    const lines = new Map<string, { at: number; readonly endAt: number }>();
    const begins: { readonly index: number; readonly at: number }[] = [];
    asked.forEach(({ accountId, line, cost }, index) => {
      const id = `${line} ${accountId}`;
      let own = lines.get(id);
      if (!own) {
        const at = Math.max(this.#virtualNow, this.#nextAt.get(accountId) ?? 0);
        own = { at, endAt: at + budget };
        lines.set(id, own);
      }
      if (own.at >= own.endAt) return;
      begins.push({ index, at: own.at });
      own.at += cost;
    });
    // Pieces that begin at the same virtual time stay in order of arrival.
    return begins.sort((a, b) => a.at - b.at);
  }
}

/** Whether one of the pieces is long, and the pieces belong to several accounts. */
function isLongForOthers(asked: readonly PendingWork[], budget: number): boolean {
  const [first] = asked;
  return (
    asked.some(({ cost }) => isLong(cost, budget)) && asked.some(({ accountId }) => accountId !== first!.accountId)
  );
}

/** Estimates what one kind of work costs for an account, from what it cost recently. */
export class CostEstimates {
  readonly #unknown: number;
  readonly #accountsMax: number;
  readonly #known = new Map<string, number>();

  /** `unknown`: the expected cost of one unit of work of a new account. */
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
    // When the table is full, the entry that was noted longest ago is dropped. The order does not matter before that, and
    // an entry that is deleted and set again makes the table grow and be copied.
    if (this.#known.size >= this.#accountsMax / 2) this.#known.delete(accountId);
    if (this.#known.size >= this.#accountsMax) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(accountId, before + (took / units - before) / NOTED_PART);
  }

  /**
   * Notes that work took at most `tookMax`, if its exact time is not known. This lowers an expected cost that is too
   * high, so that a single pause of the machine does not count for ever, but not below that of a new account. Returns
   * whether the expected cost was lowered.
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

/** One observation moves the expected cost by a quarter of the difference. */
const NOTED_PART = 4;
