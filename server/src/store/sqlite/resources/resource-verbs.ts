// The table of the verbs that people use to set up topics, schedules, alerts and bulk operations.

import { RESOURCE_VERBS as SHARED_VERBS } from '../../resources/resource-verbs.ts';
import { OF_ACCOUNT, OF_ITS_ACCOUNT } from '../../resources/shared-verb.ts';
import { listing, on, writing } from '../thread/verb.ts';
import * as alerts from './alerts.ts';
import * as jobs from './jobs.ts';
import { onThread } from './steps.ts';

export const RESOURCE_VERBS = {
  createJob: writing(jobs.createJob, OF_ITS_ACCOUNT),
  getJob: on(jobs.getJob, OF_ACCOUNT),
  stopJob: on(jobs.stopJob, OF_ACCOUNT),
  listJobs: listing(jobs.listJobs),

  saveAlert: on(alerts.saveAlert, OF_ITS_ACCOUNT),
  getAlert: on(alerts.getAlert, OF_ACCOUNT),
  deleteAlert: on(alerts.deleteAlert, OF_ACCOUNT),
  listAlerts: listing(alerts.listAlerts),

  ...onThread(SHARED_VERBS),
};
