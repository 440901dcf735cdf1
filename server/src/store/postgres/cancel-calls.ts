// Asks other nodes, over the channel that all of them listen to, to look which of their claims are to be cancelled, and
// hears that they have. What is not heard is not confirmed; whoever did not hear looks with its next sign of life.

import type { Clock } from '../../world.ts';

const ASK = 'cancel';
const DONE = 'cancelled';
/** A notification has 8,000 bytes at most. */
const NAMES_AT_ONCE = 100;

interface Call {
  readonly waiting: Set<string>;
  readonly confirmed: string[];
  readonly end: () => void;
}

export interface CancelCallsOptions {
  readonly node: string;
  readonly timers: Clock;
  readonly say: (payload: string) => void;
  /** Resolves when nothing that this node has claimed, and that is to be cancelled by now, can start any more. */
  readonly look: () => Promise<void>;
}

export class CancelCalls {
  readonly #options: CancelCallsOptions;
  readonly #calls = new Map<number, Call>();
  #number = 0;

  constructor(options: CancelCallsOptions) {
    this.#options = options;
  }

  /** Answers which of them have confirmed, when all have or the time is over. */
  ask(nodes: readonly string[], withinMs: number): Promise<readonly string[]> {
    const { node, timers, say } = this.#options;
    this.#number += 1;
    const number = this.#number;
    return new Promise((resolve) => {
      const confirmed: string[] = [];
      const cancelTimer = timers.after(withinMs, () => end());
      const end = () => {
        cancelTimer();
        this.#calls.delete(number);
        resolve(confirmed);
      };
      this.#calls.set(number, { waiting: new Set(nodes), confirmed, end });
      for (let at = 0; at < nodes.length; at += NAMES_AT_ONCE) {
        say([ASK, node, number, ...nodes.slice(at, at + NAMES_AT_ONCE)].join(' '));
      }
    });
  }

  /** Answers whether it was about cancels. */
  hear(payload: string): boolean {
    const [word, from = '', ...rest] = payload.split(' ');
    if (word === ASK) this.#asked(from, rest);
    else if (word === DONE) this.#confirmed(from, rest);
    else return false;
    return true;
  }

  #asked(from: string, [number, ...nodes]: readonly string[]): void {
    const { node, say, look } = this.#options;
    if (!nodes.includes(node)) return;
    look().then(
      () => say([DONE, node, from, number].join(' ')),
      () => {},
    );
  }

  #confirmed(from: string, [to, number]: readonly string[]): void {
    if (to !== this.#options.node) return;
    const call = this.#calls.get(Number(number));
    if (!call?.waiting.delete(from)) return;
    call.confirmed.push(from);
    if (call.waiting.size === 0) call.end();
  }
}
