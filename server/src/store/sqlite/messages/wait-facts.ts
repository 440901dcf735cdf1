// What is known about a waiting message: its queue, its flow key, and the messages before it.

import { cappedCount } from '../../../rules/delivery/why.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import type { WaitFacts } from '../../ports/message-store.ts';
import { getFlowKey } from '../../resources/flow-keys.ts';
import { getQueue } from '../../resources/queues.ts';
import { type StateOfRow, toState } from '../../rows/message-columns.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { runSteps } from '../resources/steps.ts';
import type { Database } from '../thread/database.ts';
import type { VerbContext } from '../thread/verb.ts';
import { ALL_BUT_BODY } from './messages.ts';

export function waitFacts(context: VerbContext, accountId: string, messageId: string): WaitFacts | null {
  const { database } = context;
  const row = database.get<MessageRow>(
    `SELECT ${ALL_BUT_BODY} FROM messages m WHERE m.id = ? AND m.account_id = ?`,
    messageId,
    accountId,
  );
  if (!row) return null;
  return {
    message: toMessage(row),
    queue: row.queue_name === null ? null : runSteps(context, getQueue(accountId, row.queue_name)),
    ahead: row.queue_name === null || row.ended_at !== null || row.holds_place ? null : ahead(database, row),
    flowKey: row.flow_key === null ? null : runSteps(context, getFlowKey(accountId, row.flow_key)),
    flowAhead: row.flow_key === null || row.state !== 'queued' ? null : flowAhead(database, row),
  };
}

/** How many messages the flow key of this message admits before it, and one of those that have a place. */
function flowAhead(database: Database, row: MessageRow): WaitFacts['flowAhead'] {
  const max = eachMax('lineCount');
  const { n } = database.get<{ n: number }>(
    `SELECT count(*) AS n FROM (SELECT 1 FROM messages WHERE state = 'queued' AND flow_key IS NOT NULL AND account_id = ?
       AND flow_key = ? AND (due_at, seq) < (?, ?) LIMIT ?)`,
    row.account_id,
    row.flow_key,
    row.due_at,
    row.seq,
    max + 1,
  )!;
  const first = database.get<{ id: string }>(
    `SELECT id FROM messages INDEXED BY messages_within_flow_key
       WHERE holds_place = 1 AND flow_key IS NOT NULL AND account_id = ? AND flow_key = ? ORDER BY state LIMIT 1`,
    row.account_id,
    row.flow_key,
  );
  return { ...cappedCount(n, max), messageId: first?.id ?? null };
}

/**
 * The message that should end first before this one may start, and how many messages are before this one. If this one
 * is not the first of its order key, only messages with that key count. Otherwise, all with a place or before it count.
 */
function ahead(database: Database, row: MessageRow): WaitFacts['ahead'] {
  const isBehindKey = row.order_key !== null && !row.is_first_of_key;
  const line = `ended_at IS NULL AND account_id = ? AND queue_name = ?${isBehindKey ? ' AND order_key = ?' : ''}`;
  const inLine = [row.account_id, row.queue_name, ...(isBehindKey ? [row.order_key] : [])];
  const holding = line.replace('ended_at IS NULL', 'holds_place = 1');
  const position = [row.first_due_at, row.seq];
  const first =
    database.get<First>(
      `SELECT id, state, held_at, due_at FROM messages INDEXED BY messages_holding WHERE ${holding} ORDER BY first_due_at, seq LIMIT 1`,
      ...inLine,
    ) ??
    database.get<First>(
      `SELECT id, state, held_at, due_at FROM messages WHERE ${line} AND (first_due_at, seq) < (?, ?) ORDER BY first_due_at, seq LIMIT 1`,
      ...inLine,
      ...position,
    );
  if (!first) return null;
  const max = eachMax('lineCount');
  const { before, beyond } = database.get<{ before: number; beyond: number }>(
    `SELECT (SELECT count(*) FROM (SELECT 1 FROM messages WHERE ${line} AND (first_due_at, seq) < (?, ?) LIMIT ?)) AS before,
       (SELECT count(*) FROM messages INDEXED BY messages_holding WHERE ${holding} AND (first_due_at, seq) > (?, ?)) AS beyond`,
    ...inLine,
    ...position,
    max + 1,
    ...inLine,
    ...position,
  )!;
  return {
    messageId: first.id,
    state: toState(first),
    dueAt: first.due_at,
    ...cappedCount(before + beyond, max),
    ...(isBehindKey && { isOfKey: true }),
  };
}

type First = StateOfRow & { readonly id: string; readonly due_at: number };
