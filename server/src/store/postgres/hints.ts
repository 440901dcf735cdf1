// Tells the other nodes that there may be work or news, and hears it from them: a hint, never the truth. What is to be
// told within a moment is told once; a notification in every transaction would make all commits wait for each other.

import { hintEveryMs } from '../../domain/hint-pace.ts';
import type { Clock } from '../../world.ts';

export class Hints {
  readonly #node: string;
  readonly #timers: Clock;
  readonly #say: (payload: string) => void;
  #isWork = false;
  #isNews = false;
  #cancel: (() => void) | null = null;
  #everyMs = hintEveryMs(1);

  constructor(node: string, timers: Clock, say: (payload: string) => void) {
    this.#node = node;
    this.#timers = timers;
    this.#say = say;
  }

  /** How many nodes are alive: the more, the less each of them says. */
  noteNodes(nodes: number): void {
    this.#everyMs = hintEveryMs(nodes);
  }

  /** There is something to claim that this node may not take itself. */
  work(): void {
    this.#isWork = true;
    this.#gather();
  }

  /** Something was written to the journal. */
  news(): void {
    this.#isNews = true;
    this.#gather();
  }

  /** What another node said; null for what we said ourselves. */
  hear(payload: string): { isWork: boolean; isNews: boolean } | null {
    const [node, words = ''] = payload.split(' ');
    if (node === this.#node) return null;
    return { isWork: words.includes('w'), isNews: words.includes('n') };
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  /** The first word is said at once; those that follow it within a moment, together. */
  #gather(): void {
    if (this.#cancel !== null) return;
    this.#speak();
    const rest = () => {
      this.#cancel = this.#isWork || this.#isNews ? this.#timers.after(this.#everyMs, rest) : null;
      this.#speak();
    };
    this.#cancel = this.#timers.after(this.#everyMs, rest);
  }

  #speak(): void {
    if (!this.#isWork && !this.#isNews) return;
    this.#say(`${this.#node} ${this.#isWork ? 'w' : ''}${this.#isNews ? 'n' : ''}`);
    this.#isWork = false;
    this.#isNews = false;
  }
}
