// The table of the verbs that people use to set up topics, schedules, alerts and bulk operations.

import { countUpTo } from '../messages/list-by-key.ts';
import { listing, lookingUp, OF_ACCOUNT, OF_ITS_ACCOUNT, on, writing } from '../thread/verb.ts';
import * as alerts from './alerts.ts';
import * as jobs from './jobs.ts';
import * as schedules from './schedules.ts';
import * as topics from './topics.ts';

export const RESOURCE_VERBS = {
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
