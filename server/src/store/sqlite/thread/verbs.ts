// The verbs of the store over one connection, and the transaction that many of them share. They run on the thread of
// the connection: the writer's, a reader's, or the caller's in the simulation.

import type { AuditRow } from '../../../rules/accounts/audit.ts';
import { ACCESS_VERBS, ACK_VERBS, HOST_VERBS, LINE_VERBS, RESOURCE_VERBS } from '../../resources/verbs.ts';
import { ExpiredTurns } from '../../shared/expired.ts';
import { Claimer } from '../deliveries/claim.ts';
import { DELIVERY_VERBS } from '../deliveries/delivery-verbs.ts';
import { Journal } from '../deliveries/journal.ts';
import { NewMessages } from '../deliveries/new-messages.ts';
import { RequestedFlowLimits } from '../deliveries/requested-flow-limits.ts';
import { brokenText, isFull, SQLITE, sqliteCode } from '../files/errors.ts';
import { ActivityCounts } from '../messages/activity.ts';
import { MESSAGE_VERBS } from '../messages/message-verbs.ts';
import { StoredByteCounts } from '../messages/stored.ts';
import { UsageCounts } from '../messages/usage.ts';
import { AccountsAtClaim } from '../resources/accounts-at-claim.ts';
import { toThreadVerbs } from '../resources/steps.ts';
import { ACCOUNT_VERBS, UPKEEP_VERBS } from '../resources/verbs.ts';
import type { Database } from './database.ts';
import type { TransactionCaches } from './transaction-caches.ts';
import type { Marks, VerbContext } from './verb.ts';

const VERBS = {
  ...DELIVERY_VERBS,
  ...UPKEEP_VERBS,
  ...MESSAGE_VERBS,
  ...toThreadVerbs(LINE_VERBS),
  ...toThreadVerbs(HOST_VERBS),
  ...toThreadVerbs(ACK_VERBS),
  ...toThreadVerbs(RESOURCE_VERBS),
  ...ACCOUNT_VERBS,
  ...toThreadVerbs(ACCESS_VERBS),
};

export type VerbName = keyof typeof VERBS;

/** The verbs, bound to a connection. */
export type Verbs = {
  readonly [V in VerbName]: (typeof VERBS)[V] extends {
    readonly run: (context: VerbContext, ...args: infer A) => infer R;
  }
    ? (...args: A) => R
    : never;
};

/** `nowMs` is a clock that never goes back. If the clock stands still, nothing is bounded in time. */
export function createVerbs(database: Database, nowMs: () => number = () => 0): Verbs {
  const stored = new StoredByteCounts(database);
  const caches: TransactionCaches = {
    newMessages: new NewMessages(database, stored),
    journal: new Journal(database),
    usage: new UsageCounts(database),
    stored,
    activity: new ActivityCounts(database),
    accountsAtClaim: new AccountsAtClaim(database),
    requestedFlowLimits: new RequestedFlowLimits(database),
    expiredTurns: new ExpiredTurns(),
  };
  const context: VerbContext = { database, caches, claimer: new Claimer(database, caches, nowMs) };
  const overDesk = Object.entries(VERBS).map(([name, { run }]) => [
    name,
    (...args: never[]) => (run as (context: VerbContext, ...args: never[]) => unknown)(context, ...args),
  ]);
  return Object.fromEntries(overDesk) as Verbs;
}

/** The marks of a verb, whatever its arguments are. */
export function marksOf(verb: VerbName): Marks<readonly unknown[], unknown> {
  return VERBS[verb] as Marks<readonly unknown[], unknown>;
}

export interface Command {
  readonly verb: VerbName;
  readonly args: readonly unknown[];
  /** The row for the audit, written in the same transaction if the verb has changed something. */
  readonly audit?: AuditRow;
}

/**
 * Why a command failed, if known: the disk is full, the thread has ended, the file cannot be read, the reply was lost.
 */
export type FailureReason = 'full' | 'unavailable' | 'unreadable' | 'doubtful';

/** The command changed nothing, unless the reason is `doubtful`. The other commands of its batch are not affected. */
export interface FailedReply {
  readonly error: string;
  readonly reason: FailureReason | null;
}

/** The transaction had no time left, and nothing of the command was run. The command must be sent again. */
export interface PutOffReply {
  readonly isPutOff: true;
}

export type Reply = { readonly value: unknown } | FailedReply | PutOffReply;

export function failedReply(error: unknown, reason: FailureReason | null = null): FailedReply {
  return { error: error instanceof Error ? error.message : String(error), reason };
}

/** It is not certain any more that the file holds what was written. A failed fsync is never tried again. */
export class StoreBroken extends Error {
  override readonly name = 'StoreBroken';
}

/** Bounds how long a transaction takes. */
export interface BatchWatch {
  /** Called before each command. False puts the command off. */
  mayRun(index: number): boolean;
  /** Called after each command that ran. */
  ran(index: number): void;
}

const NO_WATCH: BatchWatch = { mayRun: () => true, ran: () => {} };

/**
 * Runs all commands in one transaction, with one fsync. If the file is damaged, the writer throws. A reader cannot lose
 * data, so only the command that met the damage fails.
 */
export function runBatch(
  database: Database,
  verbs: Verbs,
  commands: readonly Command[],
  role: 'writer' | 'reader' = 'writer',
  watch: BatchWatch = NO_WATCH,
): Reply[] {
  try {
    return database.transaction(() =>
      commands.map((command, index): Reply => {
        if (!watch.mayRun(index)) return { isPutOff: true };
        const value = runVerb(verbs, command);
        watch.ran(index);
        return { value };
      }),
    );
  } catch (error) {
    if (role === 'writer') requireSound(error);
    if (commands.length === 1) return [failedReply(error, reasonOf(error))];
  }
  // One command failed, and all were rolled back. It is not known which one, because rows are written in groups. So
  // each half is run again, until only the bad command fails.
  const half = Math.ceil(commands.length / 2);
  const parts = [commands.slice(0, half), commands.slice(half)];
  return parts.flatMap((part) => runBatch(database, verbs, part, role));
}

function runVerb(verbs: Verbs, { verb, args, audit }: Command): unknown {
  const reply = (verbs[verb] as (...args: readonly unknown[]) => unknown)(...args);
  if (audit && marksOf(verb).audits?.(reply)) verbs.saveAudit([audit]);
  return reply;
}

function reasonOf(error: unknown): FailureReason | null {
  const code = sqliteCode(error);
  if (isFull(error)) return 'full';
  return code === SQLITE.ioError || code === SQLITE.corrupt || code === SQLITE.noDatabase ? 'unreadable' : null;
}

function requireSound(error: unknown): void {
  if (reasonOf(error) === 'unreadable') {
    throw new StoreBroken(`SQLite can no longer write its file: ${brokenText(error)}`);
  }
}
