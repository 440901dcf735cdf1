// Runs pieces of work for accounts in turns: a few pieces run at once, and the next piece is one of the account that
// has used least. So an account waits for at most one piece of each other account, however many pieces the others have
// queued. An account whose pieces take longer gets fewer of them.

import { CostEstimates, WriterTurns } from '../../rules/limits/turns.ts';
import { CallerGone } from '../ports/store.ts';
import { keepNote } from '../shared/audit-note.ts';
import type { IsGone } from './current-caller.ts';

interface Piece {
  readonly isGone: IsGone;
  readonly start: () => Promise<void>;
  readonly drop: () => void;
}

/** The expected cost of a piece of a new account, and the minimum cost of any piece, in milliseconds. */
const COST_MIN = 0.01;

/** Runs pieces of work of accounts in turns, a few at once. */
export class TurnsOfAccounts {
  readonly #atOnceMax: number;
  readonly #nowMs: (() => number) | null;
  readonly #turns = new WriterTurns();
  /** The expected costs of pieces. */
  readonly #costs = new CostEstimates(COST_MIN);
  /** Waiting pieces by account. Among accounts that have used equally much, the first one in this map is next. */
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
      const pieces = this.#waiting.get(accountId) ?? [];
      pieces.push({
        isGone,
        start: keepNote(async () => work().then(resolve, reject)),
        drop: () => reject(new CallerGone('the caller has disconnected')),
      });
      this.#waiting.set(accountId, pieces);
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
    for (const [accountId, pieces] of this.#waiting) {
      while (pieces[0]?.isGone()) pieces.shift()!.drop();
      if (pieces.length === 0) this.#waiting.delete(accountId);
    }
  }

  #expected(accountId: string): number {
    return this.#nowMs ? this.#costs.of(accountId, 1) : 1;
  }

  #start(accountId: string): void {
    const pieces = this.#waiting.get(accountId)!;
    const piece = pieces.shift()!;
    this.#putLast(accountId, pieces);
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

  #putLast(accountId: string, pieces: Piece[]): void {
    this.#waiting.delete(accountId);
    if (pieces.length > 0) this.#waiting.set(accountId, pieces);
  }
}
