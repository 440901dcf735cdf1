// The store's verbs as plain functions over one connection, and the transaction that many of them share. Runs
// wherever the connection lives: on the writer's thread, or in the caller's for the simulation.

import type { Claim, Settlement } from '../../domain/message.ts';
import type { TierName } from '../../domain/tier.ts';
import type { ListPart } from '../list-piece.ts';
import type { Estate } from '../succession.ts';
import { type AcceptCommand, accept } from './accept.ts';
import * as accounts from './accounts.ts';
import { ActivityCounts, activity, foldActivity } from './activity.ts';
import { claimAlone, recovery, releaseHeld } from './alone.ts';
import type { Books } from './books.ts';
import { cancel, cancelHolders, cancelledClaims } from './cancel.ts';
import { type ClaimCommand, Claimer, leasesOf, orphanedClaims, release } from './claim.ts';
import type { Database } from './database.ts';
import * as deadLetters from './dead-letters.ts';
import { brokenText, SQLITE, sqliteCode } from './errors.ts';
import * as events from './events.ts';
import * as flowKeys from './flow-key-verbs.ts';
import * as jobs from './jobs.ts';
import { deleteJournal, Journal } from './journal.ts';
import * as messages from './messages.ts';
import * as queues from './queues.ts';
import { SaidLimits } from './said-limits.ts';
import * as schedules from './schedules.ts';
import * as search from './search.ts';
import * as sessions from './sessions.ts';
import { deliverNow, settle } from './settle.ts';
import * as statistics from './statistics.ts';
import * as time from './time.ts';
import * as topics from './topics.ts';
import { Usage } from './usage.ts';
import { whyFacts } from './why.ts';

type Rest<F> = F extends (database: Database, ...rest: infer R) => infer T ? (...rest: R) => T : never;
type RestOfWriting<F> = F extends (database: Database, books: Books, ...rest: infer R) => infer T
  ? (...rest: R) => T
  : never;

export function createVerbs(database: Database) {
  const books: Books = {
    journal: new Journal(database),
    usage: new Usage(database),
    activity: new ActivityCounts(database),
    accountsAtClaim: new accounts.AccountsAtClaim(database),
    saidLimits: new SaidLimits(database),
  };
  const claimer = new Claimer(database, books);
  const on = <F extends (database: Database, ...rest: never[]) => unknown>(verb: F) =>
    ((...rest: never[]) => verb(database, ...rest)) as unknown as Rest<F>;
  const writing = <F extends (database: Database, books: Books, ...rest: never[]) => unknown>(verb: F) =>
    ((...rest: never[]) => verb(database, books, ...rest)) as unknown as RestOfWriting<F>;
  const onFlowKeys = <F extends (database: Database, ...rest: never[]) => unknown>(verb: F) =>
    ((...rest: never[]) => {
      books.saidLimits.apply();
      return verb(database, ...rest);
    }) as unknown as Rest<F>;
  return {
    accept: (command: AcceptCommand) => accept(database, books, command),
    claim: (command: ClaimCommand) => claimer.claim(command),
    settle: (settlements: readonly Settlement[], now: number, estate: Estate | null) =>
      settle(database, books, settlements, now, estate),
    release: writing(release),
    heartbeat: on(time.heartbeat),
    storedTime: on(time.storedTime),
    scheduleTimes: on(time.scheduleTimes),
    moveSchedules: on(time.moveSchedules),
    orphanedClaims: (node: string, aliveAt: number): Claim[] => orphanedClaims(database, node, aliveAt),
    leasesOf: on(leasesOf),
    claimAlone: writing(claimAlone),
    recovery: on(recovery),
    releaseHeld: writing(releaseHeld),
    cancel: writing(cancel),
    cancelledClaims: on(cancelledClaims),
    cancelHolders: on(cancelHolders),
    deliverNow: on(deliverNow),
    getMessage: on(messages.getMessage),
    messageStates: on(messages.messageStates),
    whyFacts: on(whyFacts),
    searchMessages: on(search.searchMessages),
    countPiece: on(search.countPiece),
    listEvents: on(events.listEvents),
    journalEnd: on(events.journalEnd),
    deleteExpired: on(messages.deleteExpired),
    deleteJournal: on(deleteJournal),
    deleteDeduplication: (now: number, limit: number): number =>
      database.run(
        `DELETE FROM deduplication WHERE (account_id, key) IN
           (SELECT account_id, key FROM deduplication WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
        now,
        limit,
      ),
    counts: on(messages.countMessages),
    standing: on(statistics.standing),
    activity: on(activity),
    foldActivity: on(foldActivity),
    failureGroups: on(statistics.failureGroups),
    deleteDeadLetters: on(deadLetters.deleteDeadLetters),
    retryDeadLetters: writing(deadLetters.retryDeadLetters),
    saveQueue: on(queues.saveQueue),
    getQueue: on(queues.getQueue),
    listQueues: on(queues.listQueues),
    countQueues: on(queues.countQueues),
    countLine: on(queues.countLine),
    deleteQueue: on(queues.deleteQueue),
    getFlowKey: onFlowKeys(flowKeys.getFlowKey),
    listFlowKeys: onFlowKeys(flowKeys.listFlowKeys),
    pauseFlowKey: onFlowKeys(flowKeys.pauseFlowKey),
    pinFlowKey: onFlowKeys(flowKeys.pinFlowKey),
    resetFlowRate: onFlowKeys(flowKeys.resetFlowRate),
    saveSchedule: on(schedules.saveSchedule),
    getSchedule: on(schedules.getSchedule),
    listSchedules: on(schedules.listSchedules),
    countSchedules: on(schedules.countSchedules),
    deleteSchedule: on(schedules.deleteSchedule),
    setScheduleNext: on(schedules.setScheduleNext),
    dueSchedules: on(schedules.dueSchedules),
    fireSchedules: writing(schedules.fireSchedules),
    createJob: on(jobs.createJob),
    getJob: on(jobs.getJob),
    listJobs: on(jobs.listJobs),
    runningJobs: on(jobs.runningJobs),
    advanceJob: on(jobs.advanceJob),
    runJobStep: writing(jobs.runJobStep),
    stopJob: on(jobs.stopJob),
    getTopic: on(topics.getTopic),
    listTopics: on(topics.listTopics),
    saveTopic: on(topics.saveTopic),
    createAccount: on(accounts.createAccount),
    getAccount: on(accounts.getAccount),
    listAccounts: on(accounts.listAccounts),
    setTier: (accountId: string, tier: TierName): boolean => {
      books.accountsAtClaim.forget();
      return accounts.setTier(database, accountId, tier);
    },
    getSigningKeys: on(accounts.getSigningKeys),
    rotateSigningKeys: (accountId: string, next: string, fresh: string) => {
      books.accountsAtClaim.forget();
      return accounts.rotateSigningKeys(database, accountId, next, fresh);
    },
    createToken: on(accounts.createToken),
    findToken: on(accounts.findToken),
    listTokens: on(accounts.listTokens),
    revokeToken: on(accounts.revokeToken),
    createFirstAdmin: on(accounts.createFirstAdmin),
    accountsKnownBy: on(accounts.accountsKnownBy),
    revokeHashes: on(accounts.revokeHashes),
    touchToken: on(accounts.touchToken),
    createSession: on(sessions.createSession),
    findSession: on(sessions.findSession),
    endSession: on(sessions.endSession),
    areAdmitted: on(sessions.areAdmitted),
    usage: (accountId: string, fromDay: string, toDay: string, part?: ListPart) =>
      books.usage.list(accountId, fromDay, toDay, part),
  };
}

export type Verbs = ReturnType<typeof createVerbs>;

export interface Command {
  readonly verb: keyof Verbs;
  readonly args: readonly unknown[];
}

/**
 * Why a command failed, where that is known: what it needs is full, its thread is away, its file cannot be read, or its
 * answer was lost.
 */
export type FailureReason = 'full' | 'unavailable' | 'unreadable' | 'doubtful';

/** This command changed nothing, unless it is doubtful; the others of its batch are not concerned. */
export interface FailedReply {
  readonly error: string;
  readonly reason: FailureReason | null;
}

export type Reply = { readonly value: unknown } | FailedReply;

export function failedReply(error: unknown, reason: FailureReason | null = null): FailedReply {
  return { error: error instanceof Error ? error.message : String(error), reason };
}

/** The file can no longer be trusted to hold what we write. An fsync that failed is never tried again. */
export class StoreBroken extends Error {
  override readonly name = 'StoreBroken';
}

/**
 * Runs all commands in one transaction: one fsync for all of them. A writer whose file is damaged throws; a reader has
 * nothing to lose, so that only the command fails that met the damage.
 */
export function runBatch(
  database: Database,
  verbs: Verbs,
  commands: readonly Command[],
  role: 'writer' | 'reader' = 'writer',
): Reply[] {
  const run = (command: Command): Reply => {
    const verb = verbs[command.verb] as (...args: readonly unknown[]) => unknown;
    return { value: verb(...command.args) };
  };
  try {
    return database.transaction(() => commands.map(run));
  } catch (error) {
    if (role === 'writer') requireSound(error);
  }
  // One of them failed and took the others with it: each again by itself, so that only the bad one fails.
  return commands.map((command) => {
    try {
      return database.transaction(() => run(command));
    } catch (error) {
      if (role === 'writer') requireSound(error);
      return failedReply(error, reasonOf(error));
    }
  });
}

function reasonOf(error: unknown): FailureReason | null {
  const code = sqliteCode(error);
  if (code === SQLITE.full) return 'full';
  return code === SQLITE.ioError || code === SQLITE.corrupt || code === SQLITE.noDatabase ? 'unreadable' : null;
}

function requireSound(error: unknown): void {
  if (reasonOf(error) === 'unreadable') {
    throw new StoreBroken(`SQLite can no longer write its file: ${brokenText(error)}`);
  }
}
