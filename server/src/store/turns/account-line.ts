// Runs pieces of work for accounts in turns: a few pieces run at once, and the next piece is one of the account that
// has used least. So an account waits for at most one piece of each other account, however many pieces the others have
// queued. An account whose pieces take longer gets fewer of them.

import { Costs, Turns } from '../../rules/limits/turns.ts';
import { CallerGone } from '../ports/store.ts';
import type { IsGone } from './current-caller.ts';

interface Piece {
  readonly isGone: IsGone;
  readonly start: () => Promise<void>;
  readonly drop: () => void;
}

/** The cost of a piece of a new account, and the minimum cost of any piece. */
const COST_MIN = 0.01;

export class AccountLine {
  readonly #atOnceMax: number;
  readonly #nowMs: (() => number) | null;
  readonly #turns = new Turns();
  /** The expected costs of pieces. */
  readonly #costs = new Costs(COST_MIN);
  /** Waiting pieces by account. Among accounts that have used the same, the first one in this map is next. */
  readonly #waiting = new Map<string, Piece[]>();
  #running = 0;

  /** `nowMs` measures what a piece costs. Without it, all pieces cost the same. */
  constructor(atOnceMax: number, nowMs: (() => number) | null = null) {
    this.#atOnceMax = atOnceMax;
    this.#nowMs = nowMs;
  }

  /**
   * `work` is one bounded piece. Its slot is free again when the promise of `work` has ended. If the caller disconnects
   * before the turn comes, `work` does not run, and the returned promise rejects with `CallerGone`.
   */
  run<T>(accountId: string, work: () => Promise<T>, isGone: IsGone = () => false): Promise<T> {
    return new Promise((resolve, reject) => {
      const line = this.#waiting.get(accountId) ?? [];
      line.push({
        isGone,
        start: async () => work().then(resolve, reject),
        drop: () => reject(new CallerGone('the caller has disconnected')),
      });
      this.#waiting.set(accountId, line);
      this.#next();
    });
  }

  #next(): void {
    while (this.#running < this.#atOnceMax && this.#waiting.size > 0) {
      this.#dropGone();
      const ids = [...this.#waiting.keys()];
      const asked = ids.map((accountId) => ({ accountId, line: '', cost: this.#expected(accountId) }));
      // The limit is less than any piece costs, so that exactly one piece is chosen.
      const [first] = this.#turns.choose(asked, COST_MIN / 2);
      if (first === undefined) return;
      this.#start(ids[first]!);
    }
  }

  /** A disconnected caller does not use the turn of its account. */
  #dropGone(): void {
    for (const [accountId, line] of this.#waiting) {
      while (line[0]?.isGone()) line.shift()!.drop();
      if (line.length === 0) this.#waiting.delete(accountId);
    }
  }

  #expected(accountId: string): number {
    return this.#nowMs ? this.#costs.of(accountId, 1) : 1;
  }

  #start(accountId: string): void {
    const line = this.#waiting.get(accountId)!;
    const piece = line.shift()!;
    this.#putLast(accountId, line);
    this.#running += 1;
    const expected = this.#expected(accountId);
    const fromMs = this.#nowMs?.() ?? 0;
    void piece.start().then(() => {
      this.#running -= 1;
      const cost = this.#nowMs ? Math.max(COST_MIN, this.#nowMs() - fromMs) : expected;
      this.#turns.charge(accountId, cost - expected);
      this.#costs.note(accountId, 1, cost);
      // The account goes to the end again, behind accounts that arrived while its work ran.
      this.#putLast(accountId, this.#waiting.get(accountId) ?? []);
      this.#next();
    });
  }

  #putLast(accountId: string, line: Piece[]): void {
    this.#waiting.delete(accountId);
    if (line.length > 0) this.#waiting.set(accountId, line);
  }
}
