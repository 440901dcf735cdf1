// The table of the verbs that people use to set up and look at queues and flow keys.

import { eachMax } from '../../rules/limits/budgets.ts';
import { QUEUE_PARALLELISM_MAX } from '../../rules/lines/queue.ts';
import * as flowKeys from './flow-keys.ts';
import { countUpTo } from './list-by-key.ts';
import * as queues from './queues.ts';
import { listing, lookingUp, OF_ACCOUNT, writing } from './shared-verb.ts';

/** A change of a flow key checks again the messages that the key has admitted. */
const FLOW_KEY_WORK = { work: (accountId: string) => ({ accountId, units: 2 * eachMax('flowKeyReady') }) };

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
