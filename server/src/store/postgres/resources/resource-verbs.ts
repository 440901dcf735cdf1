// The resource port over PostgreSQL: which verbs read and which write, and who is told about them.

import type { ResourceStore } from '../../ports/resource-store.ts';
import { RESOURCE_VERBS } from '../../resources/resource-verbs.ts';
import type { Calls } from '../groups/calls.ts';
import * as lists from '../messages/lists.ts';
import * as alerts from './alerts.ts';
import * as jobs from './jobs.ts';
import { onCall } from './steps.ts';

export function createResources(calls: Calls): ResourceStore {
  return {
    saveAlert: calls.writing(alerts.saveAlert, { locksAccount: ({ accountId }) => accountId }),
    getAlert: calls.reading(alerts.getAlert),
    deleteAlert: calls.writing(alerts.deleteAlert),
    listAlerts: calls.reading(alerts.listAlerts),

    createJob: calls.writing(jobs.createJob, { locksAccount: ({ accountId }) => accountId }),
    getJob: calls.reading(jobs.getJob),
    stopJob: calls.writing(jobs.stopJob),
    listJobs: calls.reading(lists.listJobs),

    ...onCall(calls, RESOURCE_VERBS),
  };
}
