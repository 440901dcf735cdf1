// Wraps the store so that accounts take turns. However many calls one account makes at once, it delays another account
// by at most one piece of work, and never delays the node's own work.

import type { Store } from '../ports/store.ts';
import { AccountLine } from './account-line.ts';
import { currentCaller, forCallers, runForAllCallers } from './current-caller.ts';
import { countingInPieces, listingInPieces, searchingInPieces } from './pages-in-pieces.ts';

/** How many calls of each kind run at once. */
export interface CallsAtOnce {
  /** Lists, searches and counts. */
  readonly lists: number;
  /** Reads of one thing by its name. These reads never wait for a search. */
  readonly lookUps: number;
  /**
   * Whether reads that a request needs before it can continue, for example of its topic, wait in the line of look-ups
   * as well.
   */
  readonly areNeedsInLine: boolean;
  /** Changes that people make. Null if the store itself makes accounts take turns. */
  readonly changes: number | null;
}

/** Stands in place of an account for calls of the operator. */
const NOBODY = '';

type OfAccount<A extends readonly unknown[], T> = (accountId: string, ...rest: A) => Promise<T>;

function takingTurns(line: AccountLine) {
  return <A extends readonly unknown[], T>(verb: OfAccount<A, T>): OfAccount<A, T> =>
    (accountId, ...rest) =>
      line.run(accountId, () => runForAllCallers(() => verb(accountId, ...rest)), currentCaller());
}

/**
 * The node's own work (accept, claim, settle, upkeep) and the check of tokens do not wait in these lines. Each line
 * leaves some of the store's connections free for them.
 */
export function inTurn(
  store: Store,
  { lists, lookUps, areNeedsInLine, changes }: CallsAtOnce,
  nowMs: () => number,
): Store {
  const ownLookUp = takingTurns(new AccountLine(lookUps, nowMs));
  return {
    ...store,
    ...listsInTurn(store, new AccountLine(lists, nowMs)),
    ...lookUpsInTurn(store, ownLookUp),
    ...(areNeedsInLine && needsInTurn(store, ownLookUp)),
    ...(changes !== null && changesInTurn(store, new AccountLine(changes))),
  };
}

/** The reads that people request. If a caller has disconnected, its reads are dropped. */
const READS = [
  'whyFacts',
  'searchMessages',
  'countPiece',
  'listEvents',
  'openPiece',
  'endedCounts',
  'activity',
  'failureGroups',
  'listQueues',
  'countLine',
  'listFlowKeys',
  'listSchedules',
  'listAlerts',
  'listJobs',
  'listTopics',
  'listTokens',
  'usage',
  'listAccounts',
  'getMessage',
  'messageStates',
  'getQueue',
  'getFlowKey',
] as const satisfies readonly (keyof Store)[];

/** The store with turns, in the form in which calls of the API use it. */
export function forCalls(store: Store): Store {
  return forCallers(store, READS);
}

function listsInTurn(store: Store, line: AccountLine) {
  const own = takingTurns(line);
  return {
    whyFacts: own(store.whyFacts),
    // Each piece takes its turn.
    searchMessages: searchingInPieces(own(store.searchMessages)),
    countPiece: countingInPieces(own(store.countPiece)),
    listEvents: listingInPieces(own(store.listEvents)),
    openPiece: own(store.openPiece),
    endedCounts: own(store.endedCounts),
    activity: own(store.activity),
    failureGroups: own(store.failureGroups),
    listQueues: own(store.listQueues),
    countLine: own(store.countLine),
    listFlowKeys: own(store.listFlowKeys),
    listSchedules: own(store.listSchedules),
    listAlerts: own(store.listAlerts),
    listJobs: own(store.listJobs),
    listTopics: own(store.listTopics),
    listTokens: own(store.listTokens),
    usage: own(store.usage),
    listAccounts: (...rest) =>
      line.run(NOBODY, () => runForAllCallers(() => store.listAccounts(...rest)), currentCaller()),
  } satisfies Partial<Store>;
}

function lookUpsInTurn(store: Store, own: ReturnType<typeof takingTurns>) {
  return {
    getMessage: own(store.getMessage),
    messageStates: own(store.messageStates),
    getQueue: own(store.getQueue),
    getFlowKey: own(store.getFlowKey),
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

function changesInTurn(store: Store, line: AccountLine) {
  const own = takingTurns(line);
  return {
    cancel: own(store.cancel),
    deliverNow: own(store.deliverNow),
    releaseHeld: own(store.releaseHeld),
    deleteDeadLetters: own(store.deleteDeadLetters),
    retryDeadLetters: (retries, ...rest) =>
      line.run(retries[0]?.message.accountId ?? NOBODY, () => store.retryDeadLetters(retries, ...rest)),
    saveQueue: own(store.saveQueue),
    deleteQueue: own(store.deleteQueue),
    pauseFlowKey: own(store.pauseFlowKey),
    pinFlowKey: own(store.pinFlowKey),
    resetFlowRate: own(store.resetFlowRate),
    saveSchedule: (schedule) => line.run(schedule.accountId, () => store.saveSchedule(schedule)),
    deleteSchedule: own(store.deleteSchedule),
    setScheduleNext: own(store.setScheduleNext),
    saveAlert: (alert, ...rest) => line.run(alert.accountId, () => store.saveAlert(alert, ...rest)),
    deleteAlert: own(store.deleteAlert),
    createJob: (job, ...rest) => line.run(job.accountId, () => store.createJob(job, ...rest)),
    stopJob: own(store.stopJob),
    saveTopic: (topic) => line.run(topic.accountId, () => store.saveTopic(topic)),
    createAccount: (...rest) => line.run(NOBODY, () => store.createAccount(...rest)),
    setTier: (...rest) => line.run(NOBODY, () => store.setTier(...rest)),
    setSuspended: (...rest) => line.run(NOBODY, () => store.setSuspended(...rest)),
    rotateSigningKeys: own(store.rotateSigningKeys),
    createToken: (token, ...rest) => line.run(token.accountId, () => store.createToken(token, ...rest)),
    revokeToken: own(store.revokeToken),
    touchToken: (...rest) => line.run(NOBODY, () => store.touchToken(...rest)),
    // Each token and each session has turns like an account here: an account has few tokens, and a token has few
    // sessions.
    createSession: (session, ...rest) => line.run(session.tokenId, () => store.createSession(session, ...rest)),
    endSession: (sessionId) => line.run(sessionId, () => store.endSession(sessionId)),
  } satisfies Partial<Store>;
}

/**
 * Runs the changes that people make to queues and flow keys one at a time for each account. This is for a store that
 * gives each change its own connection: each change waits for a row lock, and many changes at once would hold all
 * connections.
 */
export class OwnLines {
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

export function changingInTurn(store: Store): Store {
  const lines = new OwnLines();
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
  };
}
