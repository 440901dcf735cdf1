// Bodies that several messages share: stored once, read once, and deleted with the last message that has them.

import type { MessageRow } from '../../rows/message-row.ts';
import { storedBytesSql } from '../messages/stored.ts';
import type { Database } from '../sessions/database.ts';

/** SQL for the length of the body of a row of `messages`, shared or not, without reading the body. */
export function bodyBytesSql(table: string): string {
  return `CASE WHEN ${table}.body_id IS NULL THEN octet_length(${table}.body) ELSE
    (SELECT octet_length(b.bytes) FROM bodies b WHERE b.account_id = ${table}.account_id AND b.id = ${table}.body_id) END`;
}

/** SQL for the body of a row of `messages m`, shared or not. The query must contain JOIN_BODY. */
export const JOINED_BODY = 'coalesce(b.bytes, m.body) AS body';
export const JOIN_BODY = 'LEFT JOIN bodies b ON b.account_id = m.account_id AND b.id = m.body_id';

/** A row that was read without its body. */
export type BodilessRow = Pick<MessageRow, 'account_id' | 'seq' | 'body_id'>;

/** The limit in bytes that lets every body be read whole. */
const ALL_BYTES = 2 ** 31 - 1;

/**
 * The bodies of these rows by `seq`, up to `bytesMax` of each; null reads the whole body. Messages that share a body
 * get the same bytes. A message deleted meanwhile has no body.
 */
export async function readBodies(
  database: Database,
  rows: readonly BodilessRow[],
  bytesMax: (row: BodilessRow) => number | null = () => null,
): Promise<Map<number, Uint8Array>> {
  const own = rows.filter(({ body_id }) => body_id === null);
  const bodies = new Map<number, Uint8Array>();
  if (own.length > 0) {
    const found = await database.all<{ seq: number; body: Uint8Array }>(
      `SELECT m.seq, substring(m.body FROM 1 FOR g.max) AS body
         FROM messages m JOIN unnest($1::text[], $2::bigint[], $3::int[]) AS g (account_id, seq, max)
         USING (account_id, seq)`,
      own.map(({ account_id }) => account_id),
      own.map(({ seq }) => seq),
      own.map((row) => bytesMax(row) ?? ALL_BYTES),
    );
    for (const { seq, body } of found) bodies.set(seq, body);
  }
  if (own.length < rows.length) {
    const shared = Map.groupBy(
      rows.filter(({ body_id }) => body_id !== null),
      ({ body_id }) => body_id,
    );
    const found = await database.all<{ id: number; bytes: Uint8Array }>(
      `SELECT b.id, substring(b.bytes FROM 1 FOR g.max) AS bytes
         FROM bodies b JOIN unnest($1::text[], $2::bigint[], $3::int[]) AS g (account_id, id, max)
         USING (account_id, id)`,
      [...shared.values()].map(([row]) => row!.account_id),
      [...shared.keys()],
      [...shared.values()].map((same) => largest(same.map(bytesMax))),
    );
    for (const { id, bytes } of found) for (const { seq } of shared.get(id)!) bodies.set(seq, bytes);
  }
  return bodies;
}

function largest(limits: readonly (number | null)[]): number {
  return limits.reduce<number>((most, limit) => Math.max(most, limit ?? ALL_BYTES), 0);
}

/**
 * Call it before deleting messages, with the same rows as `deleteUnusedBodies` afterwards. A transaction that deletes
 * other messages with the same bodies waits here; otherwise each of the two would find the body still in use, and
 * neither would delete it. All lock the rows in one order, so that no deadlock can occur.
 */
export async function lockBodies(database: Database, rows: readonly BodilessRow[]): Promise<void> {
  const shared = rows.filter(({ body_id }) => body_id !== null);
  if (shared.length === 0) return;
  await database.run(
    `SELECT b.id FROM bodies b WHERE (b.account_id, b.id) IN
       (SELECT g.account_id, g.id FROM unnest($1::text[], $2::bigint[]) AS g (account_id, id))
       ORDER BY b.account_id, b.id FOR UPDATE OF b`,
    shared.map(({ account_id }) => account_id),
    shared.map(({ body_id }) => body_id),
  );
}

/** Deletes those shared bodies of the rows that no message has any more. */
export async function deleteUnusedBodies(database: Database, rows: readonly BodilessRow[]): Promise<void> {
  const shared = rows.filter(({ body_id }) => body_id !== null);
  if (shared.length === 0) return;
  await database.run(
    `WITH gone AS
       (DELETE FROM bodies b USING
          (SELECT DISTINCT g.account_id, g.id FROM unnest($1::text[], $2::bigint[]) AS g (account_id, id)) AS k
          WHERE b.account_id = k.account_id AND b.id = k.id AND NOT EXISTS
            (SELECT 1 FROM messages m
               WHERE m.account_id = b.account_id AND m.body_id = b.id AND m.body_id IS NOT NULL)
          RETURNING b.account_id, octet_length(b.bytes) AS bytes)
     ${storedBytesSql('SELECT account_id, -bytes AS bytes FROM gone')}`,
    shared.map(({ account_id }) => account_id),
    shared.map(({ body_id }) => body_id),
  );
}
