// Turns for work that accounts share: one piece at a time for an account, a few pieces at once in total. An account
// with more work goes to the end of the line, so that its work never blocks that of another account.

export class AccountTurns {
  readonly #atOnceMax: number;
  readonly #work: (accountId: string) => Promise<boolean>;
  /** Accounts in the order of their turns. */
  readonly #line = new Set<string>();
  readonly #atWork = new Set<string>();

  /** `work` does one bounded piece and returns whether there is more. It never fails. */
  constructor(atOnceMax: number, work: (accountId: string) => Promise<boolean>) {
    this.#atOnceMax = atOnceMax;
    this.#work = work;
  }

  /** Puts the account into the line, because there is work for it. */
  want(accountId: string): void {
    this.#line.add(accountId);
    this.#next();
  }

  #next(): void {
    for (const accountId of this.#line) {
      if (this.#atWork.size >= this.#atOnceMax) return;
      if (this.#atWork.has(accountId)) continue;
      this.#line.delete(accountId);
      this.#atWork.add(accountId);
      void this.#work(accountId).then((hasMore) => {
        this.#atWork.delete(accountId);
        if (hasMore) this.#line.add(accountId);
        this.#next();
      });
    }
  }
}
