// Finds messages for lists, cancels and bulk operations, newest or oldest first. The best index for the filter gives
// candidates in order, a few hundred at a time; domain/message-filter.ts applies the filter. One call does a bounded
// amount of work: a page may be short, with a cursor to continue from.

import { eachMax } from '../../domain/budgets.ts';
import { chooseWay, HOSTS_MAX, type ListWay, wayByHosts } from '../../domain/list-way.ts';
import type { Attempt, Message } from '../../domain/message.ts';
import { type CountPiece, Matcher, type MessageFilter, StateTally } from '../../domain/message-filter.ts';
import { attemptWeight, messageWeight } from '../../domain/page-weight.ts';
import { POSTGRES_COLUMNS } from '../message-fields.ts';
import { type MessageRow, toMessage } from '../message-row.ts';
import type { MessagePage, PageRequest } from '../message-store.ts';
import { bodyBytesSql, readBodies } from './bodies.ts';
import type { Database, Value } from './database.ts';
import { readAttempts, SHOWN } from './messages.ts';
import { soughtAll } from './sought.ts';

const CHUNK = 200;
/** How many candidates one call looks at. */
const LOOKED_AT_MAX = 20_000;
/** How many bytes of bodies one call reads to search for text. */
const SEARCHED_BYTES_MAX = 32 * 1024 * 1024;
/** How many messages have their last attempts read at once. */
const ATTEMPTS_AT_ONCE = 20;
/** How many bytes of bodies one statement reads; a larger body is read alone. */
const BODIES_BYTES_MAX = 4 * 1024 * 1024;

/**
 * What is read of a candidate: everything except its body, and the size of the body, which is known without reading it.
 */
export const CANDIDATE = `${SHOWN}, ${bodyBytesSql('m')} AS body_bytes`;
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
  const walk = new Walk(database, await waysTo(database, accountId, chooseWay(filter)), page);
  const judge = new Judge(database, filter, page.withBodies);
  const messages: Message[] = [];
  const lastAttempts: (Attempt | null)[] = [];
  let lookedAt = 0;
  let bytes = 0;
  for (let rows = await walk.next(); rows.length > 0; rows = await walk.next()) {
    for (let at = 0; at < rows.length; ) {
      const some = rows.slice(at, page.withLastAttempts ? at + ATTEMPTS_AT_ONCE : undefined);
      const judged = await judge.next(some, page.limit - messages.length);
      const lasts = page.withLastAttempts ? await lastAttemptsOf(database, accountId, some, judged) : [];
      for (const [index, message] of judged.entries()) {
        const { seq } = rows[at]!;
        at += 1;
        lookedAt += 1;
        if (message) {
          const last = lasts[index] ?? null;
          messages.push(message);
          lastAttempts.push(last);
          bytes += messageWeight(message) + (last ? attemptWeight(last) : 0);
        }
        const isEnough = lookedAt >= LOOKED_AT_MAX || judge.bytesRead >= SEARCHED_BYTES_MAX;
        if (messages.length >= page.limit || isEnough || bytes >= pageBytes(page)) {
          const hasMore = at < rows.length || (await walk.hasMore());
          return { messages, lastAttempts, cursor: hasMore ? seq : null };
        }
      }
    }
  }
  return { messages, lastAttempts, cursor: null };
}

export function pageBytes({ bytesMax = eachMax('pageBytes') }: PageRequest): number {
  return bytesMax;
}

/** Parallel to the matching rows: the last attempt, or null. */
async function lastAttemptsOf(
  database: Database,
  accountId: string,
  rows: readonly CandidateRow[],
  judged: readonly (Message | null)[],
): Promise<(Attempt | null)[]> {
  const meant = rows.flatMap((row, index) => (judged[index] && row.attempts > 0 ? [{ row, index }] : []));
  const attempts = await readAttempts(
    database,
    accountId,
    meant.map(({ row }) => ({ seq: row.seq, number: row.attempts })),
  );
  const beside: (Attempt | null)[] = judged.map(() => null);
  for (const [at, { index }] of meant.entries()) beside[index] = attempts[at] ?? null;
  return beside;
}

/** How many messages match, from a cursor on. Stops at `max`, or when it has looked at enough. */
export async function countPiece(
  database: Database,
  accountId: string,
  filter: MessageFilter,
  max: number,
  cursor: number | null,
): Promise<CountPiece> {
  const ways = await waysTo(database, accountId, chooseWay(filter));
  const walk = new Walk(database, ways, { limit: CHUNK, cursor, order: 'newestFirst' });
  const judge = new Judge(database, filter, false);
  const tally = new StateTally();
  let lookedAt = 0;
  for (let rows = await walk.next(); rows.length > 0; rows = await walk.next()) {
    for (let at = 0; at < rows.length; ) {
      for (const message of await judge.next(rows.slice(at), max - tally.count)) {
        const { seq } = rows[at]!;
        at += 1;
        lookedAt += 1;
        if (message) tally.add(message);
        const isEnough = lookedAt >= LOOKED_AT_MAX || judge.bytesRead >= SEARCHED_BYTES_MAX;
        if (tally.count >= max || isEnough) return tally.piece(seq);
      }
    }
  }
  return tally.piece(null);
}

/** Decides which rows match. The rows come without bodies; a body is read only if the filter or the caller needs it. */
export class Judge {
  readonly #database: Database;
  readonly #matcher: Matcher;
  readonly #withBodies: boolean;
  /** Bytes of bodies read so far. */
  bytesRead = 0;

  constructor(database: Database, filter: MessageFilter, withBodies: boolean) {
    this.#database = database;
    this.#matcher = new Matcher(filter);
    this.#withBodies = withBodies;
  }

  /**
   * Parallel to the first rows: the message, or null if it does not match. Stops when the bodies needed exceed what one
   * statement reads, or after `limit` messages that match whatever their bodies contain.
   */
  async next(rows: readonly CandidateRow[], limit: number): Promise<(Message | null)[]> {
    const judged: (Message | null)[] = [];
    const toRead = new Map<number, CandidateRow>();
    const shared = new Set<number>();
    let bytes = 0;
    let meant = 0;
    for (const [index, row] of rows.entries()) {
      const bare = toMessage(row);
      const mayBeMeant = this.#matcher.mayBeMeant(bare);
      const isMeantBare = mayBeMeant && this.#matcher.isMeant(bare);
      if (mayBeMeant && (this.#withBodies || !isMeantBare)) {
        const more = row.body_id !== null && shared.has(row.body_id) ? 0 : row.body_bytes;
        if (toRead.size > 0 && bytes + more > BODIES_BYTES_MAX) break;
        toRead.set(index, row);
        bytes += more;
        if (row.body_id !== null) shared.add(row.body_id);
      }
      judged.push(mayBeMeant ? bare : null);
      if (isMeantBare) meant += 1;
      if (meant >= limit) break;
    }
    const bodies = await readBodies(this.#database, [...toRead.values()]);
    this.bytesRead += bytes;
    for (const [index, { seq }] of toRead) {
      const bare = judged[index]!;
      const body = bodies.get(seq);
      const whole = body && { ...bare, body };
      judged[index] = whole && this.#matcher.isMeant(whole) ? (this.#withBodies ? whole : bare) : null;
    }
    return judged;
  }
}

interface Head {
  readonly way: Way;
  rows: CandidateRow[];
  at: number;
  size: number;
  isRead: boolean;
}

/** Merges several ways into one sequence without duplicates. */
class Walk {
  readonly #database: Database;
  readonly #isDown: boolean;
  #heads: Head[];

  constructor(database: Database, ways: readonly Way[], page: Pick<PageRequest, 'limit' | 'cursor' | 'order'>) {
    this.#database = database;
    this.#isDown = page.order === 'newestFirst';
    const at = page.cursor ?? (this.#isDown ? Number.MAX_SAFE_INTEGER : 0);
    // One more than a page holds, to know whether it is the last page.
    const size = Math.min(page.limit + 1, CHUNK);
    this.#heads = ways.map((way) => ({ way, rows: [], at, size, isRead: false }));
  }

  /** As many rows as are in order without another read, but at least one; empty at the end. */
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

  /** Reads the next chunk of each way that is used up, and drops the ways that have ended. */
  async #fill(): Promise<void> {
    for (const head of this.#heads) {
      if (head.rows.length > 0) continue;
      const { from, values, seq = 'm.seq' } = head.way;
      const behind = values.length + 1;
      head.rows = await this.#database.all<CandidateRow>(
        `SELECT ${CANDIDATE} FROM ${from} AND ${seq} ${this.#isDown ? '<' : '>'} $${behind}
           ORDER BY ${seq} ${this.#isDown ? 'DESC' : 'ASC'} LIMIT $${behind + 1}`,
        ...values,
        head.at,
        head.size,
      );
      head.isRead = head.rows.length < head.size;
      head.at = head.rows.at(-1)?.seq ?? head.at;
      head.size = CHUNK;
    }
    this.#heads = this.#heads.filter((head) => head.rows.length > 0);
  }
}

/**
 * The ways through the index that serves the filter. Each condition repeats the condition of its index, so that the
 * planner can use it.
 */
async function waysTo(database: Database, accountId: string, chosen: ListWay): Promise<Way[]> {
  const by = (condition: string, ...values: Value[]): Way => ({
    from: `messages m WHERE m.account_id = $1 ${condition}`,
    values: [accountId, ...values],
  });
  switch (chosen.by) {
    case 'id':
      return [by('AND m.id = ANY($2::text[])', soughtAll(chosen.values))];
    case 'label':
      return soughtAll(chosen.values).map((label) => ({
        from: `message_labels l ${messageOf('l')} WHERE l.account_id = $1 AND l.label = $2`,
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
      return waysTo(database, accountId, wayByHosts(await hostsWithPorts(database, accountId, chosen.values)));
    default:
      return soughtAll(chosen.values).map((value) =>
        by(`AND m.${chosen.by} = $2 AND m.${chosen.by} IS NOT NULL`, value),
      );
  }
}

/**
 * Joins the message `m` of each row of `table` by its `message_seq`. OFFSET keeps the planner from starting with the
 * messages instead: only the rows of `table` are in the order to read.
 */
export function messageOf(table: string): string {
  return `CROSS JOIN LATERAL (SELECT ${POSTGRES_COLUMNS} FROM messages
    WHERE account_id = ${table}.account_id AND seq = ${table}.message_seq OFFSET 0) m`;
}

/** For a host without a port: that host with every port that exists. Stops when there are too many for one way each. */
async function hostsWithPorts(database: Database, accountId: string, hosts: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const host of soughtAll(hosts)) {
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
