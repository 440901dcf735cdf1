// Reads the journal as events, newest or oldest first; as in search.ts, one call does a bounded amount of work. Rows of
// several transactions may share a position: all of them are on the same page, because a reader continues after the
// position. A body is read last, for an event that is shown.

import type { EventFilter } from '../../../rules/delivery/event.ts';
import {
  eventBodyBytes,
  isEventWanted,
  type JournalStep,
  type MessageEvent,
  readsAccountJournal,
  stepEvents,
} from '../../../rules/delivery/event.ts';
import type { Attempt, Message } from '../../../rules/delivery/message.ts';
import { Matcher } from '../../../rules/reads/message-filter.ts';
import { ReadCounter } from '../../../rules/reads/read-amount.ts';
import type { EventPage, PageRequest } from '../../ports/message-store.ts';
import { toMessage } from '../../rows/message-row.ts';
import { CANCELLED, PARKED, RELEASED, RESUMED, startedAttempt, stepFromRow } from '../../rows/rows.ts';
import { PageOfEvents } from '../../shared/pages.ts';
import { firstOpenPosition, positionBefore } from '../deliveries/journal.ts';
import type { Database, Value } from '../sessions/database.ts';
import { readAttempts } from './messages.ts';
import { BodiesToRead, CANDIDATE_COLUMNS, type CandidateRow, joinMessage } from './search.ts';
import { nullEachUnstorable } from './storable.ts';

const CHUNK = 500;
/** The number of steps that are read together: their attempts and their bodies are read with one statement each. */
const STEPS_AT_ONCE = 50;

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
  // A reader must not pass a position that is still to be written. So `firstOpenPosition` is read before the rows.
  const end = isDown ? Number.MAX_SAFE_INTEGER : await firstOpenPosition(database);
  const looking = new ReadCounter(page.look);
  const maker = new EventMaker(database, accountId, filter, page, looking);
  const made = new PageOfEvents(page, looking);
  // Reads no more than the page can hold: the next page would read the rest again.
  for (let chunk = page.limit + 1; ; chunk *= 2) {
    const limit = Math.min(chunk, CHUNK, looking.rowsLeft);
    const part = { at: made.at, floor, end, isDown, limit };
    const rows = await readJournal(database, accountId, filter.messages.messageIds, part);
    for (let index = 0; index < rows.length; ) {
      const some = await maker.next(rows.slice(index), made.isBegun);
      for (const { position, events, count } of some) {
        if (!made.add(position, events)) return made.upTo(made.at);
        index += count;
      }
      if (some.length === 0 || looking.isEnough) return made.upTo(made.at);
    }
    if (rows.length < limit) return made.upTo(null);
    if (made.isFull) return made.upTo(made.at);
  }
}

/** The part of the journal after `at`, not below `floor`, and below `end`. */
interface Part {
  readonly at: number;
  readonly floor: number;
  readonly end: number;
  readonly isDown: boolean;
  readonly limit: number;
}

async function readJournal(
  database: Database,
  accountId: string,
  messageIds: readonly string[] | undefined,
  part: Part,
): Promise<JournalRow[]> {
  const sign = part.isDown ? -1 : 1;
  const rows = await (messageIds === undefined || readsAccountJournal(messageIds)
    ? readPart(database, `journal j ${joinMessage('j')} WHERE j.account_id = $1`, [accountId], part)
    : readPart(
        database,
        `messages m JOIN journal j ON j.account_id = m.account_id AND j.message_seq = m.seq
           WHERE m.account_id = $1 AND m.id = ANY($2::text[]) AND j.account_id = $1`,
        [accountId, nullEachUnstorable(messageIds)],
        part,
      ));
  return rows.sort((a, b) => sign * (a.journal_seq - b.journal_seq || a.seq - b.seq || rank(a) - rank(b)));
}

/** The order of the steps of one message: an attempt starts before it ends, then a release, and the cancel last. */
function rank({ step }: JournalRow): number {
  if ([CANCELLED, RELEASED, PARKED, RESUMED].includes(step)) return Number.MAX_SAFE_INTEGER + step;
  const number = startedAttempt(step);
  return number === null ? 2 * Math.max(0, step) : 2 * number - 1;
}

/** Reads `part.limit` rows, and all further rows at the position of the last one. */
function readPart(database: Database, from: string, values: readonly Value[], part: Part): Promise<JournalRow[]> {
  const n = values.length;
  return database.all<JournalRow>(
    `SELECT j.seq AS journal_seq, j.step, j.at, ${CANDIDATE_COLUMNS} FROM ${from}
       AND j.seq ${part.isDown ? '<' : '>'} $${n + 1} AND j.seq >= $${n + 2} AND j.seq < $${n + 3}
       ORDER BY j.seq ${part.isDown ? 'DESC' : 'ASC'} FETCH FIRST $${n + 4} ROWS WITH TIES`,
    ...values,
    part.at,
    part.floor,
    part.end,
    part.limit,
  );
}

/** The events of one position that the filter selects. */
interface MadeEvents {
  readonly position: number;
  /** In the order of the page. */
  readonly events: readonly MessageEvent[];
  /** How many rows share the position. */
  readonly count: number;
}

/** Turns journal rows into the events that the filter selects. */
class EventMaker {
  readonly #database: Database;
  readonly #accountId: string;
  readonly #filter: EventFilter;
  readonly #page: PageRequest;
  readonly #looking: ReadCounter;
  readonly #matcher: Matcher;

  constructor(database: Database, accountId: string, filter: EventFilter, page: PageRequest, looking: ReadCounter) {
    this.#database = database;
    this.#accountId = accountId;
    this.#filter = filter;
    this.#page = page;
    this.#looking = looking;
    this.#matcher = new Matcher(filter.messages);
  }

  /**
   * Makes the events of the first positions. Stops when enough was read, and before a position for whose bodies there
   * is no room. The first position of a page is always included, however large its bodies are.
   */
  async next(rows: readonly JournalRow[], isBegun: boolean): Promise<MadeEvents[]> {
    const lastAtOnce = rows[STEPS_AT_ONCE - 1]?.journal_seq;
    const some = rows.filter((row, index) => index < STEPS_AT_ONCE || row.journal_seq === lastAtOnce);
    const bare = await this.#makeBare(some);
    const toRead = new BodiesToRead(this.#looking);
    const made: JournalRow[][] = [];
    for (const position of Map.groupBy(some, ({ journal_seq }) => journal_seq).values()) {
      const isFirst = !isBegun && made.length === 0;
      if (!position.every((row) => this.#take(row, bare.get(row)!, toRead, isFirst))) break;
      made.push(position);
    }
    const bodies = await toRead.read(this.#database, (row) =>
      this.#matcher.hasText ? null : eventBodyBytes(bare.get(row as JournalRow)!.message),
    );
    const isDown = this.#page.order === 'newestFirst';
    return made.map((position) => ({
      position: position[0]!.journal_seq,
      events: position.flatMap((row) => {
        const events = this.#whole(row, bare.get(row)!, bodies);
        return isDown ? events.reverse() : events;
      }),
      count: position.length,
    }));
  }

  /** Makes events without bodies. The bodies are read later, if the filter or the page needs them. */
  async #makeBare(rows: readonly JournalRow[]): Promise<Map<JournalRow, Bare>> {
    const messages = new Map(rows.map((row) => [row, toMessage(row)]));
    const meant = rows.filter((row) => this.#matcher.mayMatch(messages.get(row)!));
    const tried = meant.filter((row) => stepFromRow(row) === null);
    const attempts = await readAttempts(
      this.#database,
      this.#accountId,
      tried.map(({ seq, step }) => ({ seq, number: step })),
    );
    const attemptOf = new Map(tried.map((row, index) => [row, attempts[index]]));
    const steps = new Map(meant.map((row) => [row, stepOf(row, attemptOf.get(row))]));
    return new Map(
      rows.map((row) => {
        const message = messages.get(row)!;
        const step = steps.get(row) ?? null;
        return [row, { message, step, events: step ? this.#eventsOf(message, step, row) : [] }];
      }),
    );
  }

  /** Counts a row. Returns false if there is no room for it. */
  #take(row: JournalRow, { step, events }: Bare, toRead: BodiesToRead, isFirst: boolean): boolean {
    const responseBytes = step?.kind === 'attempt' ? step.attempt.responseBody.length : 0;
    if (events.length > 0 && this.#needsBodies) return toRead.add(row, { responseBytes, isFirst });
    if (!isFirst && this.#looking.isEnough) return false;
    this.#looking.add(responseBytes);
    return true;
  }

  #whole(row: JournalRow, { message, step, events }: Bare, bodies: ReadonlyMap<number, Uint8Array>): MessageEvent[] {
    if (events.length === 0 || !this.#needsBodies) return events;
    const body = bodies.get(row.seq);
    if (!body || !this.#matcher.matches({ ...message, body })) return [];
    return this.#page.withBodies ? this.#eventsOf({ ...message, body }, step!, row) : events;
  }

  get #needsBodies(): boolean {
    return this.#page.withBodies || this.#matcher.hasText;
  }

  #eventsOf(message: Message, step: JournalStep, row: JournalRow): MessageEvent[] {
    return stepEvents(message, step, this.#page.isLive)
      .filter((event) => isEventWanted(this.#filter, event))
      .map((event) => ({ ...event, position: row.journal_seq }));
  }
}

/** The content of a row without the body of its message. */
interface Bare {
  readonly message: Message;
  readonly step: JournalStep | null;
  readonly events: MessageEvent[];
}

function stepOf(row: JournalRow, attempt: Attempt | null | undefined): JournalStep | null {
  const bare = stepFromRow(row);
  if (bare) return bare;
  return attempt ? { kind: 'attempt', attempt } : null;
}

/** Whether there are rows after this position that a live stream must not see yet: see `firstOpenPosition`. */
export async function isHeldBack(database: Database, accountId: string, position: number): Promise<boolean> {
  const end = await firstOpenPosition(database);
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
    await firstOpenPosition(database),
  );
  return row?.seq ?? 0;
}
