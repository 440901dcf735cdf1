// A data directory as the source of a move: all rows, with PostgreSQL's columns. The database file is not changed.

import { hash } from 'node:crypto';
import { MOVED_TABLES, type MovedTable, type MoveSource, type Position, type Row } from '../move.ts';
import { movedText, readMoved, removeMoved, writeMoved } from './files/moved.ts';
import { openStoppedStore } from './files/open.ts';
import { FIRST_ATTEMPT_COLUMNS } from './messages/messages.ts';
import { rowsToCompare } from './move-check.ts';
import type { Database } from './thread/database.ts';

interface Reading {
  /** SQL for the columns that only PostgreSQL has. It refers to the table as `t`. */
  readonly more?: string;
  /** The columns that identify a row, in the order of an index. */
  readonly key: readonly string[];
}

const READINGS: Readonly<Record<MovedTable, Reading>> = {
  accounts: { key: ['id'] },
  tokens: { key: ['id'] },
  sessions: { key: ['id'] },
  audit: { key: ['id'] },
  usage: { more: '0 AS shard', key: ['account_id', 'day', 'kind'] },
  stored: { more: '0 AS shard', key: ['account_id'] },
  topics: { key: ['id'] },
  queues: {
    // `line_at` is the position of the queue's last message that was due when the move began. PostgreSQL puts later
    // messages behind it.
    more: `coalesce((SELECT max(m.first_due_at) FROM messages m WHERE m.account_id = t.account_id
      AND m.queue_name = t.name AND m.ended_at IS NULL AND m.first_due_at <= :startedAt), 0) AS line_at`,
    key: ['account_id', 'name'],
  },
  flow_keys: { key: ['account_id', 'key'] },
  hosts: { key: ['account_id', 'host'] },
  service_keys: { key: ['name'] },
  schedules: { key: ['account_id', 'id'] },
  alerts: { key: ['account_id', 'id'] },
  deduplication: { key: ['account_id', 'key'] },
  jobs: { key: ['account_id', 'id'] },
  bodies: { key: ['id'] },
  messages: { key: ['seq'] },
  message_labels: { key: ['account_id', 'label', 'message_seq'] },
  // Attempts follow the order of messages, because the row of a message may be the only record of its attempt.
  attempts: { key: ['message_seq', 'number'] },
  acks: { key: ['account_id', 'message_seq'] },
  journal: { key: ['account_id', 'seq'] },
  activity_minutes: { more: '0 AS shard', key: ['account_id', 'at', 'kind'] },
  activity_hours: { key: ['account_id', 'at', 'kind'] },
};

/** Adds up numbers of any size in any number of rows. Their plain sum could overflow. */
const sum = (column: string) => `sum(${column} % 1000003)`;

/**
 * Queries for the fingerprint. Their results change when a service has worked with the file, and none of them reads a
 * body. A change that they miss is found by the comparison at the end of the move.
 */
const SIGNS = [
  "SELECT group_concat(id || ' ' || tier || ' ' || current_key ORDER BY id) FROM accounts",
  `SELECT ${sum('created_at')}, ${sum('revoked_at')}, hex(min(hash)), hex(max(hash)) FROM tokens`,
  `SELECT ${sum('created_at')}, min(id), max(id) FROM sessions`,
  `SELECT max(id), ${sum('count')}, ${sum('last_at')} FROM audit`,
  `SELECT ${sum('count')} FROM usage`,
  `SELECT ${sum('bytes')} FROM stored`,
  `SELECT ${sum('updated_at')}, ${sum('version')} FROM topics`,
  `SELECT ${sum('updated_at')}, sum(is_paused), ${sum('parallelism')}, ${sum('expires_ms')}, ${sum('priority')}, ${sum('next_start_at')} FROM queues`,
  `SELECT ${sum('parallelism')}, ${sum('rate')}, ${sum('period_ms')}, sum(is_paused), sum(is_parallelism_pinned),
     sum(is_rate_pinned), ${sum('window_start_at')}, ${sum('window_count')}, ${sum('next_start_at')} FROM flow_keys`,
  `SELECT count(*), ${sum('last_attempt_at')} FROM hosts`,
  "SELECT group_concat(name || ' ' || value ORDER BY name) FROM service_keys",
  `SELECT count(*), ${sum('deadline_at')} FROM acks`,
  `SELECT ${sum('created_at')}, sum(is_paused), ${sum('next_at')}, ${sum('last_at')}, ${sum('skipped_at')},
     ${sum('version')}, sum(length(headers)) FROM schedules`,
  `SELECT ${sum('updated_at')}, ${sum('version')}, ${sum('next_at')} FROM alerts`,
  `SELECT ${sum('expires_at')} FROM deduplication`,
  `SELECT ${sum('updated_at')}, ${sum('done')}, ${sum('at_seq')}, sum(state = 'running') FROM jobs`,
  'SELECT max(id) FROM bodies',
  'SELECT max(seq) FROM messages',
  `SELECT count(*), ${sum('due_at')} FROM messages WHERE state = 'delayed'`,
  `SELECT count(*), ${sum('due_at')} FROM messages WHERE state = 'ready'`,
  "SELECT group_concat(lease ORDER BY lease) FROM messages WHERE state = 'claimed'",
  `SELECT max(seq), ${sum('message_seq')} FROM journal`,
  `SELECT max(at), ${sum('count')} FROM activity_minutes`,
  `SELECT max(at), ${sum('count')} FROM activity_hours`,
];

/** `to` is the name of the target, as shown to people. */
export function openMoveSource(directory: string, to: string): MoveSource {
  requireSameTarget(directory, to);
  const { database, close } = openStoppedStore(directory);
  try {
    const counts = new Map(MOVED_TABLES.map((table) => [table, countOf(database, table)]));
    return {
      fingerprint: hash('sha256', JSON.stringify([[...counts], SIGNS.map((sql) => database.get(sql))]), 'hex'),
      name: directory,
      count: (table) => counts.get(table)!,
      rows: (table, after, startedAt) => rows(database, table, after, startedAt),
      compared: (table, startedAt) => rowsToCompare(database, table, startedAt),
      highestSeq: () => highestSeq(database),
      isMoveInDoubt: readMoved(directory) !== null,
      setMoved: (at) => writeMoved(directory, { at, to, isConfirmed: false }),
      setNotMoved: () => removeMoved(directory),
      confirmMoved: (at) => writeMoved(directory, { at, to, isConfirmed: true }),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Throws if the store was moved already. If a move was cut off at its end, only the same target may continue it. */
function requireSameTarget(directory: string, to: string): void {
  const moved = readMoved(directory);
  if (moved !== null && (moved.isConfirmed || moved.to !== to)) throw new Error(movedText(directory, moved));
}

function countOf(database: Database, table: MovedTable): number {
  const count = (from: string) => database.get<{ n: number }>(`SELECT count(*) AS n FROM ${from}`)!.n;
  return count(table) + (table === 'attempts' ? count('messages WHERE first_started_at IS NOT NULL') : 0);
}

/** Attempts in the order of messages. A message has rows in `attempts`, or its own row stores its only attempt. */
function* attempts(database: Database, after: Position | null): ReturnType<typeof rows> {
  const [seq = 0, number = 0] = (after ?? []) as number[];
  const read = (sql: string) => database.each<AttemptOfMessage>(`SELECT m.account_id, ${sql}`, { seq });
  const own = read(`a.* FROM attempts a JOIN messages m ON m.seq = a.message_seq WHERE a.message_seq >= :seq
    ORDER BY a.message_seq, a.number`);
  const first = read(`m.seq AS message_seq, ${FIRST_ATTEMPT_COLUMNS} FROM messages m
    WHERE m.first_started_at IS NOT NULL AND m.seq >= :seq ORDER BY m.seq`);
  let [a, b] = [own.next(), first.next()];
  while (!a.done || !b.done) {
    const isOwn = b.done || (!a.done && a.value.message_seq < b.value.message_seq);
    const row: AttemptOfMessage = isOwn ? a.value : b.value;
    if (row.message_seq !== seq || row.number > number) yield { row, at: [row.message_seq, row.number] };
    if (isOwn) a = own.next();
    else b = first.next();
  }
}

type AttemptOfMessage = Row & { readonly message_seq: number; readonly number: number };

function* rows(
  database: Database,
  table: MovedTable,
  after: Position | null,
  startedAt: number,
): Iterable<{ readonly row: Row; readonly at: Position }> {
  if (table === 'attempts') return yield* attempts(database, after);
  const { more, key } = READINGS[table];
  const columns = key.map((column) => `t.${column}`).join(', ');
  const sql = `SELECT t.*${more === undefined ? '' : `, ${more}`} FROM ${table} t
    ${after === null ? '' : `WHERE (${columns}) > (${key.map((_, index) => `:k${index}`).join(', ')})`}
    ORDER BY ${columns}`;
  const values = {
    ...(more?.includes(':startedAt') && { startedAt }),
    ...Object.fromEntries((after ?? []).map((value, index) => [`k${index}`, value])),
  };
  for (const row of database.each<Row>(sql, values)) {
    yield { row, at: key.map((column) => row[column] as string | number) };
  }
}

/**
 * The highest number of a message or a body. Includes numbers that only the journal or a job still has, so that no
 * number is given to a second message. In the target, bodies take their numbers from the same sequence.
 */
function highestSeq(database: Database): number {
  const { seq } = database.get<{ seq: number }>(
    `SELECT max(coalesce((SELECT max(seq) FROM messages), 0), coalesce((SELECT max(message_seq) FROM journal), 0),
       coalesce((SELECT max(at_seq) FROM jobs), 0), coalesce((SELECT max(id) FROM bodies), 0)) AS seq`,
  )!;
  return seq;
}
