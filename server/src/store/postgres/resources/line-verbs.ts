// The line port over PostgreSQL: which verbs read and which write, and who is told about them.

import type { LineStore } from '../../ports/line-store.ts';
import { QUEUE_VERBS } from '../../resources/line-verbs.ts';
import type { Calls } from '../groups/calls.ts';
import * as flowKeys from './flow-key-verbs.ts';
import { onCall } from './steps.ts';

export function createLines(calls: Calls): LineStore {
  return {
    ...onCall(calls, QUEUE_VERBS),

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
