// The table of the verbs that people use to set up and look at queues and flow keys.

import { eachMax } from '../../../rules/limits/budgets.ts';
import { QUEUE_VERBS } from '../../resources/line-verbs.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { type Marks, type Verb, writing } from '../thread/verb.ts';
import * as flowKeys from './flow-key-verbs.ts';
import { onThread } from './steps.ts';

/** A change of a flow key checks again the messages that the key has let through. */
const FLOW_KEY_MESSAGES = 2 * eachMax('flowKeyReady');

export const LINE_VERBS = {
  ...onThread(QUEUE_VERBS),

  getFlowKey: onFlowKeys(withoutCaches(flowKeys.getFlowKey), { reads: 'lookUp' }),
  listFlowKeys: onFlowKeys(withoutCaches(flowKeys.listFlowKeys), { reads: 'list' }),
  pauseFlowKey: onFlowKeys(flowKeys.pauseFlowKey, {
    makesWorkAt: (_flowKey, _accountId, _key, _isPaused, now) => now,
    work: (accountId) => ({ accountId, units: FLOW_KEY_MESSAGES }),
  }),
  pinFlowKey: onFlowKeys(flowKeys.pinFlowKey, {
    makesWorkAt: (_flowKey, _accountId, _key, _pin, now) => now,
    work: (accountId) => ({ accountId, units: FLOW_KEY_MESSAGES }),
  }),
  resetFlowRate: onFlowKeys(flowKeys.resetFlowRate, {
    makesWorkAt: (_flowKey, _accountId, _key, now) => now,
    work: (accountId) => ({ accountId, units: FLOW_KEY_MESSAGES }),
  }),
};

/** First applies the limits that messages carried for their keys. */
function onFlowKeys<A extends unknown[], R>(
  verb: (database: Database, caches: TransactionCaches, ...args: A) => R,
  marks: Marks<A, R>,
): Verb<A, R> {
  return writing((database, caches, ...args: A) => {
    caches.requestedFlowLimits.apply();
    return verb(database, caches, ...args);
  }, marks);
}

function withoutCaches<A extends unknown[], R>(verb: (database: Database, ...args: A) => R) {
  return (database: Database, _caches: TransactionCaches, ...args: A) => verb(database, ...args);
}
