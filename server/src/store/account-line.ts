// Runs work for accounts in turns: a few pieces of work run at once, and the accounts that wait are served one after
// another. An account waits for at most one piece of work of each other account, however much the others have queued.

export class AccountLine {
  readonly #atOnceMax: number;
  /** Waiting work by account. The account whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => Promise<void>)[]>();
  #running = 0;

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
  }

  /** `work` is one bounded piece. Its slot is free again when its promise has ended. */
  run<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const line = this.#waiting.get(accountId) ?? [];
      line.push(async () => work().then(resolve, reject));
      this.#waiting.set(accountId, line);
      this.#next();
    });
  }

  #next(): void {
    for (const [accountId, line] of this.#waiting) {
      if (this.#running >= this.#atOnceMax) return;
      const start = line.shift()!;
      this.#putLast(accountId, line);
      this.#running += 1;
      void start().then(() => {
        this.#running -= 1;
        // The account goes to the end again, behind accounts that arrived while its work ran.
        this.#putLast(accountId, this.#waiting.get(accountId) ?? []);
        this.#next();
      });
    }
  }

  #putLast(accountId: string, line: (() => Promise<void>)[]): void {
    this.#waiting.delete(accountId);
    if (line.length > 0) this.#waiting.set(accountId, line);
  }
}
