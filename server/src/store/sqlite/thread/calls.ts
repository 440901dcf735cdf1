// How the store calls its verbs, each on the thread that its marks name. After the commit, the engine and the live
// streams are notified as the marks say.

import type { Hints } from '../../shared/hints.ts';
import { News } from '../../shared/news.ts';
import type { StandingOffer } from '../../shared/standing-offer.ts';
import type { Committer } from './committer.ts';
import type { Verb } from './verb.ts';
import { marksOf, type VerbName, type Verbs } from './verbs.ts';

/** The same verbs as functions that return promises, because the verbs run on another thread. */
export type AsyncVerbs<T> = {
  readonly [V in keyof T]: T[V] extends Verb<infer A, infer R> ? (...args: A) => Promise<R> : never;
};

/** The executors of the verbs that only read. Without reader threads, this is the writer. */
export interface Readers<R> {
  readonly lookUp: R;
  readonly list: R;
}

export class Calls {
  readonly writer: Committer;
  readonly #readers: Readers<Committer>;
  readonly #offer: StandingOffer;
  readonly #hints: Hints | null;
  readonly news: News;

  /** `hints` notify nodes that write with other executors. Null if there are no such nodes. */
  constructor(writer: Committer, readers: Readers<Committer>, offer: StandingOffer, hints: Hints | null) {
    this.writer = writer;
    this.#readers = readers;
    this.#offer = offer;
    this.#hints = hints;
    this.news = new News(hints);
  }

  /** Calls a verb, and notifies the listeners after the commit. */
  ask<V extends VerbName>(verb: V, ...args: Parameters<Verbs[V]>): Promise<ReturnType<Verbs[V]>> {
    const { reads, makesWorkAt, schedulesAt, writesJournal, changesAccess } = marksOf(verb);
    if (reads) return this.#readers[reads].call(verb, ...args);
    const asked = this.writer.call(verb, ...args);
    if (!makesWorkAt && !schedulesAt && !writesJournal && !changesAccess) return asked;
    return asked.then((reply) => {
      this.tell(verb, reply, ...args);
      return reply;
    });
  }

  /** Notifies the listeners of a verb that was committed. */
  tell<V extends VerbName>(verb: V, reply: ReturnType<Verbs[V]>, ...args: Parameters<Verbs[V]>): void {
    const { makesWorkAt, schedulesAt, writesJournal, changesAccess } = marksOf(verb);
    if (makesWorkAt) {
      const dueAt = makesWorkAt(reply, ...args);
      this.#offer.noteDue(dueAt);
      if (dueAt !== null) this.#hints?.work();
    }
    if (schedulesAt) {
      for (const at of schedulesAt(...args)) this.#offer.noteSchedule(at);
      this.#hints?.work();
    }
    if (writesJournal === true || writesJournal?.(reply)) this.news.noteJournal();
    if (changesAccess) this.news.noteAccess();
  }

  /** Tells other nodes that this node has no room for the messages that are left. Another node may have room. */
  noteLeft(): void {
    this.#hints?.work();
  }

  /** Gives all verbs of a table that the store passes on unchanged. */
  all<T extends Partial<Record<VerbName, unknown>>>(table: T): AsyncVerbs<T> {
    const names = Object.keys(table) as VerbName[];
    const asking = names.map((name) => [name, (...args: never[]) => this.ask(name, ...(args as never))]);
    return Object.fromEntries(asking) as AsyncVerbs<T>;
  }

  async close(): Promise<void> {
    const { lookUp, list } = this.#readers;
    for (const reader of [lookUp, list]) if (reader !== this.writer) await reader.close();
    await this.writer.close();
  }
}
