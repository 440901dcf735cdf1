// A verb of the SQLite store as its table lists it: the function that runs on the connection, and the marks of the
// verb. The marks say on which thread it runs and who is notified after the commit.

import type { AccountWork } from '../../resources/shared-verb.ts';
import type { Claimer } from '../deliveries/claim.ts';
import type { Database } from './database.ts';
import type { TransactionCaches } from './transaction-caches.ts';

/** What a verb works with. Each connection has one context. */
export interface VerbContext {
  readonly database: Database;
  readonly caches: TransactionCaches;
  readonly claimer: Claimer;
}

/** A verb without marks runs on the writer's thread, and nobody is notified. */
export interface Marks<A extends readonly unknown[], R> {
  /** The verb only reads: on the thread for look-ups by a name, or on the thread for lists and searches. */
  readonly reads?: 'lookUp' | 'list';
  /** There may be something to claim after this verb, from the time that its reply or its arguments give. */
  readonly makesWorkAt?: (reply: R, ...args: A) => number | null;
  /** The verb changes when schedules run. */
  readonly schedulesAt?: (reply: R, ...args: A) => readonly (number | null)[];
  readonly writesJournal?: true | ((reply: R) => boolean);
  /** The verb changes permissions. */
  readonly changesAccess?: true;
  /** The audit has a row for each call that has changed something: returns whether it has. */
  readonly audits?: (reply: R) => boolean;
  /** The verb may cancel messages that another node has claimed. */
  readonly cancels?: true;
  /** The verb works for an account and waits for that account's turn. Verbs without this mark are work of the node. */
  readonly work?: (...args: A) => AccountWork;
  /** The verb is long work of the node. While accounts take turns, it does not share a transaction with their work. */
  readonly takesLong?: true;
}

export interface Verb<A extends readonly unknown[], R> extends Marks<A, R> {
  readonly run: (context: VerbContext, ...args: A) => R;
}

/** A verb that needs only the connection. */
export function on<A extends unknown[], R>(
  verb: (database: Database, ...args: A) => R,
  marks: Marks<A, R> = {},
): Verb<A, R> {
  return { ...marks, run: ({ database }, ...args) => verb(database, ...args) };
}

/** A verb that only reads, on the thread for lists and searches. It may take longer. */
export function listing<A extends unknown[], R>(verb: (database: Database, ...args: A) => R): Verb<A, R> {
  return on(verb, { reads: 'list' });
}

/** A verb that only reads, on the thread for look-ups by a name. */
export function lookingUp<A extends unknown[], R>(verb: (database: Database, ...args: A) => R): Verb<A, R> {
  return on(verb, { reads: 'lookUp' });
}

/** A verb that also needs the caches of the transaction. */
export function withCaches<A extends unknown[], R>(
  verb: (database: Database, caches: TransactionCaches, ...args: A) => R,
  marks: Marks<A, R> = {},
): Verb<A, R> {
  return { ...marks, run: ({ database, caches }, ...args) => verb(database, caches, ...args) };
}
