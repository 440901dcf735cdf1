// The table of the verbs that people use to set up queues, flow keys, schedules, alerts, bulk operations and topics.

import { eachMax } from '../../../rules/limits/budgets.ts';
import { QUEUE_PARALLELISM_MAX } from '../../../rules/lines/queue.ts';
import * as queues from '../deliveries/queues.ts';
import { countUpTo } from '../messages/list-by-key.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { listing, lookingUp, type Marks, OF_ACCOUNT, OF_ITS_ACCOUNT, on, type Verb, writing } from '../thread/verb.ts';
import * as alerts from './alerts.ts';
import * as flowKeys from './flow-key-verbs.ts';
import * as jobs from './jobs.ts';
import * as schedules from './schedules.ts';
import * as topics from './topics.ts';

/** A change of a flow key judges again the messages that the key has let through. */
const FLOW_KEY_MESSAGES = 2 * eachMax('flowKeyReady');

export const RESOURCE_VERBS = {
  saveQueue: writing(queues.saveQueue, {
    makesWorkAt: (_queue, _accountId, _name, _change, now) => now,
    work: (accountId) => ({ accountId, units: QUEUE_PARALLELISM_MAX / 2 }),
  }),
  getQueue: lookingUp(queues.getQueue),
  deleteQueue: writing(queues.deleteQueue, OF_ACCOUNT),
  listQueues: listing(queues.listQueues),
  countQueues: lookingUp(countUpTo('queues')),
  countLine: listing(queues.countLine),

  getFlowKey: onFlowKeys(withoutBooks(flowKeys.getFlowKey), { reads: 'lookUp' }),
  listFlowKeys: onFlowKeys(withoutBooks(flowKeys.listFlowKeys), { reads: 'list' }),
  pauseFlowKey: onFlowKeys(flowKeys.pauseFlowKey, {
    makesWorkAt: (_flowKey, _accountId, _key, _isPaused, now) => now,
    work: (accountId) => ({ accountId, units: FLOW_KEY_MESSAGES }),
  }),
  pinFlowKey: onFlowKeys(flowKeys.pinFlowKey, {
    makesWorkAt: (_flowKey, _accountId, _key, _pin, now) => now,
    work: (accountId) => ({ accountId, units: FLOW_KEY_MESSAGES }),
  }),
  resetFlowRate: onFlowKeys(flowKeys.resetFlowRate, {
    makesWorkAt: (_flowKey, _accountId, _key, now) => now,
    work: (accountId) => ({ accountId, units: FLOW_KEY_MESSAGES }),
  }),

  saveSchedule: writing(schedules.saveSchedule, { schedulesAt: ({ nextAt }) => [nextAt], ...OF_ITS_ACCOUNT }),
  getSchedule: on(schedules.getSchedule, OF_ACCOUNT),
  deleteSchedule: writing(schedules.deleteSchedule, OF_ACCOUNT),
  setScheduleNext: on(schedules.setScheduleNext, {
    schedulesAt: (_accountId, _id, nextAt) => [nextAt],
    ...OF_ACCOUNT,
  }),
  listSchedules: listing(schedules.listSchedules),
  countSchedules: lookingUp(countUpTo('schedules')),

  createJob: writing(jobs.createJob, OF_ITS_ACCOUNT),
  getJob: on(jobs.getJob, OF_ACCOUNT),
  stopJob: on(jobs.stopJob, OF_ACCOUNT),
  listJobs: listing(jobs.listJobs),

  saveAlert: on(alerts.saveAlert, OF_ITS_ACCOUNT),
  getAlert: on(alerts.getAlert, OF_ACCOUNT),
  deleteAlert: on(alerts.deleteAlert, OF_ACCOUNT),
  listAlerts: listing(alerts.listAlerts),

  getTopic: on(topics.getTopic, OF_ACCOUNT),
  saveTopic: writing(topics.saveTopic, OF_ITS_ACCOUNT),
  listTopics: listing(topics.listTopics),
  countTopics: lookingUp(countUpTo('topics')),
};

/** First applies the limits that messages carried for their keys. */
function onFlowKeys<A extends unknown[], R>(
  verb: (database: Database, caches: TransactionCaches, ...args: A) => R,
  marks: Marks<A, R>,
): Verb<A, R> {
  return writing((database, caches, ...args: A) => {
    caches.requestedFlowLimits.apply();
    return verb(database, caches, ...args);
  }, marks);
}

function withoutBooks<A extends unknown[], R>(verb: (database: Database, ...args: A) => R) {
  return (database: Database, _books: TransactionCaches, ...args: A) => verb(database, ...args);
}
