// A verb that is written once, as its table lists it: its steps, and marks that tell each adapter how to run it and whom to
// tell after the commit.

import { unitsOf } from '../../rules/limits/turns.ts';
import type { Steps } from './steps.ts';

/** For which account a call works, and how much: roughly, how many messages it may write. */
export interface AccountWork {
  readonly accountId: string;
  readonly units: number;
}

/** Without a mark, a verb writes and nobody is told. */
export interface SharedMarks<A extends readonly unknown[]> {
  /**
   * It changes nothing. `lookUp` and `list` read beside the writes, what has a name and what may take a while; `written`
   * follows the writes that were asked for before it.
   */
  readonly reads?: 'lookUp' | 'list' | 'written';
  /** There may be something to claim, from this time on: the time of the call. */
  readonly makesWorkAt?: (...args: A) => number;
  /** It changes when schedules run. */
  readonly schedulesAt?: (...args: A) => readonly (number | null)[];
  /** It changes who may do what. */
  readonly changesAccess?: true;
  /** It locks the row of this account; see the adapters that have several connections. */
  readonly locksAccount?: (...args: A) => string;
  /** It is done for an account, which waits for its turn. Without this mark it is work of the node, which never waits. */
  readonly work?: (...args: A) => AccountWork;
}

export interface SharedVerb<A extends readonly unknown[], R> extends SharedMarks<A> {
  readonly steps: (...args: A) => Steps<R>;
}

/** A table of such verbs, whatever their arguments are. */
export type SharedVerbs = Readonly<Record<string, SharedMarks<never> & { steps: (...args: never) => Steps<unknown> }>>;

export function writing<A extends readonly unknown[], R>(
  steps: (...args: A) => Steps<R>,
  marks: SharedMarks<A> = {},
): SharedVerb<A, R> {
  return { ...marks, steps };
}

/** Reads what the calls before it have written. */
export function reading<A extends readonly unknown[], R>(
  steps: (...args: A) => Steps<R>,
  marks: SharedMarks<A> = {},
): SharedVerb<A, R> {
  return { reads: 'written', ...marks, steps };
}

/** Looks up what has a name. */
export function lookingUp<A extends readonly unknown[], R>(steps: (...args: A) => Steps<R>): SharedVerb<A, R> {
  return { reads: 'lookUp', steps };
}

export function listing<A extends readonly unknown[], R>(steps: (...args: A) => Steps<R>): SharedVerb<A, R> {
  return { reads: 'list', steps };
}

/** Marks for a verb whose first argument is the account. */
export const OF_ACCOUNT = { work: (accountId: string): AccountWork => ({ accountId, units: 1 }) };

/** Marks for a verb whose first argument belongs to an account. */
export const OF_ITS_ACCOUNT = {
  work: ({ accountId, body }: { readonly accountId: string; readonly body?: Uint8Array }): AccountWork => ({
    accountId,
    units: unitsOf(1, body?.length ?? 0),
  }),
};
