// Reads the tables of a finished copy, to compare them with the source: all columns in the catalogue, in any row order.
// Bytes are not transferred; the database computes their SHA-256.

import type { MovedTable, Row } from '../move.ts';
import type { Database } from './sessions/database.ts';

const ROWS_AT_ONCE = 200;

export async function* rowsToCompare(database: Database, table: MovedTable): AsyncIterable<Row> {
  const columns = await database.all<{ column_name: string; data_type: string }>(
    `SELECT column_name::text, data_type::text FROM information_schema.columns
       WHERE table_schema = current_schema() AND table_name = $1`,
    table,
  );
  const read = columns.map(({ column_name: name, data_type: type }) =>
    type === 'bytea' ? `encode(sha256(${name}), 'hex') AS ${name}` : name,
  );
  await database.exec('BEGIN READ ONLY');
  try {
    await database.exec(`DECLARE compared_${table} NO SCROLL CURSOR FOR SELECT ${read.join(', ')} FROM ${table}`);
    for (;;) {
      const rows = await database.all<Row>(`FETCH ${ROWS_AT_ONCE} FROM compared_${table}`);
      if (rows.length === 0) break;
      yield* rows;
    }
  } finally {
    await database.exec('ROLLBACK').catch(() => {});
  }
}
