// The resource port over PostgreSQL: which verbs read and which write, and who is told about them.

import type { ResourceStore } from '../../ports/resource-store.ts';
import type { Calls } from '../groups/calls.ts';
import * as lists from '../messages/lists.ts';
import * as alerts from './alerts.ts';
import * as jobs from './jobs.ts';
import * as schedules from './schedules.ts';
import * as topics from './topics.ts';

export function createResources(calls: Calls): ResourceStore {
  return {
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
