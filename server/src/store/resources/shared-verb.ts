// A verb that is written once for all adapters, as its table lists it: its steps, and marks that say how each adapter
// runs the verb and whom it notifies after the commit.

import { workUnitsOf } from '../../rules/limits/turns.ts';
import type { Steps } from './steps.ts';

/** The account for which a call works, and the amount of work: roughly, how many messages the call may write. */
export interface AccountWork {
  readonly accountId: string;
  readonly units: number;
}

/** Work that a verb has created: when it is due (null if there is none), and the time of the call that wrote it. */
export interface MadeWork {
  readonly dueAt: number | null;
  readonly now: number;
}

/** The marks of a verb. A verb without marks writes, and notifies nobody. */
export interface SharedMarks<A extends readonly unknown[], R> {
  /**
   * The verb changes nothing. `lookUp` (by name) and `list` (which may take longer) run beside the writes; `written`
   * runs after the writes that were requested before it.
   */
  readonly reads?: 'lookUp' | 'list' | 'written';
  /** After the verb there may be something to claim. */
  readonly makesWork?: (reply: R, ...args: A) => MadeWork;
  /** The verb changes the times at which schedules run: returns the new times. */
  readonly schedulesAt?: (reply: R, ...args: A) => readonly (number | null)[];
  readonly writesJournal?: true;
  /** The verb changes permissions. */
  readonly changesAccess?: true;
  /** Returns the account whose row the verb locks. Adapters with several connections run such calls one at a time. */
  readonly locksAccount?: (...args: A) => string;
  /**
   * People call the verb, and the audit has a row for each call that has changed something: returns whether it has. The
   * row is written in the transaction of the verb (store/shared/audit-note.ts).
   */
  readonly audits?: (reply: R) => boolean;
  /**
   * The verb works for an account and waits for the turn of that account. Without this mark the verb is work of the
   * node, which never waits.
   */
  readonly work?: (...args: A) => AccountWork;
}

type Made = (...args: never) => Steps<unknown>;
type ResultOf<F> = F extends (...args: never) => Steps<infer R> ? R : never;
type MarksOf<F extends Made> = SharedMarks<Parameters<F>, ResultOf<F>>;

export type SharedVerb<F extends Made> = MarksOf<F> & { readonly steps: F };

/** A table of verbs that are written once for all adapters, whatever their arguments are. */
export type SharedVerbs = Readonly<Record<string, SharedMarks<never, never> & { readonly steps: Made }>>;

/** A verb that writes, unless its marks say that it only reads. */
export function writing<F extends Made>(steps: F, marks: MarksOf<F> = {}): SharedVerb<F> {
  return { ...marks, steps };
}

/** A verb that reads what the calls before it have written. */
export function reading<F extends Made>(steps: F, marks: MarksOf<F> = {}): SharedVerb<F> {
  return writing(steps, { reads: 'written', ...marks });
}

/** A verb that reads one thing by its name. */
export function lookingUp<F extends Made>(steps: F): SharedVerb<F> {
  return writing(steps, { reads: 'lookUp' });
}

/** A verb that reads a list, which may take longer than a look-up. */
export function listing<F extends Made>(steps: F): SharedVerb<F> {
  return writing(steps, { reads: 'list' });
}

/** Marks for a verb that people call, and that always changes something. */
export const AUDITED = { audits: () => true } as const;

/** Marks for a verb that people call, and that returns false or null if it has changed nothing. */
export const AUDITED_IF_CHANGED = {
  audits: (reply: unknown): boolean => reply !== false && reply !== null,
} as const;

/** Marks for a verb whose first argument is the account. */
export const OF_ACCOUNT = { work: (accountId: string): AccountWork => ({ accountId, units: 1 }) };

/** Marks for a verb whose first argument belongs to an account. */
export const OF_ITS_ACCOUNT = {
  work: ({ accountId, body }: { readonly accountId: string; readonly body?: Uint8Array }): AccountWork => ({
    accountId,
    units: workUnitsOf(1, body?.length ?? 0),
  }),
};
