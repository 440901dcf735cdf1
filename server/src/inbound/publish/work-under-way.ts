// Limits how much of an account's large requests is processed at once: elements of its batches, or bytes of other
// bodies. More would not finish sooner: the results would only be held longer, and garbage collection, which stops
// everything, would have to walk through them.

interface Account {
  amount: number;
  readonly line: { readonly amount: number; readonly start: () => void }[];
}

export class WorkUnderWay {
  readonly #accountMax: number;
  readonly #accounts = new Map<string, Account>();

  /** A request with more than `accountMax` is processed alone. */
  constructor(accountMax: number) {
    this.#accountMax = accountMax;
  }

  /** How many accounts have work under way. */
  get accounts(): number {
    return this.#accounts.size;
  }

  /** `amount` is at least one. Null if the request can begin at once; else resolves when it can. `end` must follow. */
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
