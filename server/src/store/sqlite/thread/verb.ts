// A verb of the SQLite store as its table lists it: the function that runs on the connection, and marks that say on
// which thread it runs and whom to notify after the commit.

import type { AccountWork } from '../../resources/shared-verb.ts';
import type { Claimer } from '../deliveries/claim.ts';
import type { Database } from './database.ts';
import type { TransactionCaches } from './transaction-caches.ts';

/** What a verb works with; one for each connection. */
export interface VerbContext {
  readonly database: Database;
  readonly caches: TransactionCaches;
  readonly claimer: Claimer;
}

/** Without a mark, a verb runs on the writer's thread and nobody is notified. */
export interface Marks<A extends readonly unknown[], R> {
  /** It changes nothing, and runs on the thread that reads for look-ups by a name, or on the one for lists and searches. */
  readonly reads?: 'lookUp' | 'list';
  /** It makes work: there may be something to claim, from the time that its reply or its arguments give. */
  readonly makesWorkAt?: (reply: R, ...args: A) => number | null;
  /** It changes when schedules run. */
  readonly schedulesAt?: (...args: A) => readonly (number | null)[];
  readonly writesJournal?: true | ((reply: R) => boolean);
  /** It changes permissions. */
  readonly changesAccess?: true;
  /** It may cancel what another node has claimed. */
  readonly cancels?: true;
  /** It works for an account, which waits for its turn. Without this mark it is work of the node, which never waits. */
  readonly work?: (...args: A) => AccountWork;
  /** It is work of the node that takes long. While the accounts of its lane take turns, it is in a transaction without their work. */
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

/** A verb that only reads, on the thread that reads lists. It may take longer. */
export function listing<A extends unknown[], R>(verb: (database: Database, ...args: A) => R): Verb<A, R> {
  return on(verb, { reads: 'list' });
}

/** A verb that only reads, on the thread for look-ups by name. */
export function lookingUp<A extends unknown[], R>(verb: (database: Database, ...args: A) => R): Verb<A, R> {
  return on(verb, { reads: 'lookUp' });
}

/** A verb that needs the connection and its caches. */
export function writing<A extends unknown[], R>(
  verb: (database: Database, caches: TransactionCaches, ...args: A) => R,
  marks: Marks<A, R> = {},
): Verb<A, R> {
  return { ...marks, run: ({ database, caches }, ...args) => verb(database, caches, ...args) };
}
