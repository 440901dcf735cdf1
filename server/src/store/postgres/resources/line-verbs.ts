// The line port over PostgreSQL: which verbs read and which write, and who is told about them.

import type { LineStore } from '../../ports/line-store.ts';
import * as queues from '../deliveries/queues.ts';
import type { Calls } from '../groups/calls.ts';
import * as lists from '../messages/lists.ts';
import * as flowKeys from './flow-key-verbs.ts';

export function createLines(calls: Calls): LineStore {
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
  };
}
