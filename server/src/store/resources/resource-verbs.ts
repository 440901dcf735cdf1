// The table of the verbs that people use to set up topics, schedules, alerts and bulk operations.

import * as alerts from './alerts.ts';
import * as jobs from './jobs.ts';
import { countUpTo } from './list-by-key.ts';
import * as schedules from './schedules.ts';
import { listing, lookingUp, OF_ACCOUNT, OF_ITS_ACCOUNT, reading, writing } from './shared-verb.ts';
import * as topics from './topics.ts';

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
