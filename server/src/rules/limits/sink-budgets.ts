// The rows of the table of budgets for the sink of `dev`. The table is in budgets.ts.

import { KIB } from './budget.ts';

export const SINK_BUDGETS = {
  sinkRequests: {
    what: 'Requests that the sink of `dev` keeps to show them',
    unit: 'requests',
    node: 200,
    beyond: 'the oldest is forgotten',
  },
  sinkBodyBytes: {
    what: 'Body of a request that the sink keeps',
    unit: 'bytes',
    each: 64 * KIB,
    beyond: 'the rest is not kept',
  },
  sinkCounts: {
    what: 'Messages whose attempts `/dev/sink/fail` counts',
    unit: 'messages',
    node: 1000,
    beyond: 'the oldest is forgotten',
  },
};
