// Work that accounts ask for takes turns: some of it runs at once, and of what waits, accounts come one after the other.
// So whoever asks waits for one piece of work of each other account at most, however much those have asked for.

export class AccountLine {
  readonly #atOnceMax: number;
  /** What waits, by account; the account whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => Promise<void>)[]>();
  #running = 0;

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
  }

  /** `work` is one bounded piece: its place is free again when it is done. */
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
        // Behind those that have come meanwhile as well.
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
