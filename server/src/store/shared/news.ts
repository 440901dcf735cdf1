// Notifies this node's listeners, and other nodes, that the journal has new rows or that somebody's access has changed.

import type { Hints, ReceivedHint } from './hints.ts';

export class News {
  readonly #hints: Hints | null;
  readonly #journalListeners = new Set<() => void>();
  readonly #accessListeners = new Set<() => void>();

  /** `hints` is null if there are no other nodes. */
  constructor(hints: Hints | null) {
    this.#hints = hints;
  }

  noteJournal(): void {
    for (const listener of this.#journalListeners) listener();
    this.#hints?.news();
  }

  /** Notifies only other nodes, because the part of this node that changes access knows of the change. */
  noteAccess(): void {
    this.#hints?.access();
  }

  hear({ isNews, isAccess }: Pick<ReceivedHint, 'isNews' | 'isAccess'>): void {
    if (isNews) for (const listener of this.#journalListeners) listener();
    if (isAccess) for (const listener of this.#accessListeners) listener();
  }

  onJournal(listener: () => void): () => void {
    this.#journalListeners.add(listener);
    this.#hints?.follow(true);
    return () => {
      this.#journalListeners.delete(listener);
      this.#hints?.follow(this.#journalListeners.size > 0);
    };
  }

  onAccess(listener: () => void): void {
    this.#accessListeners.add(listener);
  }
}
