// The table of the verbs that people use to see and change messages.

import { OF_ACCOUNT } from '../../resources/shared-verb.ts';
import { releaseHeld } from '../deliveries/alone.ts';
import { cancel } from '../deliveries/cancel.ts';
import { deliverNow } from '../deliveries/settle.ts';
import { listing, lookingUp, on, writing } from '../thread/verb.ts';
import { activity } from './activity.ts';
import * as deadLetters from './dead-letters.ts';
import * as events from './events.ts';
import * as messages from './messages.ts';
import * as search from './search.ts';
import * as statistics from './statistics.ts';
import { whyFacts } from './why.ts';

export const MESSAGE_VERBS = {
  getMessage: lookingUp(messages.getMessage),
  whyFacts: { reads: 'list' as const, run: whyFacts },
  messageStates: lookingUp(messages.messageStates),
  searchMessages: listing(search.searchMessages),
  countPiece: listing(search.countPiece),
  deliverNow: on(deliverNow, { makesWorkAt: (_result, _accountId, _id, now) => now, ...OF_ACCOUNT }),
  releaseHeld: writing(releaseHeld, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: true,
    work: (accountId, ids) => ({ accountId, units: ids.length }),
  }),

  cancel: writing(cancel, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: true,
    cancels: true,
    work: (accountId, ids) => ({ accountId, units: ids.length }),
  }),

  deleteDeadLetters: writing(deadLetters.deleteDeadLetters, {
    work: (accountId, ids) => ({ accountId, units: ids.length }),
  }),
  retryDeadLetters: writing(deadLetters.retryDeadLetters, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: true,
    work: (retries) => ({ accountId: retries[0]?.message.accountId ?? '', units: retries.length }),
  }),

  listEvents: listing(events.listEvents),
  journalEnd: lookingUp(events.journalEnd),

  openPiece: listing(statistics.openPiece),
  endedCounts: listing(statistics.endedCounts),
  activity: listing(activity),
  failureGroups: listing(statistics.failureGroups),
};
