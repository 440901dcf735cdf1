// The message port over PostgreSQL: which verbs read and which write, and who is notified of them.

import type { Clock } from '../../../runtime/world.ts';
import type { AckStore } from '../../ports/ack-store.ts';
import type { MessageStore } from '../../ports/message-store.ts';
import type { Store } from '../../ports/store.ts';
import { waitingChange } from '../../shared/changed-message.ts';
import type { Inbox } from '../../shared/inbox.ts';
import type { StandingOffer } from '../../shared/standing-offer.ts';
import { releaseHeld } from '../deliveries/alone.ts';
import { waitForFirst } from '../deliveries/cancel.ts';
import type { Cancels } from '../deliveries/cancels.ts';
import { deliverNow } from '../deliveries/settle.ts';
import type { Calls } from '../groups/calls.ts';
import { changeFree } from './change.ts';
import * as deadLetters from './dead-letters.ts';
import * as events from './events.ts';
import * as messages from './messages.ts';
import * as search from './search.ts';
import * as statistics from './statistics.ts';
import { waitFacts } from './wait-facts.ts';

export interface MessagesOptions {
  readonly calls: Calls;
  readonly offer: StandingOffer;
  readonly cancels: Cancels;
  readonly inbox: Inbox;
  readonly timers: Clock;
}

export function createMessages({
  calls,
  offer,
  cancels,
  inbox,
  timers,
}: MessagesOptions): MessageStore & Pick<AckStore, 'readMessage'> {
  const retry = calls.writing(deadLetters.retryDeadLetters, {
    makesWork: ({ dueAt }, _retries, now) => ({ dueAt, now }),
    writesJournal: true,
  });
  const journal = { list: calls.reading(events.listEvents), isHeldBack: calls.reading(events.isHeldBack) };
  return {
    getMessage: calls.reading(messages.getMessage),
    readMessage: calls.reading(messages.getMessage),
    waitFacts: calls.reading(waitFacts),
    messageStates: calls.reading(messages.messageStates),
    searchMessages: calls.reading(search.searchMessages),
    countPiece: calls.reading(search.countPiece),
    deliverNow: calls.writing(deliverNow, { makesWork: (_result, _accountId, _id, now) => ({ dueAt: now, now }) }),
    releaseHeld: calls.writing(releaseHeld, {
      makesWork: (released, _accountId, _ids, now) => ({ dueAt: released.length > 0 ? now : null, now }),
      writesJournal: true,
    }),

    changeMessage: changing(calls, offer, inbox),

    cancel: cancels.cancel,
    confirmCancels: cancels.confirm,

    deleteDeadLetters: calls.writing(deadLetters.deleteDeadLetters),
    async retryDeadLetters(retries, now, dayMax = null) {
      const fresh = retries.map(({ message }) => message);
      const { isRetried, isOverQuota } = await inbox.hold(fresh, () => retry(retries, now, dayMax));
      return isOverQuota ? 'overQuota' : isRetried;
    },

    listEvents: listingLive(journal, timers, () => calls.news.hear({ isNews: true, isAccess: false })),
    journalEnd: calls.reading(events.journalEnd),
    onJournal: (listener) => calls.news.onJournal(listener),

    openMessagesPiece: calls.reading(statistics.openMessagesPiece),
    endedCounts: calls.reading(statistics.endedCounts),
    failureGroups: calls.reading(statistics.failureGroups),
  };
}

function changing(calls: Calls, offer: StandingOffer, inbox: Inbox): MessageStore['changeMessage'] {
  const wait = calls.writing(waitForFirst);
  const write = calls.writing(changeFree, {
    makesWork: (step, _accountId, _id, _change, now) => ({ dueAt: step?.dueAt ?? null, now }),
    writesJournal: (step) => step?.outcome.outcome === 'changed',
  });
  const changeInTurn = async (...[accountId, messageId, change, now]: Parameters<MessageStore['changeMessage']>) => {
    for (;;) {
      const step = await write(accountId, messageId, change, now);
      if (step) return step;
      await wait(accountId, [messageId]);
    }
  };
  return async (accountId, messageId, change, now) => {
    const changing = () => changeInTurn(accountId, messageId, change, now);
    const { outcome, isStartChanged } = await inbox.hold([waitingChange(accountId, change)], changing);
    if (isStartChanged) offer.forgetDue();
    return outcome;
  };
}

const LOOKS_MAX = 4;
const LOOK_SOON_MS = 2;
const LOOK_AGAIN_MS = 50;

interface Journal {
  readonly list: Store['listEvents'];
  readonly isHeldBack: (accountId: string, position: number) => Promise<boolean>;
}

/**
 * Lists events for live streams. If a transaction that is still open ends the page, this reads the page again shortly;
 * after a few reads, it asks the reader to read again.
 */
function listingLive({ list, isHeldBack }: Journal, timers: Clock, askToLook: () => void): Store['listEvents'] {
  return async (accountId, filter, page) => {
    for (let looks = 1; ; looks += 1) {
      const found = await list(accountId, filter, page);
      const isLive = page.order === 'oldestFirst' && found.cursor === null;
      if (!isLive || !(await isHeldBack(accountId, found.endedAt))) return found;
      // Usually the open transaction began in this very millisecond, so a few quick reads are enough.
      if (looks === LOOKS_MAX) {
        timers.after(LOOK_AGAIN_MS, askToLook);
        return found;
      }
      await new Promise<void>((resolve) => timers.after(LOOK_SOON_MS, resolve));
    }
  };
}
