// The tables of the verbs that are written once, one table for each port. Verbs about what an account uses and stores,
// when schedules run, and what retention deletes are in each adapter.

import { eachMax } from '../../rules/limits/budgets.ts';
import { QUEUE_PARALLELISM_MAX } from '../../rules/lines/queue.ts';
import * as deletion from './account-deletion.ts';
import * as accounts from './accounts.ts';
import * as acks from './acks.ts';
import * as alerts from './alerts.ts';
import * as audit from './audit.ts';
import * as backlog from './backlog.ts';
import * as flowKeys from './flow-keys.ts';
import * as hosts from './hosts.ts';
import * as jobs from './jobs.ts';
import { countUpTo } from './list-by-key.ts';
import * as parkings from './parkings.ts';
import * as queues from './queues.ts';
import * as schedules from './schedules.ts';
import * as sessions from './sessions.ts';
import {
  AUDITED,
  AUDITED_IF_CHANGED,
  listing,
  lookingUp,
  OF_ACCOUNT,
  OF_ITS_ACCOUNT,
  reading,
  writing,
} from './shared-verb.ts';
import * as tokens from './tokens.ts';
import * as topics from './topics.ts';

const ACCESS = { changesAccess: true } as const;

/** Tokens, sessions, and the audit. */
export const ACCESS_VERBS = {
  createToken: writing(tokens.createToken, {
    ...AUDITED_IF_CHANGED,
    locksAccount: ({ accountId }) => accountId,
  }),
  findToken: reading(tokens.findToken),
  listTokens: listing(tokens.listTokens),
  touchToken: writing(tokens.touchToken),
  revokeToken: writing(tokens.revokeToken, { ...ACCESS, audits: (result) => result === 'revoked' }),
  beginDeletion: writing(deletion.beginDeletion, {
    ...ACCESS,
    audits: (result) => result === 'begun',
    makesWork: (_result, _accountId, now) => ({ dueAt: now, now }),
  }),
  revokeHashes: writing(tokens.revokeHashes, { ...ACCESS, ...AUDITED }),
  createFirstAdmin: writing(tokens.createFirstAdmin, AUDITED_IF_CHANGED),
  accountsKnownBy: reading(tokens.accountsKnownBy),

  createSession: writing(sessions.createSession),
  findSession: reading(sessions.findSession),
  endSession: writing(sessions.endSession, ACCESS),
  areAdmitted: reading(sessions.areAdmitted),

  saveAudit: writing(audit.saveAudit),
  listAudit: listing(audit.listAudit),
  deleteAudit: writing(audit.deleteAudit),
};

/** Accounts. */
export const SHARED_ACCOUNT_VERBS = {
  createAccount: writing(accounts.createAccount, { audits: (result) => result === 'created' }),
  getAccount: reading(accounts.getAccount),
  setTier: writing(accounts.setTier, { ...ACCESS, ...AUDITED_IF_CHANGED }),
  setSuspended: writing(accounts.setSuspended, {
    ...ACCESS,
    ...AUDITED_IF_CHANGED,
    makesWork: (_isKnown, _accountId, _at, now) => ({ dueAt: now, now }),
  }),
  deleteAccountPiece: writing(deletion.deleteAccountPiece),
  setOutage: writing(accounts.setOutage, { ...ACCESS, ...AUDITED_IF_CHANGED }),
  // Small pieces, so they do not start the thread for lists.
  listAccounts: lookingUp(accounts.listAccounts),
  countBacklog: lookingUp(backlog.countBacklog),
  countReady: lookingUp(backlog.countReady),
  getSigningKeys: reading(accounts.getSigningKeys),
  rotateSigningKeys: writing(accounts.rotateSigningKeys, AUDITED_IF_CHANGED),
};

/**
 * After a change, the messages that the flow key has admitted are checked again, so the change costs this many units.
 */
const FLOW_KEY_WORK = { work: (accountId: string) => ({ accountId, units: 2 * eachMax('flowKeyReady') }) };

/** Queues and flow keys. */
export const LINE_VERBS = {
  saveQueue: writing(queues.saveQueue, {
    ...AUDITED,
    makesWork: (_queue, _accountId, _name, _change, now) => ({ dueAt: now, now }),
    work: (accountId) => ({ accountId, units: QUEUE_PARALLELISM_MAX / 2 }),
  }),
  getQueue: lookingUp(queues.getQueue),
  deleteQueue: writing(queues.deleteQueue, { ...OF_ACCOUNT, audits: (open) => open === 0 }),
  listQueues: listing(queues.listQueues),
  countQueues: lookingUp(countUpTo('queues')),
  countLine: listing(queues.countLine),

  getFlowKey: lookingUp(flowKeys.getFlowKey),
  listFlowKeys: listing(flowKeys.listFlowKeys),
  pauseFlowKey: writing(flowKeys.pauseFlowKey, {
    ...AUDITED_IF_CHANGED,
    makesWork: (_flowKey, _accountId, _key, _isPaused, now) => ({ dueAt: now, now }),
    ...FLOW_KEY_WORK,
  }),
  pinFlowKey: writing(flowKeys.pinFlowKey, {
    ...AUDITED_IF_CHANGED,
    makesWork: (_flowKey, _accountId, _key, _pins, now) => ({ dueAt: now, now }),
    ...FLOW_KEY_WORK,
  }),
  resetFlowRate: writing(flowKeys.resetFlowRate, {
    ...AUDITED_IF_CHANGED,
    makesWork: (_flowKey, _accountId, _key, now) => ({ dueAt: now, now }),
    ...FLOW_KEY_WORK,
  }),
};

/** The hosts that messages are sent to. */
export const HOST_VERBS = {
  getHost: lookingUp(hosts.getHost),
  listHosts: listing(hosts.listHosts),
  waitingByHost: listing(hosts.waitingByHost),
  addHostHealth: writing(hosts.addHostHealth),
  deleteIdleHosts: writing(hosts.deleteIdleHosts),

  noteHosts: writing(parkings.noteHosts, { writesJournal: true }),
  parkHost: writing(parkings.parkHost, {
    writesJournal: true,
    ...OF_ACCOUNT,
    audits: (result) => result === 'parked',
  }),
  resumeHost: writing(parkings.resumeHost, { writesJournal: true, ...OF_ACCOUNT, ...AUDITED_IF_CHANGED }),
  endOpening: writing(parkings.endOpening),
  // Called every second, and mostly finds nothing, so it does not start the reader's thread.
  listParked: reading(parkings.listParked),
  ownParked: writing(parkings.ownParked),
};

/** Acks of attempts that were answered with 202. */
export const ACK_VERBS = {
  serviceKey: writing(acks.serviceKey),
  openAttempt: reading(acks.openAttempt, OF_ACCOUNT),
  noteProgress: writing(acks.noteProgress, { writesJournal: true, ...OF_ITS_ACCOUNT }),
  // Called every second, and mostly finds nothing, so it does not start the reader's thread.
  dueAcks: reading(acks.dueAcks),
  dueAttempt: reading(acks.openAttempt),
};

/** What people set up: topics, schedules, alerts and bulk operations. */
export const RESOURCE_VERBS = {
  saveSchedule: writing(schedules.saveSchedule, {
    schedulesAt: (_isSaved, { nextAt }) => [nextAt],
    ...OF_ITS_ACCOUNT,
    ...AUDITED_IF_CHANGED,
  }),
  getSchedule: reading(schedules.getSchedule, OF_ACCOUNT),
  deleteSchedule: writing(schedules.deleteSchedule, { ...OF_ACCOUNT, ...AUDITED_IF_CHANGED }),
  pauseSchedule: writing(schedules.pauseSchedule, {
    schedulesAt: (paused) => [paused?.nextAt ?? null],
    ...OF_ACCOUNT,
    ...AUDITED_IF_CHANGED,
  }),
  listSchedules: listing(schedules.listSchedules),
  countSchedules: lookingUp(countUpTo('schedules')),

  createJob: writing(jobs.createJob, {
    ...OF_ITS_ACCOUNT,
    ...AUDITED_IF_CHANGED,
    locksAccount: ({ accountId }) => accountId,
  }),
  getJob: reading(jobs.getJob, OF_ACCOUNT),
  stopJob: writing(jobs.stopJob, { ...OF_ACCOUNT, ...AUDITED_IF_CHANGED }),
  listJobs: listing(jobs.listJobs),

  saveAlert: writing(alerts.saveAlert, {
    ...OF_ITS_ACCOUNT,
    ...AUDITED_IF_CHANGED,
    locksAccount: ({ accountId }) => accountId,
  }),
  getAlert: reading(alerts.getAlert, OF_ACCOUNT),
  deleteAlert: writing(alerts.deleteAlert, { ...OF_ACCOUNT, ...AUDITED_IF_CHANGED }),
  listAlerts: listing(alerts.listAlerts),

  getTopic: reading(topics.getTopic, OF_ACCOUNT),
  saveTopic: writing(topics.saveTopic, { ...OF_ITS_ACCOUNT, audits: (result) => result === 'saved' }),
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
