// Claims that have arrived and are about to start, together with the others of the same turn of the event loop. Many of
// them start in pieces, by turns of accounts, so that no turn is long and no account waits behind thousands of claims
// of another. While the loop is busy, the claims of an account that has used more of it than others wait in a line of
// their own.

import type { Claim } from '../../rules/delivery/message.ts';
import { takeInTurn } from '../../rules/limits/take-in-turn.ts';
import type { Clock } from '../../runtime/world.ts';
import type { Turns } from './engine-options.ts';

/** If more attempts than this are to start, they start in pieces of it. */
const STARTED_AT_ONCE = 16;
/** How long attempts may start, before everything else that has reached the process is handled. */
const STARTING_MS_MAX = 4;

export interface ArrivalsOptions {
  readonly clock: Pick<Clock, 'monotonicMs' | 'soon'>;
  readonly turns: Turns;
  readonly mayStart: () => boolean;
  readonly start: (claims: readonly Claim[]) => void;
  readonly giveBack: (claims: readonly Claim[]) => void;
}

export class Arrivals {
  readonly #options: ArrivalsOptions;
  #waiting: Claim[] = [];
  /** By account: claims that start when it is the turn of their account. */
  readonly #lines = new Map<string, Claim[]>();

  constructor(options: ArrivalsOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#lines.size === 0;
  }

  add(claims: readonly Claim[]): void {
    this.#waiting.push(...claims);
    if (this.#waiting.length > claims.length) return;
    this.#options.clock.soon(() => this.#start());
  }

  giveAllBack(): void {
    if (this.isEmpty) return;
    const all = [...this.#waiting.splice(0), ...[...this.#lines.values()].flat()];
    this.#lines.clear();
    this.#options.giveBack(all);
  }

  #start(): void {
    const { clock, mayStart } = this.#options;
    const sinceMs = clock.monotonicMs();
    this.#putInLine();
    while (this.#waiting.length > 0 && mayStart()) {
      this.#startPiece(this.#next());
      if (this.#waiting.length === 0 || clock.monotonicMs() - sinceMs < STARTING_MS_MAX) continue;
      clock.soon(() => this.#start());
      return;
    }
    if (!mayStart()) this.giveAllBack();
  }

  /** Takes the claims that must wait out of those that start in this turn. */
  #putInLine(): void {
    if (!this.#waiting.some((claim) => this.#mustWait(claim))) return;
    const others: Claim[] = [];
    for (const claim of this.#waiting) {
      if (!this.#mustWait(claim)) {
        others.push(claim);
        continue;
      }
      const { accountId } = claim.message;
      const line = this.#lines.get(accountId);
      if (line) line.push(claim);
      else this.#openLine(accountId, [claim]);
    }
    this.#waiting = others;
  }

  #mustWait({ message: { accountId } }: Claim): boolean {
    return this.#lines.has(accountId) || this.#options.turns.mustWait({ key: accountId, isKnown: true });
  }

  #openLine(accountId: string, line: Claim[]): void {
    this.#lines.set(accountId, line);
    this.#options.turns.wait({ key: accountId, isKnown: true }, () => this.#startLine(accountId, line));
  }

  #startLine(accountId: string, line: Claim[]): void {
    // Given back meanwhile.
    if (this.#lines.get(accountId) !== line) return;
    if (!this.#options.mayStart()) {
      this.giveAllBack();
      return;
    }
    this.#lines.delete(accountId);
    this.#startPiece(line.splice(0, STARTED_AT_ONCE));
    if (line.length > 0) this.#openLine(accountId, line);
  }

  #startPiece(claims: readonly Claim[]): void {
    const { turns, start } = this.#options;
    const sinceMs = turns.nowMs();
    start(claims);
    turns.chargeEach(claims, accountOf, sinceMs);
  }

  #next(): readonly Claim[] {
    if (this.#waiting.length <= STARTED_AT_ONCE) return this.#waiting.splice(0);
    const { taken, rest } = takeInTurn(this.#waiting, STARTED_AT_ONCE, accountOf);
    this.#waiting = rest;
    return taken;
  }
}

function accountOf({ message }: Claim): string {
  return message.accountId;
}
