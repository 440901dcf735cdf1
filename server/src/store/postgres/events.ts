// Reads the journal as events, newest or oldest first. As in search.ts, one call does a bounded amount of work. Rows of
// several transactions may share a position: all of them are on the same page, because a reader continues after the
// position.

import type { EventFilter } from '../../domain/event.ts';
import { type MessageEvent, type Step, stepEvents } from '../../domain/event.ts';
import type { Attempt } from '../../domain/message.ts';
import { eventWeight } from '../../domain/page-weight.ts';
import type { EventPage, PageRequest } from '../message-store.ts';
import { bareStep, CANCELLED, RELEASED, startedBy } from '../rows.ts';
import type { Database, Value } from './database.ts';
import { horizon, positionBefore } from './journal.ts';
import { readAttempts } from './messages.ts';
import { CANDIDATE, type CandidateRow, Judge, messageOf, pageBytes } from './search.ts';
import { soughtAll } from './sought.ts';

const CHUNK = 500;
const LOOKED_AT_MAX = 20_000;
/** At least this many steps are read at once, so that a small page does not read each attempt with its own query. */
const TOLD_MIN = 50;

type JournalRow = CandidateRow & { journal_seq: number; step: number; at: number };

export async function listEvents(
  database: Database,
  accountId: string,
  filter: EventFilter,
  page: PageRequest,
): Promise<EventPage> {
  const isDown = page.order === 'newestFirst';
  // The time of an event is never later than its row, so rows before `fromAt` can be skipped.
  const floor = filter.fromAt === undefined ? 0 : await positionBefore(database, accountId, filter.fromAt);
  // A reader that continues must not have passed a position that is still to be written. Read before the rows.
  const end = isDown ? Number.MAX_SAFE_INTEGER : await horizon(database);
  const teller = new Teller(database, accountId, filter, page);
  const events: MessageEvent[] = [];
  let at = page.cursor ?? (isDown ? Number.MAX_SAFE_INTEGER : 0);
  let bytes = 0;
  for (let lookedAt = 0; lookedAt < LOOKED_AT_MAX; ) {
    const rows = await readJournal(database, accountId, filter.messages.messageIds, { at, floor, end, isDown });
    let ofPosition: MessageEvent[] = [];
    let bytesOfPosition = 0;
    for (let index = 0; index < rows.length; ) {
      for (const told of await teller.next(rows.slice(index), Math.max(page.limit - events.length, TOLD_MIN))) {
        const { journal_seq: position } = rows[index]!;
        index += 1;
        ofPosition.push(...(isDown ? told.toReversed() : told));
        bytesOfPosition = told.reduce((sum, event) => sum + eventWeight(event), bytesOfPosition);
        if (rows[index]?.journal_seq === position) continue;
        // The events of a position are never split between pages, so a page with one position may exceed the limit.
        const isFull = events.length + ofPosition.length > page.limit || bytes >= pageBytes(page);
        if (events.length > 0 && ofPosition.length > 0 && isFull) return { events, cursor: at, endedAt: at };
        events.push(...ofPosition);
        bytes += bytesOfPosition;
        at = position;
        ofPosition = [];
        bytesOfPosition = 0;
      }
    }
    lookedAt += rows.length;
    if (rows.length < CHUNK) return { events, cursor: null, endedAt: at };
    if (events.length >= page.limit) break;
  }
  return { events, cursor: at, endedAt: at };
}

/** The part of the journal after `at`, not below `floor`, and below `end`. */
interface Part {
  readonly at: number;
  readonly floor: number;
  readonly end: number;
  readonly isDown: boolean;
}

async function readJournal(
  database: Database,
  accountId: string,
  messageIds: readonly string[] | undefined,
  part: Part,
): Promise<JournalRow[]> {
  const sign = part.isDown ? -1 : 1;
  const rows = await (messageIds === undefined
    ? readPart(database, `journal j ${messageOf('j')} WHERE j.account_id = $1`, [accountId], part)
    : readPart(
        database,
        `messages m JOIN journal j ON j.account_id = m.account_id AND j.message_seq = m.seq
           WHERE m.account_id = $1 AND m.id = ANY($2::text[]) AND j.account_id = $1`,
        [accountId, soughtAll(messageIds)],
        part,
      ));
  return rows.sort((a, b) => sign * (a.journal_seq - b.journal_seq || a.seq - b.seq || rank(a) - rank(b)));
}

/** The order of the steps of one message: an attempt starts before it ends, then a release, and the cancel last. */
function rank({ step }: JournalRow): number {
  if (step === CANCELLED || step === RELEASED) return Number.MAX_SAFE_INTEGER + step;
  const number = startedBy(step);
  return number === null ? 2 * Math.max(0, step) : 2 * number - 1;
}

/** One chunk, and all rows that share the position of its last row. */
function readPart(database: Database, from: string, values: readonly Value[], part: Part): Promise<JournalRow[]> {
  const n = values.length;
  return database.all<JournalRow>(
    `SELECT j.seq AS journal_seq, j.step, j.at, ${CANDIDATE} FROM ${from}
       AND j.seq ${part.isDown ? '<' : '>'} $${n + 1} AND j.seq >= $${n + 2} AND j.seq < $${n + 3}
       ORDER BY j.seq ${part.isDown ? 'DESC' : 'ASC'} FETCH FIRST ${CHUNK} ROWS WITH TIES`,
    ...values,
    part.at,
    part.floor,
    part.end,
  );
}

/** Makes journal rows into the events that the filter asks for. */
class Teller {
  readonly #database: Database;
  readonly #accountId: string;
  readonly #filter: EventFilter;
  readonly #judge: Judge;
  readonly #isLive: boolean | undefined;

  constructor(
    database: Database,
    accountId: string,
    filter: EventFilter,
    { withBodies, isLive }: Pick<PageRequest, 'withBodies' | 'isLive'>,
  ) {
    this.#database = database;
    this.#isLive = isLive;
    this.#accountId = accountId;
    this.#filter = filter;
    this.#judge = new Judge(database, filter.messages, withBodies);
  }

  /** Parallel to the first rows: their events, oldest first; empty if the filter does not ask for them. */
  async next(rows: readonly JournalRow[], limit: number): Promise<MessageEvent[][]> {
    const messages = await this.#judge.next(rows, limit);
    const tried = rows.filter((row, index) => messages[index] && bareStep(row) === null);
    const attempts = await readAttempts(
      this.#database,
      this.#accountId,
      tried.map(({ seq, step }) => ({ seq, number: step })),
    );
    const attemptOf = new Map(tried.map((row, index) => [row, attempts[index]]));
    return messages.map((message, index) => {
      const row = rows[index]!;
      const step = stepOf(row, attemptOf.get(row));
      if (!message || !step) return [];
      return stepEvents(message, step, this.#isLive)
        .filter((event) => this.#isWanted(event))
        .map((event) => ({ ...event, position: row.journal_seq }));
    });
  }

  #isWanted({ at, state }: MessageEvent): boolean {
    const { states, fromAt, toAt } = this.#filter;
    return (
      (states === undefined || states.includes(state)) &&
      (fromAt === undefined || at >= fromAt) &&
      (toAt === undefined || at <= toAt)
    );
  }
}

function stepOf(row: JournalRow, attempt: Attempt | null | undefined): Step | null {
  const bare = bareStep(row);
  if (bare) return bare;
  return attempt ? { kind: 'attempt', attempt } : null;
}

/** Whether there are rows after this position that a live stream must not see yet: see `horizon`. */
export async function isHeldBack(database: Database, accountId: string, position: number): Promise<boolean> {
  const end = await horizon(database);
  const row = await database.get(
    'SELECT 1 FROM journal WHERE account_id = $1 AND seq > $2 AND seq >= $3 LIMIT 1',
    accountId,
    position,
    end,
  );
  return row !== undefined;
}

/** The newest final position, where a live stream starts. 0 if there is none. */
export async function journalEnd(database: Database, accountId: string): Promise<number> {
  const row = await database.get<{ seq: number }>(
    'SELECT seq FROM journal WHERE account_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT 1',
    accountId,
    await horizon(database),
  );
  return row?.seq ?? 0;
}
