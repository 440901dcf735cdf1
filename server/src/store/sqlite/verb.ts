// A verb of the SQLite store as its table has it: what runs on the connection, and beside it the marks by which the rest of the
// adapter knows on which thread it runs and what is to be told once it is written.

import type { Books } from './books.ts';
import type { Claimer } from './claim.ts';
import type { Database } from './database.ts';

/** What a verb works with, one for each connection. */
export interface Desk {
  readonly database: Database;
  readonly books: Books;
  readonly claimer: Claimer;
}

/** How many messages a call may change, and whose. */
export interface AccountChange {
  readonly accountId: string;
  readonly messages: number;
}

/** Without a mark, a verb runs on the thread of the writer and nobody is told. */
export interface Marks<A extends readonly unknown[], R> {
  /** It runs on the thread of the reader, and changes nothing. */
  readonly isRead?: true;
  /** It makes work: there may be something to claim, from when its reply or its arguments say. */
  readonly makesWorkAt?: (reply: R, ...args: A) => number | null;
  /** It lets schedules run at other times. */
  readonly schedulesAt?: (...args: A) => readonly (number | null)[];
  readonly writesJournal?: true;
  /** It may cancel what another node has claimed. */
  readonly cancels?: true;
  /** A person calls it, and it may change many messages: in one transaction, an account has a bounded number of them changed. */
  readonly changes?: (...args: A) => AccountChange;
}

export interface Verb<A extends readonly unknown[], R> extends Marks<A, R> {
  readonly run: (desk: Desk, ...args: A) => R;
}

/** Over the connection alone. */
export function on<A extends unknown[], R>(
  verb: (database: Database, ...args: A) => R,
  marks: Marks<A, R> = {},
): Verb<A, R> {
  return { ...marks, run: ({ database }, ...args) => verb(database, ...args) };
}

/** The same, on the thread of the reader. */
export function reading<A extends unknown[], R>(verb: (database: Database, ...args: A) => R): Verb<A, R> {
  return on(verb, { isRead: true });
}

/** Over the connection and its books. */
export function writing<A extends unknown[], R>(
  verb: (database: Database, books: Books, ...args: A) => R,
  marks: Marks<A, R> = {},
): Verb<A, R> {
  return { ...marks, run: ({ database, books }, ...args) => verb(database, books, ...args) };
}
