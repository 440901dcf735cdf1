// Finds messages for lists, cancels and bulk operations, newest or oldest first. The best index for the filter gives
// candidates in order, a few hundred at a time; rules/reads/message-filter.ts applies the filter. One call does a bounded
// amount of work: a page may be short, with a cursor to continue from.

import type { Attempt, Message } from '../../../rules/delivery/message.ts';
import { chooseListIndex, HOSTS_MAX, type ListIndex, listIndexByHosts } from '../../../rules/reads/list-way.ts';
import { type CountPiece, Matcher, type MessageFilter, StateTally } from '../../../rules/reads/message-filter.ts';
import { pieceReadMax, type ReadAmount, ReadCounter } from '../../../rules/reads/read-amount.ts';
import type { MessagePage, PageRequest } from '../../ports/message-store.ts';
import { POSTGRES_COLUMNS } from '../../rows/message-fields.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { PageOfMessages } from '../../shared/pages.ts';
import { bodyBytesSql, readBodies } from '../deliveries/bodies.ts';
import type { Database, Value } from '../sessions/database.ts';
import { readAttempts, SHOWN_COLUMNS } from './messages.ts';
import { nullEachUnstorable } from './storable.ts';

/** Rows that are read at once, for all index paths together. */
const CHUNK = 200;
/** The fewest rows that are read at once for one index path. */
const CHUNK_OF_WAY = 10;
/** How many messages have their last attempts read at once. */
const ATTEMPTS_AT_ONCE = 20;
/**
 * What is read of a candidate: everything except its body, and the size of the body, which is known without reading it.
 */
export const CANDIDATE_COLUMNS = `${SHOWN_COLUMNS}, ${bodyBytesSql('m')} AS body_bytes`;
export type CandidateRow = MessageRow & { body_bytes: number };

/** One source of candidates in order of `seq`: the SQL after FROM, and the column with the order. */
interface Way {
  readonly from: string;
  readonly values: readonly Value[];
  readonly seq?: string;
}

export async function searchMessages(
  database: Database,
  accountId: string,
  filter: MessageFilter,
  page: PageRequest,
): Promise<MessagePage> {
  const walk = new Walk(database, await waysTo(database, accountId, chooseListIndex(filter)), page);
  const looking = new ReadCounter(page.look);
  const rowFilter = new RowFilter(database, filter, page.withBodies, looking);
  const made = new PageOfMessages(page, looking);
  const atOnce = page.withLastAttempts ? ATTEMPTS_AT_ONCE : CHUNK;
  let cursor = page.cursor;
  for (let rows = await walk.next(); rows.length > 0; rows = await walk.next()) {
    for (let at = 0; at < rows.length; ) {
      const some = rows.slice(at, at + atOnce);
      const filtered = await rowFilter.next(some, made.left);
      // There is no room for the next body now.
      if (filtered.length === 0) return made.upTo(cursor);
      const lasts = page.withLastAttempts ? await lastAttemptsOf(database, accountId, some, filtered) : [];
      const taken = take(made, some, filtered, lasts);
      at += taken;
      cursor = some[taken - 1]!.seq;
      if (made.isFull || looking.isEnough) {
        const hasMore = at < rows.length || (await walk.hasMore());
        return made.upTo(hasMore ? cursor : null);
      }
    }
  }
  return made.upTo(null);
}

/** Adds the messages that match until the page is full. Returns how many rows that took. */
function take(
  made: PageOfMessages,
  rows: readonly CandidateRow[],
  filtered: readonly (Message | null)[],
  lasts: readonly (Attempt | null)[],
): number {
  for (const [index, message] of filtered.entries()) {
    if (message) made.add(message, lasts[index] ?? null, rows[index]!);
    if (made.isFull) return index + 1;
  }
  return filtered.length;
}

/** Parallel to `filtered`: the last attempt of each message that matches, or null. */
async function lastAttemptsOf(
  database: Database,
  accountId: string,
  rows: readonly CandidateRow[],
  filtered: readonly (Message | null)[],
): Promise<(Attempt | null)[]> {
  const meant = rows.flatMap((row, index) => (filtered[index] && row.attempts > 0 ? [{ row, index }] : []));
  const attempts = await readAttempts(
    database,
    accountId,
    meant.map(({ row }) => ({ seq: row.seq, number: row.attempts })),
  );
  const beside: (Attempt | null)[] = filtered.map(() => null);
  for (const [at, { index }] of meant.entries()) beside[index] = attempts[at] ?? null;
  return beside;
}

/** How many messages match, from a cursor on. Stops at `max`, or when enough was read. */
export async function countPiece(
  database: Database,
  accountId: string,
  filter: MessageFilter,
  max: number,
  cursor: number | null,
  look?: ReadAmount,
): Promise<CountPiece> {
  const ways = await waysTo(database, accountId, chooseListIndex(filter));
  const walk = new Walk(database, ways, { limit: CHUNK, cursor, order: 'newestFirst' });
  const looking = new ReadCounter(look);
  const rowFilter = new RowFilter(database, filter, false, looking);
  const tally = new StateTally();
  let at = cursor;
  for (let rows = await walk.next(); rows.length > 0; rows = await walk.next()) {
    for (let index = 0; index < rows.length; ) {
      const filtered = await rowFilter.next(rows.slice(index), max - tally.count);
      if (filtered.length === 0) return tally.piece(at, looking.looked);
      for (const message of filtered) {
        at = rows[index]!.seq;
        index += 1;
        if (message) tally.add(message);
        if (tally.count >= max) return tally.piece(at, looking.looked);
      }
      if (looking.isEnough) return tally.piece(at, looking.looked);
    }
  }
  return tally.piece(null, looking.looked);
}

/** Decides which rows match. The rows come without bodies; a body is read only if the filter or the caller needs it. */
class RowFilter {
  readonly #database: Database;
  readonly #matcher: Matcher;
  readonly #withBodies: boolean;
  readonly #looking: ReadCounter;

  constructor(database: Database, filter: MessageFilter, withBodies: boolean, looking: ReadCounter) {
    this.#database = database;
    this.#matcher = new Matcher(filter);
    this.#withBodies = withBodies;
    this.#looking = looking;
  }

  /**
   * Parallel to the first rows: the message, or null if it does not match. Stops when enough was read, before a body
   * for which there is no room, and after `limit` messages that match whatever their bodies contain.
   */
  async next(rows: readonly CandidateRow[], limit: number): Promise<(Message | null)[]> {
    const filtered: (Message | null)[] = [];
    const toRead = new BodiesToRead(this.#looking);
    let meant = 0;
    for (const row of rows) {
      const bare = toMessage(row);
      const mayMatch = this.#matcher.mayMatch(bare);
      const matchesBare = mayMatch && this.#matcher.matches(bare);
      const isRead = mayMatch && (this.#withBodies || !matchesBare);
      if (isRead ? !toRead.add(row) : this.#looking.isEnough) break;
      if (!isRead) this.#looking.add(0);
      filtered.push(mayMatch ? bare : null);
      if (matchesBare) meant += 1;
      if (meant >= limit) break;
    }
    const bodies = await toRead.read(this.#database);
    return filtered.map((bare, index) => {
      const row = rows[index]!;
      if (bare === null || !toRead.has(row)) return bare;
      const body = bodies.get(row.seq);
      const whole = body && { ...bare, body };
      if (!whole || !this.#matcher.matches(whole)) return null;
      return this.#withBodies ? whole : bare;
    });
  }
}

/** The bodies that one statement reads: as many as there is room for, and no more than one piece may read. */
export class BodiesToRead {
  readonly #looking: ReadCounter;
  #bytes = 0;
  readonly #rows = new Map<number, CandidateRow>();
  readonly #shared = new Set<number>();

  constructor(looking: ReadCounter) {
    this.#looking = looking;
  }

  /** Counts the body of a row. Returns false, and counts nothing, if there is no room and it is not the first. */
  add(row: CandidateRow, { responseBytes = 0, isFirst = false } = {}): boolean {
    const isKnown = this.#rows.has(row.seq) || (row.body_id !== null && this.#shared.has(row.body_id));
    const bytes = isKnown ? 0 : row.body_bytes;
    const isTooMuch = this.#bytes > 0 && this.#bytes + bytes > pieceReadMax().bytes;
    if (!isFirst && (isTooMuch || this.#looking.isEnough || !this.#looking.hasRoomFor(bytes))) return false;
    this.#bytes += bytes;
    this.#looking.add(bytes + responseBytes);
    this.#rows.set(row.seq, row);
    if (row.body_id !== null) this.#shared.add(row.body_id);
    return true;
  }

  has({ seq }: CandidateRow): boolean {
    return this.#rows.has(seq);
  }

  /** `bytesMax`: how much of a body is read. Null for all of it. */
  read(
    database: Database,
    bytesMax: (row: CandidateRow) => number | null = () => null,
  ): Promise<Map<number, Uint8Array>> {
    return readBodies(database, [...this.#rows.values()], (row) => bytesMax(row as CandidateRow));
  }
}

interface Head {
  readonly way: Way;
  rows: CandidateRow[];
  at: number;
  size: number;
  isRead: boolean;
}

/** Merges the rows of several index paths into one sequence without duplicates. */
class Walk {
  readonly #database: Database;
  readonly #isDown: boolean;
  readonly #chunk: number;
  #heads: Head[];

  constructor(database: Database, ways: readonly Way[], page: Pick<PageRequest, 'limit' | 'cursor' | 'order'>) {
    this.#database = database;
    this.#isDown = page.order === 'newestFirst';
    const at = page.cursor ?? (this.#isDown ? Number.MAX_SAFE_INTEGER : 0);
    this.#chunk = Math.max(CHUNK_OF_WAY, Math.ceil(CHUNK / ways.length));
    // Reads one row more than a page holds, to know whether it is the last page.
    const size = Math.min(page.limit + 1, this.#chunk);
    this.#heads = ways.map((way) => ({ way, rows: [], at, size, isRead: false }));
  }

  /** Returns the rows whose order is certain without another read: at least one, or none at the end. */
  async next(): Promise<CandidateRow[]> {
    await this.#fill();
    const rows: CandidateRow[] = [];
    while (this.#heads.length > 0 && this.#heads.every((head) => head.rows.length > 0)) {
      const first = this.#first();
      rows.push(first);
      for (const head of this.#heads) if (head.rows[0]?.seq === first.seq) head.rows.shift();
      this.#heads = this.#heads.filter((head) => head.rows.length > 0 || !head.isRead);
    }
    return rows;
  }

  async hasMore(): Promise<boolean> {
    await this.#fill();
    return this.#heads.length > 0;
  }

  #first(): CandidateRow {
    return this.#heads
      .map(({ rows }) => rows[0]!)
      .reduce((first, row) => (this.#isDown === row.seq > first.seq ? row : first));
  }

  /** Reads the next chunk of each index path that is used up, and drops the paths that have ended. */
  async #fill(): Promise<void> {
    for (const head of this.#heads) {
      if (head.rows.length > 0) continue;
      const { from, values, seq = 'm.seq' } = head.way;
      const behind = values.length + 1;
      head.rows = await this.#database.all<CandidateRow>(
        `SELECT ${CANDIDATE_COLUMNS} FROM ${from} AND ${seq} ${this.#isDown ? '<' : '>'} $${behind}
           ORDER BY ${seq} ${this.#isDown ? 'DESC' : 'ASC'} LIMIT $${behind + 1}`,
        ...values,
        head.at,
        head.size,
      );
      head.isRead = head.rows.length < head.size;
      head.at = head.rows.at(-1)?.seq ?? head.at;
      head.size = this.#chunk;
    }
    this.#heads = this.#heads.filter((head) => head.rows.length > 0);
  }
}

/**
 * The index paths that serve the filter. Each condition repeats the condition of its index, so that the planner can use
 * it.
 */
async function waysTo(database: Database, accountId: string, chosen: ListIndex): Promise<Way[]> {
  const by = (condition: string, ...values: Value[]): Way => ({
    from: `messages m WHERE m.account_id = $1 ${condition}`,
    values: [accountId, ...values],
  });
  switch (chosen.by) {
    case 'id':
      return [by('AND m.id = ANY($2::text[])', nullEachUnstorable(chosen.values))];
    case 'label':
      return nullEachUnstorable(chosen.values).map((label) => ({
        from: `message_labels l ${joinMessage('l')} WHERE l.account_id = $1 AND l.label = $2`,
        values: [accountId, label],
        seq: 'l.message_seq',
      }));
    case 'unretried':
      return [by("AND m.state = 'failed' AND m.retried_at IS NULL")];
    case 'endedBadly':
      // Written as a literal: with a parameter, the planner could not know that the partial index of these two states
      // applies.
      return chosen.states.map((state) => by(`AND m.state = '${state}'`));
    case 'held':
      return [by('AND m.held_at IS NOT NULL')];
    case 'open':
      return [by('AND m.ended_at IS NULL')];
    case 'account':
      return [by('')];
    case 'hostOnAnyPort':
      return waysTo(database, accountId, listIndexByHosts(await hostsWithPorts(database, accountId, chosen.values)));
    default: {
      // Debounce keys are indexed as callers gave them: without the URL of an endpoint.
      const of = chosen.by === 'debounce_key' ? 'split_part(m.debounce_key, chr(10), 1)' : `m.${chosen.by}`;
      return nullEachUnstorable(chosen.values).map((value) =>
        by(`AND ${of} = $2 AND m.${chosen.by} IS NOT NULL`, value),
      );
    }
  }
}

/**
 * Joins the message `m` of each row of `table` by its `message_seq`. OFFSET keeps the planner from starting with the
 * messages instead: only the rows of `table` are in the order of the list.
 */
export function joinMessage(table: string): string {
  return `CROSS JOIN LATERAL (SELECT ${POSTGRES_COLUMNS} FROM messages
    WHERE account_id = ${table}.account_id AND seq = ${table}.message_seq OFFSET 0) m`;
}

/** For a host without a port: the host with every port that exists. Stops when there are too many such hosts. */
async function hostsWithPorts(database: Database, accountId: string, hosts: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const host of nullEachUnstorable(hosts)) {
    // Steps from host to host through the index, however many messages are between them.
    const rows = await database.all<{ host: string }>(
      `WITH RECURSIVE found (host) AS (
         (SELECT m.host FROM messages m WHERE m.account_id = $1 AND m.host > $2 AND m.host < $3 ORDER BY m.host LIMIT 1)
         UNION ALL
         SELECT (SELECT m.host FROM messages m WHERE m.account_id = $1 AND m.host > f.host AND m.host < $3
                   ORDER BY m.host LIMIT 1)
           FROM found f WHERE f.host IS NOT NULL
       ) SELECT host FROM found WHERE host IS NOT NULL LIMIT $4`,
      accountId,
      `${host}:`,
      `${host};`,
      HOSTS_MAX,
    );
    found.push(host, ...rows.map((row) => row.host));
    if (found.length > HOSTS_MAX) return found;
  }
  return found;
}
