// What is known about a message that waits: its queue, its flow key, and what is before it.

import { cappedCount } from '../../../rules/delivery/why.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import type { WaitFacts } from '../../ports/message-store.ts';
import { getFlowKey } from '../../resources/flow-keys.ts';
import { getQueue } from '../../resources/queues.ts';
import { type StateOfRow, toState } from '../../rows/message-columns.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { runSteps } from '../resources/steps.ts';
import type { Database } from '../sessions/database.ts';
import { SHOWN_COLUMNS } from './messages.ts';
import { nullIfUnstorable } from './storable.ts';

export async function waitFacts(database: Database, accountId: string, messageId: string): Promise<WaitFacts | null> {
  const row = await database.get<MessageRow>(
    `SELECT ${SHOWN_COLUMNS} FROM messages m WHERE m.account_id = $1 AND m.id = $2`,
    accountId,
    nullIfUnstorable(messageId),
  );
  if (!row) return null;
  const isInLine = row.queue_name !== null && row.ended_at === null && !row.holds_place;
  return {
    message: toMessage(row),
    queue: row.queue_name === null ? null : await runSteps(database, getQueue(accountId, row.queue_name)),
    ahead: isInLine ? await ahead(database, row) : null,
    flowKey: row.flow_key === null ? null : await runSteps(database, getFlowKey(accountId, row.flow_key)),
    flowAhead: row.flow_key === null || row.state !== 'queued' ? null : await flowAhead(database, row),
  };
}

/** How many messages the flow key admits before this one, and one of those that have a place. */
async function flowAhead(database: Database, row: MessageRow): Promise<WaitFacts['flowAhead']> {
  const max = eachMax('lineCount');
  const found = await database.get<{ n: number }>(
    `SELECT count(*) AS n FROM (SELECT 1 FROM messages WHERE state = 'queued' AND flow_key IS NOT NULL AND account_id = $1
       AND flow_key = $2 AND (due_at, seq) < ($3, $4) LIMIT $5) AS line`,
    row.account_id,
    row.flow_key,
    row.due_at,
    row.seq,
    max + 1,
  );
  const first = await database.get<{ id: string }>(
    `SELECT id FROM messages WHERE holds_place AND flow_key IS NOT NULL AND account_id = $1 AND flow_key = $2
       ORDER BY state LIMIT 1`,
    row.account_id,
    row.flow_key,
  );
  return { ...cappedCount(found!.n, max), messageId: first?.id ?? null };
}

/**
 * The message before this one that should end first, and how many are before it. If this one is not the first of its
 * order key, only messages of the key count. Otherwise, those of the queue that hold a place or come earlier.
 */
async function ahead(database: Database, row: MessageRow): Promise<WaitFacts['ahead']> {
  const isBehindKey = row.order_key !== null && !row.is_first_of_key;
  const inQueue = `account_id = $1 AND queue_name = $2 AND queue_name IS NOT NULL
    ${isBehindKey ? 'AND order_key = $5 AND order_key IS NOT NULL' : ''}`;
  const before = `${inQueue} AND ended_at IS NULL AND (first_due_at, seq) < ($3, $4)`;
  const max = eachMax('lineCount');
  const values = [row.account_id, row.queue_name, row.first_due_at, row.seq, ...(isBehindKey ? [row.order_key] : [])];
  const facts = await database.get<{ id: string; due_at: number; before: number; beyond: number } & StateOfRow>(
    `SELECT first.id, first.state, first.held_at, first.due_at,
       (SELECT count(*) FROM (SELECT 1 FROM messages WHERE ${before} LIMIT ${max + 1}) AS few) AS before,
       (SELECT count(*) FROM messages WHERE ${inQueue} AND holds_place AND (first_due_at, seq) > ($3, $4)) AS beyond
     FROM (
       (SELECT 0 AS rank, id, state, held_at, due_at FROM messages WHERE ${inQueue} AND holds_place ORDER BY first_due_at, seq LIMIT 1)
       UNION ALL
       (SELECT 1, id, state, held_at, due_at FROM messages WHERE ${before} ORDER BY first_due_at, seq LIMIT 1)
     ) first ORDER BY first.rank LIMIT 1`,
    ...values,
  );
  if (!facts) return null;
  return {
    messageId: facts.id,
    state: toState(facts),
    dueAt: facts.due_at,
    ...cappedCount(facts.before + facts.beyond, max),
    ...(isBehindKey && { isOfKey: true }),
  };
}
