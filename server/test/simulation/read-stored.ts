// The whole store at the end of a run, in the words of the checker.

import type { HeaderList } from '../../src/rules/delivery/message.ts';
import { getMessage } from '../../src/store/sqlite/messages/messages.ts';
import type { Database } from '../../src/store/sqlite/thread/database.ts';
import type { StoredMessage, StoredSchedule } from '../checker/history.ts';
import { hashOf, queueKey } from './draft.ts';
import { headerOf } from './network.ts';
import { HEADER_PREFIX } from './node.ts';

/** `free`: attempts that used up no retry, as id and number. */
export function readStored(database: Database, free: ReadonlySet<string>): StoredMessage[] {
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
      orderKey: message.orderKey,
      retriesMax: message.retriesMax,
      firstDueAt: message.firstDueAt,
      mustStartBefore: message.mustStartBefore,
      hasExpired: message.failureCode === 'expired',
      awaitAckMs: message.awaitAckMs,
      state: message.state,
      endedAt: message.endedAt,
      retried: message.retried,
      interrupted: message.interrupted,
      aloneAtCrash: message.aloneAtCrash,
      attempts: attempts.map(({ number, startedAt, endedAt, outcome, status, nextAt, responseHeaders }) => ({
        number,
        startedAt,
        endedAt,
        outcome,
        status,
        nextAt,
        retryAfterMs: askedWaitMs(responseHeaders),
        isFree: free.has(`${id} ${number}`),
        isFinal: status === 489 || headerOf(responseHeaders, `${HEADER_PREFIX}NonRetryable-Error`) === 'true',
      })),
    };
  });
}

export function readSchedules(database: Database): StoredSchedule[] {
  return database
    .all<{ id: string; created_at: number; skipped_count: number | null; last_message_ids: string }>(
      'SELECT id, created_at, skipped_count, last_message_ids FROM schedules',
    )
    .map((row) => ({
      id: row.id,
      createdAt: row.created_at,
      skippedCount: row.skipped_count ?? 0,
      lastMessageIds: JSON.parse(row.last_message_ids),
    }));
}

/** The receivers of the simulation only ever answer whole seconds. */
function askedWaitMs(headers: HeaderList): number | null {
  const seconds = headerOf(headers, 'Retry-After');
  return seconds === null ? null : Number(seconds) * 1000;
}
