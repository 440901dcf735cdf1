// Tells the other nodes that there may be work or new events, or that somebody lost access, and hears it from them. It
// is only a hint. Hints within a short time are sent as one: a notification in every transaction would make all commits
// of a database wait for each other.

import { hintEveryMs, newsEveryMs } from '../domain/hint-pace.ts';
import type { Clock } from '../world.ts';

/** What another node has hinted at. */
export interface Heard {
  readonly isWork: boolean;
  readonly isNews: boolean;
  readonly isAccess: boolean;
}

export class Hints {
  readonly #node: string;
  readonly #timers: Clock;
  readonly #say: (payload: string) => void;
  #isWork = false;
  #isNews = false;
  #isAccess = false;
  /** Cancels the timer of the next hint; null if the last hint was long ago. News alone have a timer of their own. */
  #cancel: (() => void) | null = null;
  #cancelNews: (() => void) | null = null;
  #nodes = 1;

  constructor(node: string, timers: Clock, say: (payload: string) => void) {
    this.#node = node;
    this.#timers = timers;
    this.#say = say;
  }

  /** The number of live nodes: the more there are, the less often each sends a hint. */
  noteNodes(nodes: number): void {
    this.#nodes = nodes;
  }

  /** There is something to claim that this node may not be able to take. */
  work(): void {
    this.#isWork = true;
    this.#gather();
  }

  /** The journal has new rows. */
  news(): void {
    this.#isNews = true;
    this.#gatherNews();
  }

  /** A token, a session or an account has changed, so what is remembered of them may be wrong. */
  access(): void {
    this.#isAccess = true;
    this.#gather();
  }

  /** What another node sent; null for our own hints. */
  hear(payload: string): Heard | null {
    const [node, words = ''] = payload.split(' ');
    if (node === this.#node) return null;
    return { isWork: words.includes('w'), isNews: words.includes('n'), isAccess: words.includes('a') };
  }

  close(): void {
    this.#cancel?.();
    this.#cancelNews?.();
    this.#cancel = null;
    this.#cancelNews = null;
  }

  /** The first hint is sent at once; those that follow soon are sent together. */
  #gather(): void {
    if (this.#cancel !== null) return;
    this.#speak();
    const rest = () => {
      this.#cancel = this.#isUrgent ? this.#timers.after(hintEveryMs(this.#nodes), rest) : null;
      if (this.#isUrgent) this.#speak();
    };
    this.#cancel = this.#timers.after(hintEveryMs(this.#nodes), rest);
  }

  #gatherNews(): void {
    if (this.#cancelNews !== null) return;
    this.#speak();
    const rest = () => {
      this.#cancelNews = this.#isNews ? this.#timers.after(newsEveryMs(this.#nodes), rest) : null;
      this.#speak();
    };
    this.#cancelNews = this.#timers.after(newsEveryMs(this.#nodes), rest);
  }

  #speak(): void {
    if (!this.#hasHint) return;
    this.#say(`${this.#node} ${this.#isWork ? 'w' : ''}${this.#isNews ? 'n' : ''}${this.#isAccess ? 'a' : ''}`);
    this.#isWork = false;
    this.#isNews = false;
    this.#isAccess = false;
  }

  get #hasHint(): boolean {
    return this.#isUrgent || this.#isNews;
  }

  get #isUrgent(): boolean {
    return this.#isWork || this.#isAccess;
  }
}
