// Finds messages for lists, cancels and bulk operations, newest or oldest first. The best index for the filter gives
// candidates in order, a few hundred at a time; domain/message-filter.ts applies the filter. One call does a bounded
// amount of work: a page may be short, with a cursor to continue from.

import { eachMax } from '../../domain/budgets.ts';
import { chooseWay, HOSTS_MAX, type ListWay, wayByHosts } from '../../domain/list-way.ts';
import type { Attempt, Message } from '../../domain/message.ts';
import { type CountPiece, Matcher, type MessageFilter, StateTally } from '../../domain/message-filter.ts';
import { attemptWeight, messageWeight } from '../../domain/page-weight.ts';
import { type MessageRow, toMessage } from '../message-row.ts';
import type { MessagePage, PageRequest } from '../message-store.ts';
import { Bodies } from './bodies.ts';
import type { Database } from './database.ts';
import { ALL_BUT_BODY, getAttempt } from './messages.ts';

const CHUNK = 200;
/** How many candidates one call looks at. */
const LOOKED_AT_MAX = 20_000;
/** How many bytes of bodies one call reads to search for text. */
const SEARCHED_BYTES_MAX = 32 * 1024 * 1024;

/** Messages that share a body are neighbours, so caching the last body is enough. */
const SHARED_KEPT = 1;

/**
 * One source of candidates in order of `seq`: the SQL after SELECT and the column with the order; or, if the positions
 * are known, the positions themselves in ascending order.
 */
type Way =
  | { readonly from: string; readonly values: readonly string[]; readonly seq?: string }
  | { readonly seqs: readonly number[] };

export function searchMessages(
  database: Database,
  accountId: string,
  filter: MessageFilter,
  page: PageRequest,
): MessagePage {
  const walk = new Walk(database, waysTo(database, accountId, chooseWay(filter)), page);
  const judge = new Judge(database, filter, page.withBodies);
  const messages: Message[] = [];
  const lastAttempts: (Attempt | null)[] = [];
  const work = new Work();
  let bytes = 0;
  for (let row = walk.next(); row; row = walk.next()) {
    const message = judge.meant(row, work);
    if (message) {
      const last = page.withLastAttempts ? getAttempt(database, row.seq, row.attempts) : null;
      messages.push(message);
      lastAttempts.push(last);
      bytes += messageWeight(message) + (last ? attemptWeight(last) : 0);
    }
    if (messages.length >= page.limit || work.isEnough || bytes >= pageBytes(page)) {
      return { messages, lastAttempts, cursor: walk.hasMore() ? row.seq : null };
    }
  }
  return { messages, lastAttempts, cursor: null };
}

export function pageBytes({ bytesMax = eachMax('pageBytes') }: PageRequest): number {
  return bytesMax;
}

/** Counts what one call has looked at. */
class Work {
  #rows = 0;
  #bytes = 0;

  add(bodyBytes: number): void {
    this.#rows += 1;
    this.#bytes += bodyBytes;
  }

  get isEnough(): boolean {
    return this.#rows >= LOOKED_AT_MAX || this.#bytes >= SEARCHED_BYTES_MAX;
  }
}

/** How many messages match, from a cursor on. Stops at `max`, or when it has looked at enough. */
export function countPiece(
  database: Database,
  accountId: string,
  filter: MessageFilter,
  max: number,
  cursor: number | null,
): CountPiece {
  const walk = new Walk(database, waysTo(database, accountId, chooseWay(filter)), { cursor, order: 'newestFirst' });
  const judge = new Judge(database, filter, false);
  const work = new Work();
  const tally = new StateTally();
  for (let row = walk.next(); row; row = walk.next()) {
    const message = judge.meant(row, work);
    if (message) tally.add(message);
    if (tally.count >= max || work.isEnough) return tally.piece(row.seq);
  }
  return tally.piece(null);
}

/** Decides which rows match. The rows come without bodies; a body is read only if the filter or the caller needs it. */
export class Judge {
  readonly #matcher: Matcher;
  readonly #bodies: Bodies;
  readonly #withBodies: boolean;

  constructor(database: Database, filter: MessageFilter, withBodies: boolean) {
    this.#matcher = new Matcher(filter);
    this.#bodies = new Bodies(database, SHARED_KEPT);
    this.#withBodies = withBodies;
  }

  meant(row: MessageRow, work?: Work): Message | null {
    const bare = toMessage(row);
    const mayBeMeant = this.#matcher.mayBeMeant(bare);
    const isRead = mayBeMeant && (this.#matcher.hasText || this.#withBodies);
    const body = isRead ? this.#bodies.read(row) : bare.body;
    work?.add(body.length);
    if (!mayBeMeant) return null;
    if (!isRead) return bare;
    const whole = { ...bare, body };
    if (!this.#matcher.isMeant(whole)) return null;
    return this.#withBodies ? whole : bare;
  }
}

/** Merges several ways into one sequence without duplicates. */
class Walk {
  readonly #database: Database;
  readonly #order: PageRequest['order'];
  #heads: { way: Way; rows: MessageRow[]; at: number | null }[];

  constructor(database: Database, ways: readonly Way[], page: Pick<PageRequest, 'cursor' | 'order'>) {
    this.#database = database;
    this.#order = page.order;
    this.#heads = ways.map((way) => ({ way, rows: [], at: page.cursor }));
  }

  next(): MessageRow | null {
    const first = this.#first();
    if (!first) return null;
    for (const head of this.#heads) if (head.rows[0]?.seq === first.seq) head.rows.shift();
    return first;
  }

  hasMore(): boolean {
    return this.#first() !== null;
  }

  #first(): MessageRow | null {
    let first: MessageRow | null = null;
    for (const head of this.#heads) {
      if (head.rows.length === 0) this.#fill(head);
      const row = head.rows[0];
      if (!row) {
        // Drops a finished way. Otherwise a thousand ids would cause a thousand queries for each of a thousand
        // messages.
        this.#heads = this.#heads.filter((each) => each !== head);
        continue;
      }
      const goesBefore = first === null || (this.#order === 'newestFirst' ? row.seq > first.seq : row.seq < first.seq);
      if (goesBefore) first = row;
    }
    return first;
  }

  #fill(head: { way: Way; rows: MessageRow[]; at: number | null }): void {
    const isDown = this.#order === 'newestFirst';
    const at = head.at ?? (isDown ? Number.MAX_SAFE_INTEGER : 0);
    head.rows = 'seqs' in head.way ? this.#named(head.way.seqs, at, isDown) : this.#behind(head.way, at, isDown);
    head.at = head.rows.at(-1)?.seq ?? (isDown ? 0 : Number.MAX_SAFE_INTEGER);
  }

  #behind({ from, values, seq = 'm.seq' }: Exclude<Way, { seqs: unknown }>, at: number, isDown: boolean): MessageRow[] {
    const sql = `SELECT ${ALL_BUT_BODY} FROM ${from} AND ${seq} ${isDown ? '< ?' : '> ?'}
      ORDER BY ${seq} ${isDown ? 'DESC' : 'ASC'} LIMIT ?`;
    return this.#database.all<MessageRow>(sql, ...values, at, CHUNK);
  }

  #named(seqs: readonly number[], at: number, isDown: boolean): MessageRow[] {
    const rest = isDown ? seqs.filter((seq) => seq < at).reverse() : seqs.filter((seq) => seq > at);
    return rest
      .slice(0, CHUNK)
      .flatMap((seq) => this.#database.all<MessageRow>(`SELECT ${ALL_BUT_BODY} FROM messages m WHERE m.seq = ?`, seq));
  }
}

/** The columns that lists filter by, and the index of each. */
const INDEXES = {
  source_message_id: 'messages_of_source',
  schedule_id: 'messages_of_schedule',
  flow_key: 'messages_of_flow_key',
  queue_name: 'messages_of_queue',
  topic_name: 'messages_of_topic',
  host: 'messages_of_host',
} as const;

/** The ways through the index that serves the filter. */
function waysTo(database: Database, accountId: string, chosen: ListWay): Way[] {
  const by = (from: string, ...values: string[]): Way => ({ from, values: [accountId, ...values] });
  switch (chosen.by) {
    case 'id': {
      const seqs = chosen.values.flatMap((id) =>
        database.all<{ seq: number }>('SELECT seq FROM messages WHERE id = ? AND account_id = ?', id, accountId),
      );
      return [{ seqs: seqs.map(({ seq }) => seq).sort((a, b) => a - b) }];
    }
    case 'label':
      return chosen.values.map((label) => ({
        from: `message_labels l CROSS JOIN messages m ON m.seq = l.message_seq WHERE l.account_id = ? AND l.label = ?`,
        values: [accountId, label],
        seq: 'l.message_seq',
      }));
    case 'unretried':
      return [
        by(
          `messages m INDEXED BY messages_dead WHERE m.account_id = ? AND m.state = 'failed' AND m.retried_at IS NULL`,
        ),
      ];
    case 'endedBadly':
      return chosen.states.map((state) =>
        by(
          `messages m INDEXED BY messages_ended_badly
             WHERE m.account_id = ? AND m.state = ? AND m.state IN ('failed', 'cancelled')`,
          state,
        ),
      );
    case 'held':
      return [by('messages m INDEXED BY messages_held WHERE m.account_id = ? AND m.held_at IS NOT NULL')];
    case 'open':
      return [by('messages m INDEXED BY messages_open WHERE m.account_id = ? AND m.ended_at IS NULL')];
    case 'account':
      return [by('messages m INDEXED BY messages_of_account WHERE m.account_id = ?')];
    case 'hostOnAnyPort':
      return waysTo(database, accountId, wayByHosts(hostsWithPorts(database, accountId, chosen.values)));
    default: {
      const from = `messages m INDEXED BY ${INDEXES[chosen.by]} WHERE m.account_id = ? AND m.${chosen.by} = ?`;
      return chosen.values.map((value) => by(from, value));
    }
  }
}

/** For a host without a port: that host with every port that exists. Stops when there are too many for one way each. */
function hostsWithPorts(database: Database, accountId: string, hosts: readonly string[]): string[] {
  const found: string[] = [];
  for (const host of hosts) {
    found.push(host);
    for (let at: string | undefined = `${host}:`; at !== undefined; ) {
      const next: { host: string } | undefined = database.get(
        `SELECT host FROM messages INDEXED BY messages_of_host WHERE account_id = ? AND host > ? AND host < ?
           ORDER BY host LIMIT 1`,
        accountId,
        at,
        `${host};`,
      );
      at = next?.host;
      if (at !== undefined) found.push(at);
      if (found.length > HOSTS_MAX) return found;
    }
  }
  return found;
}
