// The table of the verbs that people use to see and change messages.

import { workUnitsOf } from '../../../rules/limits/turns.ts';
import { OF_ACCOUNT } from '../../resources/shared-verb.ts';
import { releaseHeld } from '../deliveries/alone.ts';
import { cancel } from '../deliveries/cancel.ts';
import { deliverNow } from '../deliveries/settle.ts';
import { listing, lookingUp, on, withCaches } from '../thread/verb.ts';
import { changeMessage } from './change.ts';
import * as deadLetters from './dead-letters.ts';
import * as events from './events.ts';
import * as messages from './messages.ts';
import * as search from './search.ts';
import * as statistics from './statistics.ts';
import { waitFacts } from './wait-facts.ts';

export const MESSAGE_VERBS = {
  getMessage: lookingUp(messages.getMessage),
  readMessage: lookingUp(messages.getMessage),
  waitFacts: { reads: 'list' as const, run: waitFacts },
  messageStates: lookingUp(messages.messageStates),
  searchMessages: listing(search.searchMessages),
  countPiece: listing(search.countPiece),
  deliverNow: on(deliverNow, { makesWorkAt: (_result, _accountId, _id, now) => now, ...OF_ACCOUNT }),
  releaseHeld: withCaches(releaseHeld, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: true,
    work: (accountId, ids) => ({ accountId, units: ids.length }),
  }),

  changeMessage: withCaches(changeMessage, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: ({ outcome: { outcome } }) => outcome === 'changed',
    work: (accountId, _id, { body }) => ({ accountId, units: workUnitsOf(1, body?.length ?? 0) }),
  }),

  cancel: withCaches(cancel, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: true,
    cancels: true,
    work: (accountId, ids) => ({ accountId, units: ids.length }),
  }),

  deleteDeadLetters: withCaches(deadLetters.deleteDeadLetters, {
    work: (accountId, ids) => ({ accountId, units: ids.length }),
  }),
  retryDeadLetters: withCaches(deadLetters.retryDeadLetters, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: true,
    work: (retries) => ({ accountId: retries[0]?.message.accountId ?? '', units: retries.length }),
  }),

  listEvents: listing(events.listEvents),
  journalEnd: lookingUp(events.journalEnd),

  openMessagesPiece: listing(statistics.openMessagesPiece),
  endedCounts: listing(statistics.endedCounts),
  failureGroups: listing(statistics.failureGroups),
};
