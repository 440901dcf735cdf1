// Collects the claims that arrive in one turn of the event loop, and starts them together. Many claims start in pieces,
// by turns of accounts, so that no turn of the loop is long and no account waits behind thousands of claims of another.

import type { Claim } from '../../rules/delivery/message.ts';
import { takeInTurn } from '../../rules/limits/take-in-turn.ts';
import type { Clock } from '../../runtime/world.ts';

/** How many attempts one piece starts at most. */
const STARTED_AT_ONCE = 16;
/** How long attempts may be started before the event loop handles everything else that has reached the process. */
const STARTING_MS_MAX = 4;

export interface ArrivalsOptions {
  readonly clock: Pick<Clock, 'monotonicMs' | 'soon'>;
  readonly mayStart: () => boolean;
  readonly start: (claims: readonly Claim[]) => void;
  readonly giveBack: (claims: readonly Claim[]) => void;
}

export class Arrivals {
  readonly #options: ArrivalsOptions;
  #waiting: Claim[] = [];

  constructor(options: ArrivalsOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(claims: readonly Claim[]): void {
    this.#waiting.push(...claims);
    if (this.#waiting.length > claims.length) return;
    this.#options.clock.soon(() => this.#start());
  }

  giveAllBack(): void {
    if (!this.isEmpty) this.#options.giveBack(this.#waiting.splice(0));
  }

  #start(): void {
    const { clock, mayStart, start } = this.#options;
    const sinceMs = clock.monotonicMs();
    while (!this.isEmpty && mayStart()) {
      start(this.#next());
      if (this.isEmpty || clock.monotonicMs() - sinceMs < STARTING_MS_MAX) continue;
      clock.soon(() => this.#start());
      return;
    }
    this.giveAllBack();
  }

  #next(): readonly Claim[] {
    if (this.#waiting.length <= STARTED_AT_ONCE) return this.#waiting.splice(0);
    const { taken, rest } = takeInTurn(this.#waiting, STARTED_AT_ONCE, ({ message }) => message.accountId);
    this.#waiting = rest;
    return taken;
  }
}
