// A verb that is written once, as its table lists it: its steps, and marks that say how each adapter runs it and whom
// it notifies after the commit.

import { unitsOf } from '../../rules/limits/turns.ts';
import type { Steps } from './steps.ts';

/** The account that a call works for, and the amount of work: roughly, how many messages it may write. */
export interface AccountWork {
  readonly accountId: string;
  readonly units: number;
}

/** `now` is the time of the call that wrote it. */
export interface MadeWork {
  readonly dueAt: number | null;
  readonly now: number;
}

/** Without a mark, a verb writes and nobody is notified. */
export interface SharedMarks<A extends readonly unknown[], R> {
  /**
   * It changes nothing. `lookUp` (by name) and `list` (which may take longer) read beside the writes; `written` follows
   * the writes that were requested before it.
   */
  readonly reads?: 'lookUp' | 'list' | 'written';
  /** There may be something to claim. */
  readonly makesWork?: (reply: R, ...args: A) => MadeWork;
  /** It changes when schedules run. */
  readonly schedulesAt?: (...args: A) => readonly (number | null)[];
  readonly writesJournal?: true;
  /** It changes permissions. */
  readonly changesAccess?: true;
  /** It locks the row of this account; see the adapters that have several connections. */
  readonly locksAccount?: (...args: A) => string;
  /** It works for an account, which waits for its turn. Without this mark it is work of the node, which never waits. */
  readonly work?: (...args: A) => AccountWork;
}

type Made = (...args: never) => Steps<unknown>;
type ResultOf<F> = F extends (...args: never) => Steps<infer R> ? R : never;
type MarksOf<F extends Made> = SharedMarks<Parameters<F>, ResultOf<F>>;

export type SharedVerb<F extends Made> = MarksOf<F> & { readonly steps: F };

/** A table of such verbs, whatever their arguments are. */
export type SharedVerbs = Readonly<Record<string, SharedMarks<never, never> & { readonly steps: Made }>>;

export function writing<F extends Made>(steps: F, marks: MarksOf<F> = {}): SharedVerb<F> {
  return { ...marks, steps };
}

/** Reads what the calls before it have written. */
export function reading<F extends Made>(steps: F, marks: MarksOf<F> = {}): SharedVerb<F> {
  return writing(steps, { reads: 'written', ...marks });
}

/** Looks up what has a name. */
export function lookingUp<F extends Made>(steps: F): SharedVerb<F> {
  return writing(steps, { reads: 'lookUp' });
}

export function listing<F extends Made>(steps: F): SharedVerb<F> {
  return writing(steps, { reads: 'list' });
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
