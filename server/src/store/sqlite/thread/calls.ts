// How the store calls its verbs, each on the thread that its marks name. After the commit, the engine and the live
// streams are notified as the marks say.

import { withNote } from '../../shared/audit-note.ts';
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

/** Where verbs that only read run: look-ups by name, and lists. Without reader threads, both are the writer. */
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
    const { reads, makesWorkAt, schedulesAt, writesJournal, changesAccess, audits } = marksOf(verb);
    if (reads) return this.#readers[reads].call(verb, ...args);
    const asked = audits
      ? withNote(audits, (row) => this.writer.callAudited(row, verb, ...args))
      : this.writer.call(verb, ...args);
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
      for (const at of schedulesAt(reply, ...args)) this.#offer.noteSchedule(at);
      this.#hints?.work();
    }
    if (writesJournal === true || writesJournal?.(reply)) this.news.noteJournal();
    if (changesAccess) this.news.noteAccess();
  }

  /** Tells other nodes that this node left ready messages, for which it has no slot. Another node may have one. */
  hintAtLeftMessages(): void {
    this.#hints?.work();
  }

  /** For each verb of the table: a function that calls the verb through `ask`. */
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
