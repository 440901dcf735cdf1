// Finds messages for lists, cancels and bulk operations, newest or oldest first. The best index for the filter gives
// candidates in order; rules/reads/message-filter.ts applies the filter. One call does a bounded amount of work, so a
// page may be short and has a cursor to continue from.

import type { Message } from '../../../rules/delivery/message.ts';
import { chooseListIndex, HOSTS_MAX, type ListIndex, listIndexByHosts } from '../../../rules/reads/list-way.ts';
import { type CountPiece, Matcher, type MessageFilter, StateTally } from '../../../rules/reads/message-filter.ts';
import { type ReadAmount, ReadCounter } from '../../../rules/reads/read-amount.ts';
import type { MessagePage, PageRequest } from '../../ports/message-store.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { PageOfMessages } from '../../shared/pages.ts';
import { BODY_BYTES, Bodies } from '../deliveries/bodies.ts';
import type { Database } from '../thread/database.ts';
import { ALL_BUT_BODY, getAttempt } from './messages.ts';

/** How many positions (numbers of messages) are read at once, for all index paths together. */
const CHUNK = 200;
/** The fewest positions that are read at once for one index path. Perhaps only the first of them is needed. */
const CHUNK_OF_WAY = 10;

/** Messages that share a body are neighbours, so caching the last body is enough. */
const SHARED_KEPT = 1;

/** A row without its body. The size of the body is known without reading it. */
export type CandidateRow = MessageRow & { body_bytes: number };

/**
 * One source of candidates in the order of `seq`: the SQL after FROM, and the column with that number if it is not
 * `m.seq`. If the positions are already known: the positions in ascending order.
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
  const walk = new Walk(database, waysTo(database, accountId, chooseListIndex(filter)), page);
  const looking = new ReadCounter(page.look);
  const rowFilter = new RowFilter(database, filter, page.withBodies, looking);
  const made = new PageOfMessages(page, looking);
  let at = page.cursor;
  for (let row = walk.next(); row; row = walk.next()) {
    const message = rowFilter.meant(row);
    if (message === 'later') return made.upTo(at);
    at = row.seq;
    if (message) made.add(message, page.withLastAttempts ? getAttempt(database, row.seq, row.attempts) : null, row);
    if (made.isFull || looking.isEnough) return made.upTo(walk.hasMore() ? at : null);
  }
  return made.upTo(null);
}

/** How many messages match, from a cursor on. The count stops at `max`, or when enough rows were read. */
export function countPiece(
  database: Database,
  accountId: string,
  filter: MessageFilter,
  max: number,
  cursor: number | null,
  look?: ReadAmount,
): CountPiece {
  const walk = new Walk(database, waysTo(database, accountId, chooseListIndex(filter)), {
    cursor,
    order: 'newestFirst',
  });
  const looking = new ReadCounter(look);
  const rowFilter = new RowFilter(database, filter, false, looking);
  const tally = new StateTally();
  let at = cursor;
  for (let row = walk.next(); row; row = walk.next()) {
    const message = rowFilter.meant(row);
    if (message === 'later') return tally.piece(at, looking.looked);
    at = row.seq;
    if (message) tally.add(message);
    if (tally.count >= max || looking.isEnough) return tally.piece(at, looking.looked);
  }
  return tally.piece(null, looking.looked);
}

/** Decides which rows match. The rows have no bodies; a body is read only if the filter or the caller needs it. */
class RowFilter {
  readonly #matcher: Matcher;
  readonly #bodies: Bodies;
  readonly #withBodies: boolean;
  readonly #looking: ReadCounter;

  constructor(database: Database, filter: MessageFilter, withBodies: boolean, looking: ReadCounter) {
    this.#matcher = new Matcher(filter);
    this.#bodies = new Bodies(database, SHARED_KEPT);
    this.#withBodies = withBodies;
    this.#looking = looking;
  }

  /** The message, or null if it does not match. `later`: its body is too large for what this call may still read. */
  meant(row: CandidateRow): Message | null | 'later' {
    const bare = toMessage(row);
    const mayMatch = this.#matcher.mayMatch(bare);
    const matchesBare = mayMatch && this.#matcher.matches(bare);
    if (!mayMatch || (matchesBare && !this.#withBodies)) {
      this.#looking.add(0, passedBytes(row));
      return mayMatch ? bare : null;
    }
    const bytes = this.#bodies.has(row) ? 0 : row.body_bytes;
    if (!this.#looking.hasRoomFor(bytes)) return 'later';
    this.#looking.add(bytes);
    const whole = { ...bare, body: this.#bodies.read(row) };
    if (!this.#matcher.matches(whole)) return null;
    return this.#withBodies ? whole : bare;
  }
}

/** How many bytes of a body SQLite passes over when it reads the row without the body. */
export function passedBytes({ body_id, body_bytes }: CandidateRow): number {
  return body_id === null ? body_bytes : 0;
}

export function readCandidate(database: Database, seq: number): CandidateRow | undefined {
  return database.get<CandidateRow>(
    `SELECT ${ALL_BUT_BODY}, ${BODY_BYTES} AS body_bytes FROM messages m WHERE m.seq = ?`,
    seq,
  );
}

interface Head {
  readonly way: Way;
  /** The next positions of this way, in order. */
  seqs: number[];
  at: number | null;
}

/** Merges several ways into one sequence without duplicates. A row is read only when it is the next in the sequence. */
class Walk {
  readonly #database: Database;
  readonly #order: PageRequest['order'];
  readonly #chunk: number;
  #heads: Head[];

  constructor(database: Database, ways: readonly Way[], page: Pick<PageRequest, 'cursor' | 'order'>) {
    this.#database = database;
    this.#order = page.order;
    this.#chunk = Math.max(CHUNK_OF_WAY, Math.ceil(CHUNK / ways.length));
    this.#heads = ways.map((way) => ({ way, seqs: [], at: page.cursor }));
  }

  next(): CandidateRow | null {
    for (let first = this.#first(); first !== null; first = this.#first()) {
      for (const head of this.#heads) if (head.seqs[0] === first) head.seqs.shift();
      const row = readCandidate(this.#database, first);
      // A row is missing only in a damaged file.
      if (row) return row;
    }
    return null;
  }

  hasMore(): boolean {
    return this.#first() !== null;
  }

  #first(): number | null {
    let first: number | null = null;
    for (const head of this.#heads) {
      if (head.seqs.length === 0) this.#fill(head);
      const seq = head.seqs[0];
      if (seq === undefined) {
        // Drops a finished way. Otherwise a search for a thousand ids would query each of a thousand ways again for
        // every message.
        this.#heads = this.#heads.filter((each) => each !== head);
        continue;
      }
      if (first === null || (this.#order === 'newestFirst' ? seq > first : seq < first)) first = seq;
    }
    return first;
  }

  #fill(head: Head): void {
    const isDown = this.#order === 'newestFirst';
    const at = head.at ?? (isDown ? Number.MAX_SAFE_INTEGER : 0);
    head.seqs = 'seqs' in head.way ? this.#named(head.way.seqs, at, isDown) : this.#behind(head.way, at, isDown);
    head.at = head.seqs.at(-1) ?? (isDown ? 0 : Number.MAX_SAFE_INTEGER);
  }

  #behind({ from, values, seq = 'm.seq' }: Exclude<Way, { seqs: unknown }>, at: number, isDown: boolean): number[] {
    const sql = `SELECT ${seq} AS seq FROM ${from} AND ${seq} ${isDown ? '< ?' : '> ?'}
      ORDER BY ${seq} ${isDown ? 'DESC' : 'ASC'} LIMIT ?`;
    return this.#database.all<{ seq: number }>(sql, ...values, at, this.#chunk).map((row) => row.seq);
  }

  #named(seqs: readonly number[], at: number, isDown: boolean): number[] {
    const rest = isDown ? seqs.filter((seq) => seq < at).reverse() : seqs.filter((seq) => seq > at);
    return rest.slice(0, CHUNK);
  }
}

/** The columns that lists filter by, and the index of each. */
const INDEXES = {
  source_message_id: 'messages_of_source',
  schedule_id: 'messages_of_schedule',
  flow_key: 'messages_of_flow_key',
  debounce_key: 'messages_of_debounce_key',
  queue_name: 'messages_of_queue',
  topic_name: 'messages_of_topic',
  host: 'messages_of_host',
} as const;

/** The condition of an index. That of debounce keys has them as callers gave them: without the URL of an endpoint. */
function isOfColumn(by: keyof typeof INDEXES): string {
  if (by !== 'debounce_key') return `m.${by} = ?`;
  return `m.debounce_key IS NOT NULL AND substr(m.debounce_key, 1, instr(m.debounce_key || char(10), char(10)) - 1) = ?`;
}

/** The sources of candidates in the index that was chosen for the filter. */
function waysTo(database: Database, accountId: string, chosen: ListIndex): Way[] {
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
        from: 'message_labels l WHERE l.account_id = ? AND l.label = ?',
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
      return waysTo(database, accountId, listIndexByHosts(hostsWithPorts(database, accountId, chosen.values)));
    default: {
      const from = `messages m INDEXED BY ${INDEXES[chosen.by]} WHERE m.account_id = ? AND ${isOfColumn(chosen.by)}`;
      return chosen.values.map((value) => by(from, value));
    }
  }
}

/** Adds to each host without a port the same host with every port that exists. Stops beyond HOSTS_MAX hosts. */
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
