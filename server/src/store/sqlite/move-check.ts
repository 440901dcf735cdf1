// Reads a data directory a second time, to compare it with the target of a move. It reads whole tables with other
// queries than the copy, so that an error in the queries of the copy is noticed.

import { hash } from 'node:crypto';
import type { FieldValue, MovedTable, Row } from '../move.ts';
import { POSTGRES_COLUMNS } from '../rows/message-fields.ts';
import type { Database } from './thread/database.ts';

/** Queries that add the columns which only the target has, with the values that the copy must have given them. */
const DERIVED: Readonly<Partial<Record<MovedTable, string>>> = {
  usage: 'SELECT *, 0 AS shard FROM usage',
  stored: 'SELECT *, 0 AS shard FROM stored',
  activity_minutes: 'SELECT *, 0 AS shard FROM activity_minutes',
  queues: `WITH line AS
      (SELECT account_id, queue_name, max(first_due_at) AS line_at FROM messages
         WHERE queue_name IS NOT NULL AND state NOT IN ('delivered', 'failed', 'cancelled') AND first_due_at <= :startedAt
         GROUP BY account_id, queue_name)
    SELECT q.*, ifnull(line.line_at, 0) AS line_at FROM queues q
      LEFT JOIN line ON line.account_id = q.account_id AND line.queue_name = q.name`,
  // This includes attempts whose message is missing. The copy leaves them out, so the comparison finds the difference.
  attempts: `SELECT a.*, (SELECT account_id FROM messages WHERE seq = a.message_seq) AS account_id FROM attempts a
    UNION ALL
    SELECT seq, 1, first_started_at, ended_at, 'answered', last_status, NULL, NULL, coalesce(first_response_headers, '[]'), 0,
      coalesce(first_response_body, x''), account_id FROM messages WHERE first_started_at IS NOT NULL`,
  messages: `SELECT ${POSTGRES_COLUMNS} FROM messages`,
};

export function* rowsToCompare(database: Database, table: MovedTable, startedAt: number): Iterable<Row> {
  const sql = DERIVED[table] ?? `SELECT * FROM ${table}`;
  for (const row of database.each<Record<string, FieldValue>>(sql, sql.includes(':startedAt') ? { startedAt } : {})) {
    for (const [column, value] of Object.entries(row)) {
      if (value instanceof Uint8Array) row[column] = hash('sha256', value, 'hex');
    }
    yield row;
  }
}
