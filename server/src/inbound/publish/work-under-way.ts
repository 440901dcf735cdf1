// Limits how much of an account's large requests is processed at once: elements of its batches, or bytes of other
// bodies. Processing more at once would finish no sooner. But results would stay in memory for longer, and the pauses
// for garbage collection would be longer.

interface Account {
  amount: number;
  readonly line: { readonly amount: number; readonly start: () => void }[];
}

export class AccountWorkLimit {
  readonly #accountMax: number;
  readonly #accounts = new Map<string, Account>();

  /** `accountMax` limits the amount for one account. A request with a larger amount is processed alone. */
  constructor(accountMax: number) {
    this.#accountMax = accountMax;
  }

  /** How many accounts have work under way. */
  get accounts(): number {
    return this.#accounts.size;
  }

  /** Null: the request can begin at once. Else a promise for when it can. `amount` is at least 1. `end` must follow. */
  begin(accountId: string, amount: number): Promise<void> | null {
    const account = this.#accounts.get(accountId);
    if (!account) {
      this.#accounts.set(accountId, { amount, line: [] });
      return null;
    }
    if (account.line.length === 0 && account.amount + amount <= this.#accountMax) {
      account.amount += amount;
      return null;
    }
    return new Promise((start) => account.line.push({ amount, start }));
  }

  end(accountId: string, amount: number): void {
    const account = this.#accounts.get(accountId)!;
    account.amount -= amount;
    for (let next = account.line[0]; next !== undefined; next = account.line[0]) {
      if (account.amount > 0 && account.amount + next.amount > this.#accountMax) return;
      account.line.shift();
      account.amount += next.amount;
      next.start();
    }
    if (account.amount === 0) this.#accounts.delete(accountId);
  }
}
