// The table of the verbs that people use to set up topics and schedules.

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

  getTopic: reading(topics.getTopic, OF_ACCOUNT),
  saveTopic: writing(topics.saveTopic, OF_ITS_ACCOUNT),
  listTopics: listing(topics.listTopics),
  countTopics: lookingUp(countUpTo('topics')),
};
