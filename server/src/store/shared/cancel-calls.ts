// Asks other nodes, over the channel that all nodes listen to, to look for claims that must be cancelled, and waits for
// their confirmation. A node that does not reply has confirmed nothing. A node that missed the notification looks at
// its next heartbeat.

import type { Clock } from '../../runtime/world.ts';

const ASK = 'cancel';
const DONE = 'cancelled';
/** Limit for the nodes in one notification, because a notification has at most 8,000 bytes. */
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
  /** Resolves when this node starts no more attempts of messages whose cancel was requested before this call. */
  readonly look: () => Promise<void>;
}

export class CancelCalls {
  readonly #options: CancelCallsOptions;
  readonly #calls = new Map<number, Call>();
  #number = 0;

  constructor(options: CancelCallsOptions) {
    this.#options = options;
  }

  /** Returns the nodes that have confirmed, as soon as all of them have confirmed or the time is over. */
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

  /** Handles a notification of another node. Returns false if it is not about cancels. */
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
