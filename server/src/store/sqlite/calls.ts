// How the store calls its verbs: on the thread that the verb's marks name. After the commit, the engine and the live
// streams are told what the marks say.

import type { StandingOffer } from '../standing-offer.ts';
import type { Committer } from './committer.ts';
import type { Verb } from './verb.ts';
import { marksOf, type VerbName, type Verbs } from './verbs.ts';

/** The same verbs as promises: they run on another thread. */
export type Asked<T> = {
  readonly [V in keyof T]: T[V] extends Verb<infer A, infer R> ? (...args: A) => Promise<R> : never;
};

export class Calls {
  readonly writer: Committer;
  readonly #reader: Committer;
  readonly #offer: StandingOffer;
  readonly #journalListeners = new Set<() => void>();

  constructor(writer: Committer, reader: Committer, offer: StandingOffer) {
    this.writer = writer;
    this.#reader = reader;
    this.#offer = offer;
  }

  /** Calls a verb, and then tells the listeners. */
  ask<V extends VerbName>(verb: V, ...args: Parameters<Verbs[V]>): Promise<ReturnType<Verbs[V]>> {
    const { isRead, makesWorkAt, schedulesAt, writesJournal } = marksOf(verb);
    if (isRead) return this.#reader.call(verb, ...args);
    const asked = this.writer.call(verb, ...args);
    if (!makesWorkAt && !schedulesAt && !writesJournal) return asked;
    return asked.then((reply) => {
      this.tell(verb, reply, ...args);
      return reply;
    });
  }

  /** Tells the listeners about a verb that was committed. */
  tell<V extends VerbName>(verb: V, reply: ReturnType<Verbs[V]>, ...args: Parameters<Verbs[V]>): void {
    const { makesWorkAt, schedulesAt, writesJournal } = marksOf(verb);
    if (makesWorkAt) this.#offer.noteDue(makesWorkAt(reply, ...args));
    if (schedulesAt) for (const at of schedulesAt(...args)) this.#offer.noteSchedule(at);
    if (writesJournal) this.noteJournal();
  }

  /** All verbs of a table, without extra code around them. */
  all<T extends Partial<Record<VerbName, unknown>>>(table: T): Asked<T> {
    const names = Object.keys(table) as VerbName[];
    const asking = names.map((name) => [name, (...args: never[]) => this.ask(name, ...(args as never))]);
    return Object.fromEntries(asking) as Asked<T>;
  }

  noteJournal(): void {
    for (const listener of this.#journalListeners) listener();
  }

  onJournal(listener: () => void): () => void {
    this.#journalListeners.add(listener);
    return () => this.#journalListeners.delete(listener);
  }

  async close(): Promise<void> {
    if (this.#reader !== this.writer) await this.#reader.close();
    await this.writer.close();
  }
}
