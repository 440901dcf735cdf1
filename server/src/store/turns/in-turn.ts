// Wraps the store so that accounts take turns. However many calls one account makes at once, it delays another account
// by at most one piece of work, and never delays the node's own work.

import type { Store } from '../ports/store.ts';
import { notingChanges } from '../shared/audit-note.ts';
import { currentCaller, dropReadsOfGoneCallers, runForAllCallers } from './current-caller.ts';
import { countingInPieces, listingInPieces, searchingInPieces } from './pages-in-pieces.ts';
import { TurnsOfAccounts } from './turns-of-accounts.ts';

/** How many calls of each kind run at once. */
export interface CallsAtOnce {
  /** Lists, searches and counts. */
  readonly lists: number;
  /** Reads of one thing by its name. These reads never wait for a search. */
  readonly lookUps: number;
  /**
   * Whether reads that a request needs before it can continue, for example of its topic, take turns with the look-ups
   * as well.
   */
  readonly areNeedsInTurn: boolean;
  /** Changes that people make. Null if the store itself makes accounts take turns. */
  readonly changes: number | null;
}

/** Stands in place of an account for calls of the operator. */
const NOBODY = '';

type OfAccount<A extends readonly unknown[], T> = (accountId: string, ...rest: A) => Promise<T>;

function takingTurns(turns: TurnsOfAccounts) {
  return <A extends readonly unknown[], T>(verb: OfAccount<A, T>): OfAccount<A, T> =>
    (accountId, ...rest) =>
      turns.run(accountId, () => runForAllCallers(() => verb(accountId, ...rest)), currentCaller());
}

/**
 * Calls of people wait until it is the turn of their account. The node's own work (accept, claim, settle, upkeep) and
 * the check of tokens do not: each kind of call leaves some of the store's connections free for them.
 */
export function withTurnsOfAccounts(
  store: Store,
  { lists, lookUps, areNeedsInTurn, changes }: CallsAtOnce,
  nowMs: () => number,
): Store {
  const ownLookUp = takingTurns(new TurnsOfAccounts(lookUps, nowMs));
  return {
    ...store,
    ...listsInTurn(store, new TurnsOfAccounts(lists, nowMs)),
    ...lookUpsInTurn(store, ownLookUp),
    ...(areNeedsInTurn && needsInTurn(store, ownLookUp)),
    ...(changes !== null && changesInTurn(store, new TurnsOfAccounts(changes))),
  };
}

/** The reads that people request. If a caller has disconnected, its reads are dropped. */
const READS = [
  'waitFacts',
  'searchMessages',
  'countPiece',
  'listEvents',
  'openMessagesPiece',
  'endedCounts',
  'activity',
  'failureGroups',
  'listQueues',
  'countLine',
  'listFlowKeys',
  'listHosts',
  'waitingByHost',
  'listSchedules',
  'listAlerts',
  'listJobs',
  'listTopics',
  'listTokens',
  'usage',
  'listAccounts',
  'listAudit',
  'getMessage',
  'messageStates',
  'getQueue',
  'getFlowKey',
  'getHost',
] as const satisfies readonly (keyof Store)[];

/** The store for calls of the API: the reads of a caller that has disconnected are dropped, and changes are noted. */
export function storeForApiCalls(store: Store): Store {
  return Object.assign(dropReadsOfGoneCallers(store, READS), notingChanges(store));
}

function listsInTurn(store: Store, turns: TurnsOfAccounts) {
  const own = takingTurns(turns);
  return {
    waitFacts: own(store.waitFacts),
    // Each piece takes its turn.
    searchMessages: searchingInPieces(own(store.searchMessages)),
    countPiece: countingInPieces(own(store.countPiece)),
    listEvents: listingInPieces(own(store.listEvents)),
    openMessagesPiece: own(store.openMessagesPiece),
    endedCounts: own(store.endedCounts),
    activity: own(store.activity),
    failureGroups: own(store.failureGroups),
    listQueues: own(store.listQueues),
    countLine: own(store.countLine),
    listFlowKeys: own(store.listFlowKeys),
    listHosts: own(store.listHosts),
    waitingByHost: own(store.waitingByHost),
    listSchedules: own(store.listSchedules),
    listAlerts: own(store.listAlerts),
    listJobs: own(store.listJobs),
    listTopics: own(store.listTopics),
    listTokens: own(store.listTokens),
    usage: own(store.usage),
    listAccounts: (...rest) =>
      turns.run(NOBODY, () => runForAllCallers(() => store.listAccounts(...rest)), currentCaller()),
    // Each piece takes its turn.
    listAudit: (filter, page) =>
      turns.run(
        filter.accountIds?.[0] ?? NOBODY,
        () => runForAllCallers(() => store.listAudit(filter, page)),
        currentCaller(),
      ),
  } satisfies Partial<Store>;
}

function lookUpsInTurn(store: Store, own: ReturnType<typeof takingTurns>) {
  return {
    getMessage: own(store.getMessage),
    messageStates: own(store.messageStates),
    getQueue: own(store.getQueue),
    getFlowKey: own(store.getFlowKey),
    getHost: own(store.getHost),
    openAttempt: own(store.openAttempt),
    countQueues: own(store.countQueues),
    countSchedules: own(store.countSchedules),
    countTopics: own(store.countTopics),
    journalEnd: own(store.journalEnd),
  } satisfies Partial<Store>;
}

function needsInTurn(store: Store, own: ReturnType<typeof takingTurns>) {
  return {
    getTopic: own(store.getTopic),
    getSchedule: own(store.getSchedule),
    getAlert: own(store.getAlert),
    getJob: own(store.getJob),
    getSigningKeys: own(store.getSigningKeys),
  } satisfies Partial<Store>;
}

function changesInTurn(store: Store, turns: TurnsOfAccounts) {
  const own = takingTurns(turns);
  return {
    cancel: own(store.cancel),
    deliverNow: own(store.deliverNow),
    releaseHeld: own(store.releaseHeld),
    changeMessage: own(store.changeMessage),
    deleteDeadLetters: own(store.deleteDeadLetters),
    retryDeadLetters: (retries, ...rest) =>
      turns.run(retries[0]?.message.accountId ?? NOBODY, () => store.retryDeadLetters(retries, ...rest)),
    saveQueue: own(store.saveQueue),
    deleteQueue: own(store.deleteQueue),
    pauseFlowKey: own(store.pauseFlowKey),
    pinFlowKey: own(store.pinFlowKey),
    resetFlowRate: own(store.resetFlowRate),
    parkHost: own(store.parkHost),
    resumeHost: own(store.resumeHost),
    setOutage: own(store.setOutage),
    noteProgress: (key, ...rest) => turns.run(key.accountId, () => store.noteProgress(key, ...rest)),
    saveSchedule: (schedule, ...rest) => turns.run(schedule.accountId, () => store.saveSchedule(schedule, ...rest)),
    deleteSchedule: own(store.deleteSchedule),
    pauseSchedule: own(store.pauseSchedule),
    saveAlert: (alert, ...rest) => turns.run(alert.accountId, () => store.saveAlert(alert, ...rest)),
    deleteAlert: own(store.deleteAlert),
    createJob: (job, ...rest) => turns.run(job.accountId, () => store.createJob(job, ...rest)),
    stopJob: own(store.stopJob),
    saveTopic: (topic) => turns.run(topic.accountId, () => store.saveTopic(topic)),
    createAccount: (...rest) => turns.run(NOBODY, () => store.createAccount(...rest)),
    setTier: (...rest) => turns.run(NOBODY, () => store.setTier(...rest)),
    setSuspended: (...rest) => turns.run(NOBODY, () => store.setSuspended(...rest)),
    beginDeletion: (...rest) => turns.run(NOBODY, () => store.beginDeletion(...rest)),
    rotateSigningKeys: own(store.rotateSigningKeys),
    createToken: (token, ...rest) => turns.run(token.accountId, () => store.createToken(token, ...rest)),
    revokeToken: own(store.revokeToken),
    touchToken: (...rest) => turns.run(NOBODY, () => store.touchToken(...rest)),
    // Counts of calls, of several accounts at once, are the node's own work.
    saveAudit: (rows, ...rest) =>
      turns.run((rows.length === 1 && rows[0]!.accountId) || NOBODY, () => store.saveAudit(rows, ...rest)),
    // Each token and each session has turns like an account here: an account has few tokens, and a token has few
    // sessions.
    createSession: (session, ...rest) => turns.run(session.tokenId, () => store.createSession(session, ...rest)),
    endSession: (sessionId) => turns.run(sessionId, () => store.endSession(sessionId)),
  } satisfies Partial<Store>;
}

/**
 * Runs the changes that people make to queues, flow keys and hosts one at a time for each account. This is for a store that
 * gives each change its own connection: each change waits for a row lock, and many changes at once would hold all
 * connections.
 */
export class ChangesByAccount {
  /** By account, the promise of its last change. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Starts `change` when all earlier changes of the account have ended, failed ones included. */
  run<T>(accountId: string, change: () => Promise<T>): Promise<T> {
    const before = this.#last.get(accountId) ?? Promise.resolve();
    const own = before.then(change, change);
    this.#last.set(accountId, own);
    const forget = () => {
      if (this.#last.get(accountId) === own) this.#last.delete(accountId);
    };
    own.then(forget, forget);
    return own;
  }
}

/** The store, with the changes of queues, flow keys and hosts of each account one at a time. */
export function oneChangeAtATime(store: Store): Store {
  const lines = new ChangesByAccount();
  const own =
    <A extends readonly unknown[], T>(change: (accountId: string, ...rest: A) => Promise<T>) =>
    (accountId: string, ...rest: A) =>
      lines.run(accountId, () => change(accountId, ...rest));
  return {
    ...store,
    saveQueue: own(store.saveQueue),
    deleteQueue: own(store.deleteQueue),
    pauseFlowKey: own(store.pauseFlowKey),
    pinFlowKey: own(store.pinFlowKey),
    resetFlowRate: own(store.resetFlowRate),
    parkHost: own(store.parkHost),
    resumeHost: own(store.resumeHost),
  };
}
