// The table of the verbs that people use to set up and look at queues.

import { QUEUE_PARALLELISM_MAX } from '../../rules/lines/queue.ts';
import { countUpTo } from './list-by-key.ts';
import * as queues from './queues.ts';
import { listing, lookingUp, OF_ACCOUNT, writing } from './shared-verb.ts';

export const QUEUE_VERBS = {
  saveQueue: writing(queues.saveQueue, {
    makesWork: (_queue, _accountId, _name, _change, now) => ({ dueAt: now, now }),
    work: (accountId) => ({ accountId, units: QUEUE_PARALLELISM_MAX / 2 }),
  }),
  getQueue: lookingUp(queues.getQueue),
  deleteQueue: writing(queues.deleteQueue, OF_ACCOUNT),
  listQueues: listing(queues.listQueues),
  countQueues: lookingUp(countUpTo('queues')),
  countLine: listing(queues.countLine),
};
