// Reads the journal as events, newest or oldest first. As in search.ts, one call does a bounded amount of work. It
// reads each row of the journal once, and a body only for an event that is shown.

import type { EventFilter } from '../../../rules/delivery/event.ts';
import {
  EVENT_BODY_BYTES_MAX,
  eventBodyBytes,
  isEventWanted,
  type JournalStep,
  type MessageEvent,
  readsAccountJournal,
  stepEvents,
} from '../../../rules/delivery/event.ts';
import type { Message } from '../../../rules/delivery/message.ts';
import { Matcher } from '../../../rules/reads/message-filter.ts';
import { ReadCounter } from '../../../rules/reads/read-amount.ts';
import type { EventPage, PageRequest } from '../../ports/message-store.ts';
import { toMessage } from '../../rows/message-row.ts';
import { stepFromRow } from '../../rows/rows.ts';
import { PageOfEvents } from '../../shared/pages.ts';
import { Bodies } from '../deliveries/bodies.ts';
import { firstPositionAt } from '../deliveries/journal.ts';
import type { Database } from '../thread/database.ts';
import { getAttempt } from './messages.ts';
import { type CandidateRow, passedBytes, readCandidate } from './search.ts';

const CHUNK = 500;

interface JournalRow {
  readonly position: number;
  readonly step: number;
  readonly at: number;
  readonly message_seq: number;
}

export function listEvents(database: Database, accountId: string, filter: EventFilter, page: PageRequest): EventPage {
  const isDown = page.order === 'newestFirst';
  // The time of an event is never later than that of its row, so rows before `fromAt` can be skipped.
  const floor = filter.fromAt === undefined ? 0 : firstPositionAt(filter.fromAt);
  const looking = new ReadCounter(page.look);
  const maker = new EventMaker(database, filter, page, looking);
  const made = new PageOfEvents(page, looking);
  // Not more rows than the page may hold, because the next page would read the other rows again.
  for (let chunk = page.limit + 1; ; chunk *= 2) {
    const limit = Math.min(chunk, CHUNK, looking.rowsLeft);
    const rows = readJournal(database, accountId, filter.messages.messageIds, { at: made.at, floor, isDown, limit });
    if (!rows.every((row) => addStep(made, row, maker, isDown) && !looking.isEnough)) return made.upTo(made.at);
    if (rows.length < limit) return made.upTo(null);
    if (made.isFull) return made.upTo(made.at);
  }
}

/** Adds the events of a row. Returns false if they do not fit on the page, or if no more may be read for it. */
function addStep(made: PageOfEvents, row: JournalRow, maker: EventMaker, isDown: boolean): boolean {
  const wanted = maker.eventsOf(row);
  return wanted !== 'later' && made.add(row.position, isDown ? wanted.toReversed() : wanted);
}

/** The part of the journal after the position `at`, but not below `floor`. */
interface Part {
  readonly at: number;
  readonly floor: number;
  readonly isDown: boolean;
  readonly limit: number;
}

function readJournal(
  database: Database,
  accountId: string,
  messageIds: readonly string[] | undefined,
  part: Part,
): JournalRow[] {
  if (readsAccountJournal(messageIds)) return readPart(database, 'journal j WHERE j.account_id = ?', [accountId], part);
  // A message has few journal rows. So all rows of each message are read, and then sorted.
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
  return rows.toSorted((a, b) => sign * (a.position - b.position)).slice(0, part.limit);
}

function readPart(database: Database, from: string, values: readonly string[], part: Part): JournalRow[] {
  return database.all<JournalRow>(
    `SELECT j.seq AS position, j.step, j.at, j.message_seq FROM ${from} AND j.seq ${part.isDown ? '<' : '>'} ? AND j.seq >= ?
       ORDER BY j.seq ${part.isDown ? 'DESC' : 'ASC'} LIMIT ?`,
    ...values,
    part.at,
    part.floor,
    part.limit,
  );
}

/** How many messages are cached. The journal rows of one message are close together. */
const KEPT = 50;

interface Known {
  readonly row: CandidateRow;
  readonly message: Message;
  readonly mayMatch: boolean;
}

/** Turns journal rows into the events that the filter selects. */
class EventMaker {
  readonly #database: Database;
  readonly #filter: EventFilter;
  readonly #page: PageRequest;
  readonly #looking: ReadCounter;
  readonly #matcher: Matcher;
  readonly #whole: Bodies;
  readonly #cut: Bodies;
  readonly #known = new Map<number, Known | null>();

  constructor(database: Database, filter: EventFilter, page: PageRequest, looking: ReadCounter) {
    this.#database = database;
    this.#filter = filter;
    this.#page = page;
    this.#looking = looking;
    this.#matcher = new Matcher(filter.messages);
    this.#whole = new Bodies(database, 1);
    this.#cut = new Bodies(database, 1, EVENT_BODY_BYTES_MAX + 1);
  }

  /** Those events of a step that the filter selects. `later`: its body does not fit any more, so the page ends before it. */
  eventsOf(row: JournalRow): MessageEvent[] | 'later' {
    const isNew = !this.#known.has(row.message_seq);
    const known = this.#messageOf(row.message_seq);
    const passed = isNew && known ? passedBytes(known.row) : 0;
    const step = known?.mayMatch ? stepOf(this.#database, row) : null;
    const events = step ? this.#eventsOf(known!.message, step, row) : [];
    const responseBytes = step?.kind === 'attempt' ? step.attempt.responseBody.length : 0;
    // Apart from a filter by text, the filter decides without the body, so the body is read only when it is needed.
    if (events.length === 0 || !(this.#page.withBodies || this.#matcher.hasText)) {
      this.#looking.add(responseBytes, passed);
      return events;
    }
    const isWhole = this.#matcher.hasText || eventBodyBytes(known!.message) === null;
    const bodies = isWhole ? this.#whole : this.#cut;
    const bytes = bodies.has(known!.row) ? 0 : known!.row.body_bytes;
    if (!this.#looking.hasRoomFor(bytes)) return 'later';
    this.#looking.add(bytes + responseBytes);
    const whole = { ...known!.message, body: bodies.read(known!.row) };
    if (!this.#matcher.matches(whole)) return [];
    return this.#page.withBodies ? this.#eventsOf(whole, step!, row) : events;
  }

  #messageOf(seq: number): Known | null {
    let known = this.#known.get(seq);
    if (known === undefined) {
      if (this.#known.size >= KEPT) this.#known.clear();
      const row = readCandidate(this.#database, seq);
      const message = row && toMessage(row);
      known = row && message ? { row, message, mayMatch: this.#matcher.mayMatch(message) } : null;
      this.#known.set(seq, known);
    }
    return known;
  }

  #eventsOf(message: Message, step: JournalStep, row: JournalRow): MessageEvent[] {
    return stepEvents(message, step, this.#page.isLive)
      .filter((event) => isEventWanted(this.#filter, event))
      .map((event) => ({ ...event, position: row.position }));
  }
}

function stepOf(database: Database, row: JournalRow): JournalStep | null {
  const bare = stepFromRow(row);
  if (bare) return bare;
  const attempt = getAttempt(database, row.message_seq, row.step);
  return attempt && { kind: 'attempt', attempt };
}

/** The position of the newest row, where a live stream starts; 0 if the journal is empty. */
export function journalEnd(database: Database, accountId: string): number {
  const row = database.get<{ seq: number }>(
    'SELECT seq FROM journal WHERE account_id = ? ORDER BY seq DESC LIMIT 1',
    accountId,
  );
  return row?.seq ?? 0;
}
