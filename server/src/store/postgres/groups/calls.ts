// How the store calls its verbs: each on its own connection, as a read or in a transaction. The marks of a verb say who
// is notified after the commit.

import type { OnCommit } from '../../ports/store.ts';
import type { MadeWork } from '../../resources/shared-verb.ts';
import type { Hints } from '../../shared/hints.ts';
import type { News } from '../../shared/news.ts';
import type { StandingOffer } from '../../shared/standing-offer.ts';
import type { Database } from '../sessions/database.ts';
import { toStoreErrors } from '../sessions/errors.ts';
import type { Pool } from '../sessions/pool.ts';

/** Work that is due later than this is found in time by every node without a hint. */
const HINT_WITHIN_MS = 5000;

/** The marks of a verb. Without a mark, nobody is notified. */
export interface Marks<A extends readonly unknown[], R> {
  /** There may be a message to claim after the call. */
  readonly makesWork?: (reply: R, ...args: A) => MadeWork;
  /** The call changes the times at which schedules run: returns the new times. */
  readonly schedulesAt?: (reply: R, ...args: A) => readonly (number | null)[];
  readonly writesJournal?: true | ((reply: R) => boolean);
  /** The call changes permissions. */
  readonly changesAccess?: true;
  /**
   * Returns the account whose row the call locks. Such calls of one account run one at a time on this node. In the
   * database they would wait for one another, each with a connection, until one has waited too long and is refused.
   */
  readonly locksAccount?: (...args: A) => string;
}

type Verb<A extends readonly unknown[], R> = (database: Database, ...args: A) => Promise<R>;
type AsyncVerb<A extends readonly unknown[], R> = (...args: A) => Promise<R>;

export interface CallsOptions {
  readonly pool: Pool;
  readonly offer: StandingOffer;
  readonly hints: Hints;
  readonly news: News;
  readonly nowMs: () => number;
  readonly onCommit: OnCommit;
}

export class Calls {
  readonly #pool: Pool;
  readonly #offer: StandingOffer;
  readonly #hints: Hints;
  readonly #nowMs: () => number;
  readonly news: News;
  readonly onCommit: OnCommit;
  /** The newest call that locks the row of the account, by account. */
  readonly #locking = new Map<string, Promise<unknown>>();

  constructor({ pool, offer, hints, news, nowMs, onCommit }: CallsOptions) {
    this.#nowMs = nowMs;
    this.onCommit = onCommit;
    this.#pool = pool;
    this.#offer = offer;
    this.#hints = hints;
    this.news = news;
  }

  reading<A extends unknown[], R>(verb: Verb<A, R>): AsyncVerb<A, R> {
    return (...args) => toStoreErrors(this.#pool.read((database) => verb(database, ...args)));
  }

  writing<A extends unknown[], R>(verb: Verb<A, R>, marks: Marks<A, R> = {}): AsyncVerb<A, R> {
    const { locksAccount } = marks;
    return async (...args) => {
      const run = async () => {
        const beganAtMs = this.#nowMs();
        const reply = await toStoreErrors(this.#pool.transaction((database) => verb(database, ...args)));
        this.onCommit(this.#nowMs() - beganAtMs, 1);
        return reply;
      };
      const reply = await (locksAccount ? this.#alone(locksAccount(...args), run) : run());
      this.#tell(marks, reply, args);
      return reply;
    };
  }

  async #alone<R>(accountId: string, run: () => Promise<R>): Promise<R> {
    const before = this.#locking.get(accountId) ?? Promise.resolve();
    const call = before.then(run, run);
    this.#locking.set(accountId, call);
    try {
      return await call;
    } finally {
      if (this.#locking.get(accountId) === call) this.#locking.delete(accountId);
    }
  }

  #tell<A extends readonly unknown[], R>(marks: Marks<A, R>, reply: R, args: A): void {
    const { makesWork, schedulesAt, writesJournal, changesAccess } = marks;
    if (makesWork) this.noteDue(makesWork(reply, ...args));
    if (schedulesAt) {
      for (const at of schedulesAt(reply, ...args)) this.#offer.noteSchedule(at);
      this.#hints.work();
    }
    if (writesJournal === true || writesJournal?.(reply)) this.news.noteJournal();
    if (changesAccess) this.news.noteAccess();
  }

  noteDue({ dueAt, now }: MadeWork): void {
    this.#offer.noteDue(dueAt);
    if (dueAt === null || dueAt > now + HINT_WITHIN_MS) return;
    // This node claims what is due now if it has free slots, and notifies the others of the messages it leaves. For
    // work that is due later, it may have no free slot by then.
    if (dueAt > now || !this.#offer.hasRoom) this.#hints.work();
  }
}
