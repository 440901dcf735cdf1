// The tables of the verbs that are written once, one table for each port. What an account uses and stores, when
// schedules run, and what retention deletes is in each adapter.

import { eachMax } from '../../rules/limits/budgets.ts';
import { QUEUE_PARALLELISM_MAX } from '../../rules/lines/queue.ts';
import * as accounts from './accounts.ts';
import * as alerts from './alerts.ts';
import * as flowKeys from './flow-keys.ts';
import * as jobs from './jobs.ts';
import { countUpTo } from './list-by-key.ts';
import * as queues from './queues.ts';
import * as schedules from './schedules.ts';
import * as sessions from './sessions.ts';
import { listing, lookingUp, OF_ACCOUNT, OF_ITS_ACCOUNT, reading, writing } from './shared-verb.ts';
import * as tokens from './tokens.ts';
import * as topics from './topics.ts';

const ACCESS = { changesAccess: true } as const;

/** Tokens and sessions. */
export const ACCESS_VERBS = {
  createToken: writing(tokens.createToken),
  findToken: reading(tokens.findToken),
  listTokens: listing(tokens.listTokens),
  touchToken: writing(tokens.touchToken),
  revokeToken: writing(tokens.revokeToken, ACCESS),
  revokeHashes: writing(tokens.revokeHashes, ACCESS),
  createFirstAdmin: writing(tokens.createFirstAdmin),
  accountsKnownBy: reading(tokens.accountsKnownBy),

  createSession: writing(sessions.createSession),
  findSession: reading(sessions.findSession),
  endSession: writing(sessions.endSession, ACCESS),
  areAdmitted: reading(sessions.areAdmitted),
};

/** Accounts. */
export const SHARED_ACCOUNT_VERBS = {
  createAccount: writing(accounts.createAccount),
  getAccount: reading(accounts.getAccount),
  setTier: writing(accounts.setTier, ACCESS),
  setSuspended: writing(accounts.setSuspended, {
    ...ACCESS,
    makesWork: (_isKnown, _accountId, _at, now) => ({ dueAt: now, now }),
  }),
  listAccounts: listing(accounts.listAccounts),
  getSigningKeys: reading(accounts.getSigningKeys),
  rotateSigningKeys: writing(accounts.rotateSigningKeys),
};

/**
 * After a change, the messages that the flow key has admitted are checked again, so the change costs this many units.
 */
const FLOW_KEY_WORK = { work: (accountId: string) => ({ accountId, units: 2 * eachMax('flowKeyReady') }) };

/** Queues and flow keys. */
export const LINE_VERBS = {
  saveQueue: writing(queues.saveQueue, {
    makesWork: (_queue, _accountId, _name, _change, now) => ({ dueAt: now, now }),
    work: (accountId) => ({ accountId, units: QUEUE_PARALLELISM_MAX / 2 }),
  }),
  getQueue: lookingUp(queues.getQueue),
  deleteQueue: writing(queues.deleteQueue, OF_ACCOUNT),
  listQueues: listing(queues.listQueues),
  countQueues: lookingUp(countUpTo('queues')),
  countLine: listing(queues.countLine),

  getFlowKey: lookingUp(flowKeys.getFlowKey),
  listFlowKeys: listing(flowKeys.listFlowKeys),
  pauseFlowKey: writing(flowKeys.pauseFlowKey, {
    makesWork: (_flowKey, _accountId, _key, _isPaused, now) => ({ dueAt: now, now }),
    ...FLOW_KEY_WORK,
  }),
  pinFlowKey: writing(flowKeys.pinFlowKey, {
    makesWork: (_flowKey, _accountId, _key, _pins, now) => ({ dueAt: now, now }),
    ...FLOW_KEY_WORK,
  }),
  resetFlowRate: writing(flowKeys.resetFlowRate, {
    makesWork: (_flowKey, _accountId, _key, now) => ({ dueAt: now, now }),
    ...FLOW_KEY_WORK,
  }),
};

/** What people set up: topics, schedules, alerts and bulk operations. */
export const RESOURCE_VERBS = {
  saveSchedule: writing(schedules.saveSchedule, { schedulesAt: ({ nextAt }) => [nextAt], ...OF_ITS_ACCOUNT }),
  getSchedule: reading(schedules.getSchedule, OF_ACCOUNT),
  deleteSchedule: writing(schedules.deleteSchedule, OF_ACCOUNT),
  setScheduleNext: writing(schedules.setScheduleNext, {
    schedulesAt: (_accountId, _id, nextAt) => [nextAt],
    ...OF_ACCOUNT,
  }),
  listSchedules: listing(schedules.listSchedules),
  countSchedules: lookingUp(countUpTo('schedules')),

  createJob: writing(jobs.createJob, { ...OF_ITS_ACCOUNT, locksAccount: ({ accountId }) => accountId }),
  getJob: reading(jobs.getJob, OF_ACCOUNT),
  stopJob: writing(jobs.stopJob, OF_ACCOUNT),
  listJobs: listing(jobs.listJobs),

  saveAlert: writing(alerts.saveAlert, { ...OF_ITS_ACCOUNT, locksAccount: ({ accountId }) => accountId }),
  getAlert: reading(alerts.getAlert, OF_ACCOUNT),
  deleteAlert: writing(alerts.deleteAlert, OF_ACCOUNT),
  listAlerts: listing(alerts.listAlerts),

  getTopic: reading(topics.getTopic, OF_ACCOUNT),
  saveTopic: writing(topics.saveTopic, OF_ITS_ACCOUNT),
  listTopics: listing(topics.listTopics),
  countTopics: lookingUp(countUpTo('topics')),
};

/** What a node calls to evaluate alerts and to run bulk operations. */
export const SHARED_UPKEEP_VERBS = {
  // This verb is called every few seconds and mostly finds nothing, so it does not start the reader's thread.
  dueAlerts: reading(alerts.dueAlerts),
  runningJobs: reading(jobs.runningJobs),
  runJobStep: writing(jobs.runJobStep, {
    makesWork: ({ dueAt }, _accountId, _id, _work, { now }) => ({ dueAt, now }),
    writesJournal: true,
  }),
};
