// How much waits in the whole service. A backlog of millions is counted in pieces, and mostly indexes are read: each key
// below is the whole key of an index, or sorts what has one key of an index.

import { type Outage, parks } from '../../rules/hosts/parking.ts';
import { earlier } from '../../rules/time/instant.ts';
import type { BacklogKind, BacklogPiece, BacklogPosition, ReadyPiece, ReadyPosition } from '../ports/backlog.ts';
import { BACKLOG, RANK } from '../rows/message-columns.ts';
import { NODE_AWAITING } from '../rows/rows.ts';
import { all, get, type Steps } from './steps.ts';

/** A position before all messages. */
const START: Readonly<Record<BacklogKind, BacklogPosition>> = {
  open: ['', 0],
  claimed: ['', ''],
  acks: ['', 0, 0],
  deadLetters: ['', 0],
  queues: ['', '', 0, 0],
  flowKeys: ['', '', 0, 0],
};

interface Counted {
  readonly table?: 'acks';
  readonly where: string;
  readonly key: readonly string[];
  /** The column that has the name of a line. Without it, all messages are one group. */
  readonly name?: string;
}

const COUNTED: Readonly<Record<BacklogKind, Counted>> = {
  open: { where: 'ended_at IS NULL', key: ['account_id', 'seq'] },
  claimed: { where: `state = 'claimed' AND node > '${NODE_AWAITING}'`, key: ['node', 'lease'] },
  acks: { table: 'acks', where: 'is_awaiting = 1', key: ['account_id', 'deadline_at', 'message_seq'] },
  deadLetters: { where: "state = 'failed' AND retried_at IS NULL", key: ['account_id', 'seq'] },
  queues: {
    where: 'ended_at IS NULL AND queue_name IS NOT NULL',
    key: ['account_id', 'queue_name', 'first_due_at', 'seq'],
    name: 'queue_name',
  },
  flowKeys: {
    where: "state = 'queued' AND flow_key IS NOT NULL",
    key: ['account_id', 'flow_key', 'due_at', 'seq'],
    name: 'flow_key',
  },
};

interface GroupRow {
  readonly account_id: string;
  readonly name: string;
  readonly n: number;
}

/** Counts the next `limit` messages after a position. */
export function* countBacklog(kind: BacklogKind, after: BacklogPosition | null, limit: number): Steps<BacklogPiece> {
  const { table = 'messages', where, key, name } = COUNTED[kind];
  const columns = key.join(', ');
  const some = `FROM ${table} WHERE ${where} AND (${columns}) > (${key.map(() => '?').join(', ')}) ORDER BY ${columns}`;
  const from = after ?? START[kind];
  const groups = name ? yield* lines(name, some, [...from, limit]) : yield* together(some, [...from, limit]);
  const isLast = groups.reduce((sum, { count }) => sum + count, 0) < limit;
  if (isLast) return { groups, after: null };
  const last = yield* get<Record<string, string | number>>(`SELECT ${columns} ${some} LIMIT 1 OFFSET ?`, [
    ...from,
    limit - 1,
  ]);
  return { groups, after: last ? key.map((column) => last[column]!) : null };
}

function* lines(name: string, some: string, values: BacklogPosition): Steps<BacklogPiece['groups']> {
  const rows = yield* all<GroupRow>(
    `SELECT account_id, name, count(*) AS n FROM (SELECT account_id, ${name} AS name ${some} LIMIT ?) AS few
       GROUP BY account_id, name ORDER BY account_id, name`,
    values,
  );
  return rows.map(({ account_id: accountId, name: line, n: count }) => ({ accountId, name: line, count }));
}

function* together(some: string, values: BacklogPosition): Steps<BacklogPiece['groups']> {
  const { n: count } = (yield* get<{ n: number }>(
    `SELECT count(*) AS n FROM (SELECT 1 ${some} LIMIT ?) AS few`,
    values,
  ))!;
  return count === 0 ? [] : [{ accountId: '', name: '', count }];
}

/** The backlogs that one piece looks at. */
const BACKLOGS_MAX = 50;

const IN_BACKLOG = `FROM messages WHERE state = 'ready' AND account_id = ? AND ${BACKLOG} = ?`;
const IN_ORDER = `ORDER BY ${RANK}, seq`;

/** Counts the next `limit` ready messages after a position, backlog by backlog. */
export function* countReady(after: ReadyPosition, limit: number): Steps<ReadyPiece> {
  let at: ReadyPosition | null = after;
  let piece: Omit<ReadyPiece, 'after'> = { count: 0, oldestAt: null, oldestParkingAt: null };
  for (let looked = 0; looked < BACKLOGS_MAX && piece.count < limit; looked += 1) {
    if (at.last === null) {
      at = yield* nextBacklog(at);
      if (at === null) return { ...piece, after: null };
      piece = withHead(piece, yield* headOf(at));
    }
    const counted: Counting = yield* countInBacklog(at, limit - piece.count);
    piece = { ...piece, count: piece.count + counted.count };
    at = { ...at, last: counted.last };
  }
  return { ...piece, after: at };
}

function* nextBacklog({ accountId, backlog }: ReadyPosition): Steps<ReadyPosition | null> {
  const own = yield* get<{ key: string }>(
    `SELECT ${BACKLOG} AS key FROM messages WHERE state = 'ready' AND account_id = ? AND ${BACKLOG} > ?
       ORDER BY ${BACKLOG} LIMIT 1`,
    [accountId, backlog],
  );
  if (own) return { accountId, backlog: own.key, last: null };
  const other = yield* nextAccount(accountId);
  return other === null ? null : yield* nextBacklog({ accountId: other, backlog: '', last: null });
}

/** The messages of a suspended account wait for a person. */
function* nextAccount(after: string): Steps<string | null> {
  const next = yield* get<{ key: string; suspended_at: number | null }>(
    `SELECT m.account_id AS key, a.suspended_at FROM messages m LEFT JOIN accounts a ON a.id = m.account_id
       WHERE m.state = 'ready' AND m.account_id > ? ORDER BY m.account_id LIMIT 1`,
    [after],
  );
  if (!next) return null;
  return next.suspended_at === null ? next.key : yield* nextAccount(next.key);
}

interface Head {
  readonly due_at: number;
  readonly ready_at: number | null;
  readonly outage: Outage | null;
}

function* headOf({ accountId, backlog }: ReadyPosition): Steps<Head | undefined> {
  return yield* get<Head>(`SELECT due_at, ready_at, outage ${IN_BACKLOG} ${IN_ORDER} LIMIT 1`, [accountId, backlog]);
}

function withHead<P extends Omit<ReadyPiece, 'after'>>(piece: P, head: Head | undefined): P {
  if (!head) return piece;
  const since = Math.max(head.due_at, head.ready_at ?? head.due_at);
  return parks(head)
    ? { ...piece, oldestParkingAt: earlier(piece.oldestParkingAt, since) }
    : { ...piece, oldestAt: earlier(piece.oldestAt, since) };
}

interface Counting {
  readonly count: number;
  readonly last: ReadyPosition['last'];
}

function* countInBacklog({ accountId, backlog, last }: ReadyPosition, limit: number): Steps<Counting> {
  const behind = last === null ? '' : `AND ${RANK} >= ? AND (${RANK} > ? OR seq > ?)`;
  const from = [accountId, backlog, ...(last === null ? [] : [last.rank, last.rank, last.seq])];
  const end = yield* get<{ rank: number; seq: number }>(
    `SELECT ${RANK} AS rank, seq ${IN_BACKLOG} ${behind} ${IN_ORDER} LIMIT 1 OFFSET ?`,
    [...from, limit - 1],
  );
  if (end) return { count: limit, last: end };
  const rest = yield* get<{ n: number }>(
    `SELECT count(*) AS n FROM (SELECT 1 ${IN_BACKLOG} ${behind} LIMIT ?) AS few`,
    [...from, limit],
  );
  return { count: rest!.n, last: null };
}
