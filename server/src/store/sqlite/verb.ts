// A verb of the SQLite store as its table lists it: the function that runs on the connection, and marks that tell the
// adapter on which thread it runs and whom to tell after the commit.

import type { Books } from './books.ts';
import type { Claimer } from './claim.ts';
import type { Database } from './database.ts';

/** What a verb works with; one for each connection. */
export interface Desk {
  readonly database: Database;
  readonly books: Books;
  readonly claimer: Claimer;
}

/** How many messages a call may change, and of which account. */
export interface AccountChange {
  readonly accountId: string;
  readonly messages: number;
}

/** Without a mark, a verb runs on the writer's thread and nobody is told. */
export interface Marks<A extends readonly unknown[], R> {
  /** It changes nothing and runs on the reader's thread. */
  readonly isRead?: true;
  /** It makes work: there may be something to claim, from the time that its reply or its arguments give. */
  readonly makesWorkAt?: (reply: R, ...args: A) => number | null;
  /** It changes when schedules run. */
  readonly schedulesAt?: (...args: A) => readonly (number | null)[];
  readonly writesJournal?: true | ((reply: R) => boolean);
  /** It changes who may do what. */
  readonly changesAccess?: true;
  /** It may cancel what another node has claimed. */
  readonly cancels?: true;
  /**
   * People call it, and it may change many messages. In one transaction, an account can change only a bounded number.
   */
  readonly changes?: (...args: A) => AccountChange;
}

export interface Verb<A extends readonly unknown[], R> extends Marks<A, R> {
  readonly run: (desk: Desk, ...args: A) => R;
}

/** A verb that needs only the connection. */
export function on<A extends unknown[], R>(
  verb: (database: Database, ...args: A) => R,
  marks: Marks<A, R> = {},
): Verb<A, R> {
  return { ...marks, run: ({ database }, ...args) => verb(database, ...args) };
}

/** The same, on the reader's thread. */
export function reading<A extends unknown[], R>(verb: (database: Database, ...args: A) => R): Verb<A, R> {
  return on(verb, { isRead: true });
}

/** A verb that needs the connection and its books. */
export function writing<A extends unknown[], R>(
  verb: (database: Database, books: Books, ...args: A) => R,
  marks: Marks<A, R> = {},
): Verb<A, R> {
  return { ...marks, run: ({ database, books }, ...args) => verb(database, books, ...args) };
}
