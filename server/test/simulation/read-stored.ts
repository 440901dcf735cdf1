// The whole store at the end of a run, in the words of the checker.

import type { HeaderList } from '../../src/rules/delivery/message.ts';
import { getMessage } from '../../src/store/sqlite/messages/messages.ts';
import type { Database } from '../../src/store/sqlite/thread/database.ts';
import type { StoredMessage } from '../checker/history.ts';
import { hashOf, queueKey } from './draft.ts';
import { headerOf } from './network.ts';
import { HEADER_PREFIX } from './node.ts';

export function readStored(database: Database): StoredMessage[] {
  const ids = database.all<{ id: string; accountId: string }>(
    'SELECT id, account_id AS accountId FROM messages ORDER BY seq',
  );
  return ids.map(({ id, accountId }) => {
    const { message, attempts } = getMessage(database, accountId, id)!;
    return {
      id,
      kind: message.kind,
      sourceMessageId: message.sourceMessageId,
      url: message.url,
      method: message.method,
      bodyHash: hashOf(message.body),
      headers: message.headers,
      queue: message.queueName && queueKey(accountId, message.queueName),
      retriesMax: message.retriesMax,
      firstDueAt: message.firstDueAt,
      state: message.state,
      endedAt: message.endedAt,
      retried: message.retried,
      interrupted: message.interrupted,
      aloneAtCrash: message.aloneAtCrash,
      attempts: attempts.map(({ number, startedAt, endedAt, outcome, status, responseHeaders }) => ({
        number,
        startedAt,
        endedAt,
        outcome,
        status,
        retryAfterMs: askedWaitMs(responseHeaders),
        isFinal: status === 489 || headerOf(responseHeaders, `${HEADER_PREFIX}NonRetryable-Error`) === 'true',
      })),
    };
  });
}

/** The receivers of the simulation only ever answer whole seconds. */
function askedWaitMs(headers: HeaderList): number | null {
  const seconds = headerOf(headers, 'Retry-After');
  return seconds === null ? null : Number(seconds) * 1000;
}
