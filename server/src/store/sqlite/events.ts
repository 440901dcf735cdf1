// Reads the journal as events, newest or oldest first. As in search.ts, one call does a bounded amount of work.

import type { EventFilter } from '../../domain/event.ts';
import { type MessageEvent, type Step, stepEvents } from '../../domain/event.ts';
import { eventWeight } from '../../domain/page-weight.ts';
import type { MessageRow } from '../message-row.ts';
import type { EventPage, PageRequest } from '../message-store.ts';
import { bareStep } from '../rows.ts';
import type { Database } from './database.ts';
import { firstPositionAt } from './journal.ts';
import { ALL_BUT_BODY, getAttempt } from './messages.ts';
import { Judge, pageBytes } from './search.ts';

const CHUNK = 500;
const LOOKED_AT_MAX = 20_000;

type JournalRow = MessageRow & { journal_seq: number; step: number; at: number };

export function listEvents(database: Database, accountId: string, filter: EventFilter, page: PageRequest): EventPage {
  const isDown = page.order === 'newestFirst';
  // The time of an event is never later than its row, so rows before `fromAt` can be skipped.
  const floor = filter.fromAt === undefined ? 0 : firstPositionAt(filter.fromAt);
  const judge = new Judge(database, filter.messages, page.withBodies);
  const events: MessageEvent[] = [];
  let at = page.cursor ?? (isDown ? Number.MAX_SAFE_INTEGER : 0);
  let bytes = 0;
  for (let lookedAt = 0; lookedAt < LOOKED_AT_MAX; ) {
    const rows = readJournal(database, accountId, filter.messages.messageIds, { at, floor, isDown });
    for (const row of rows) {
      const wanted = wantedEvents(database, judge, row, filter, page.isLive);
      if (isDown) wanted.reverse();
      // The events of a step are never split between pages, so a page with one step may exceed the limit.
      const isFull = events.length + wanted.length > page.limit || bytes >= pageBytes(page);
      if (events.length > 0 && wanted.length > 0 && isFull) return { events, cursor: at, endedAt: at };
      events.push(...wanted);
      bytes = wanted.reduce((sum, event) => sum + eventWeight(event), bytes);
      at = row.journal_seq;
      lookedAt += 1;
    }
    if (rows.length < CHUNK) return { events, cursor: null, endedAt: at };
    if (events.length >= page.limit) break;
  }
  return { events, cursor: at, endedAt: at };
}

/** The part of the journal after `at`, and not below `floor`. */
interface Part {
  readonly at: number;
  readonly floor: number;
  readonly isDown: boolean;
}

function readJournal(
  database: Database,
  accountId: string,
  messageIds: readonly string[] | undefined,
  part: Part,
): JournalRow[] {
  if (messageIds === undefined) {
    return readPart(
      database,
      'journal j CROSS JOIN messages m ON m.seq = j.message_seq WHERE j.account_id = ?',
      [accountId],
      part,
    );
  }
  // A message has few rows: read all rows of each message, then sort them.
  const rows = [...new Set(messageIds)].flatMap((id) =>
    readPart(
      database,
      `messages m CROSS JOIN journal j ON j.message_seq = m.seq
         WHERE m.id = ? AND m.account_id = ? AND j.account_id = m.account_id`,
      [id, accountId],
      part,
    ),
  );
  const sign = part.isDown ? -1 : 1;
  return rows.toSorted((a, b) => sign * (a.journal_seq - b.journal_seq)).slice(0, CHUNK);
}

function readPart(database: Database, from: string, values: readonly string[], part: Part): JournalRow[] {
  return database.all<JournalRow>(
    `SELECT j.seq AS journal_seq, j.step, j.at, ${ALL_BUT_BODY} FROM ${from} AND j.seq ${part.isDown ? '<' : '>'} ? AND j.seq >= ?
       ORDER BY j.seq ${part.isDown ? 'DESC' : 'ASC'} LIMIT ?`,
    ...values,
    part.at,
    part.floor,
    CHUNK,
  );
}

function wantedEvents(
  database: Database,
  judge: Judge,
  row: JournalRow,
  filter: EventFilter,
  isLive: boolean | undefined,
): MessageEvent[] {
  const message = judge.meant(row);
  const step = message && stepOf(database, row);
  if (!message || !step) return [];
  return stepEvents(message, step, isLive)
    .filter(
      (event) =>
        (filter.states === undefined || filter.states.includes(event.state)) &&
        (filter.fromAt === undefined || event.at >= filter.fromAt) &&
        (filter.toAt === undefined || event.at <= filter.toAt),
    )
    .map((event) => ({ ...event, position: row.journal_seq }));
}

function stepOf(database: Database, row: JournalRow): Step | null {
  const bare = bareStep(row);
  if (bare) return bare;
  const attempt = getAttempt(database, row.seq, row.step);
  return attempt && { kind: 'attempt', attempt };
}

/** The position of the newest row, where a live stream starts. */
export function journalEnd(database: Database, accountId: string): number {
  const row = database.get<{ seq: number }>(
    'SELECT seq FROM journal WHERE account_id = ? ORDER BY seq DESC LIMIT 1',
    accountId,
  );
  return row?.seq ?? 0;
}
