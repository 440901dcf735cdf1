// The resource port over PostgreSQL: which verbs read and which write, and who is told about them.

import type { ResourceStore } from '../../ports/resource-store.ts';
import * as queues from '../deliveries/queues.ts';
import type { Calls } from '../groups/calls.ts';
import * as lists from '../messages/lists.ts';
import * as alerts from './alerts.ts';
import * as flowKeys from './flow-key-verbs.ts';
import * as jobs from './jobs.ts';
import * as schedules from './schedules.ts';
import * as topics from './topics.ts';

export function createResources(calls: Calls): ResourceStore {
  return {
    saveQueue: calls.writing(queues.saveQueue, {
      makesWork: (_queue, _accountId, _name, _change, now) => ({ dueAt: now, now }),
    }),
    getQueue: calls.reading(queues.getQueue),
    deleteQueue: calls.writing(queues.deleteQueue),
    listQueues: calls.reading(queues.listQueues),
    countQueues: calls.reading(lists.countUpTo('queues')),
    countLine: calls.reading(lists.countLine),

    getFlowKey: calls.reading(flowKeys.getFlowKey),
    pauseFlowKey: calls.writing(flowKeys.pauseFlowKey, {
      makesWork: (_flowKey, _accountId, _key, _isPaused, now) => ({ dueAt: now, now }),
    }),
    pinFlowKey: calls.writing(flowKeys.pinFlowKey, {
      makesWork: (_flowKey, _accountId, _key, _pin, now) => ({ dueAt: now, now }),
    }),
    resetFlowRate: calls.writing(flowKeys.resetFlowRate, {
      makesWork: (_flowKey, _accountId, _key, now) => ({ dueAt: now, now }),
    }),
    listFlowKeys: calls.reading(flowKeys.listFlowKeys),

    saveSchedule: calls.writing(schedules.saveSchedule, { schedulesAt: ({ nextAt }) => [nextAt] }),
    getSchedule: calls.reading(schedules.getSchedule),
    deleteSchedule: calls.writing(schedules.deleteSchedule),
    setScheduleNext: calls.writing(schedules.setScheduleNext, {
      schedulesAt: (_accountId, _id, nextAt) => [nextAt],
    }),
    listSchedules: calls.reading(lists.listSchedules),
    countSchedules: calls.reading(lists.countUpTo('schedules')),

    saveAlert: calls.writing(alerts.saveAlert, { locksAccount: ({ accountId }) => accountId }),
    getAlert: calls.reading(alerts.getAlert),
    deleteAlert: calls.writing(alerts.deleteAlert),
    listAlerts: calls.reading(alerts.listAlerts),

    createJob: calls.writing(jobs.createJob, { locksAccount: ({ accountId }) => accountId }),
    getJob: calls.reading(jobs.getJob),
    stopJob: calls.writing(jobs.stopJob),
    listJobs: calls.reading(lists.listJobs),

    getTopic: calls.reading(topics.getTopic),
    saveTopic: calls.writing(topics.saveTopic),
    listTopics: calls.reading(lists.listTopics),
    countTopics: calls.reading(lists.countUpTo('topics')),
  };
}
