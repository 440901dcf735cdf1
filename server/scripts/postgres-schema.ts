// Prints the schema of a PostgreSQL database as statements that create the same one, from its catalogues: in a fixed
// order, and with the same text for every server version.

import type pg from 'pg';

interface TableRow {
  readonly oid: number;
  readonly name: string;
  readonly options: string[] | null;
}

interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly collation: string | null;
  readonly default: string | null;
  readonly isRequired: boolean;
  readonly storage: string | null;
}

const TABLES = `SELECT c.oid, c.relname::text AS name, c.reloptions AS options FROM pg_class c
  WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname COLLATE "C"`;

const SEQUENCES = `SELECT c.relname::text AS name, format_type(s.seqtypid, NULL) AS type, s.seqstart AS start,
    s.seqincrement AS increment, s.seqcache AS cache, s.seqcycle AS "isCycle"
  FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
  WHERE c.relnamespace = current_schema()::regnamespace ORDER BY c.relname COLLATE "C"`;

/** The storage is shown only if it differs from the type's default. */
const COLUMNS = `SELECT a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS type,
    CASE WHEN a.attcollation <> t.typcollation THEN quote_ident(co.collname) END AS collation,
    pg_get_expr(d.adbin, d.adrelid) AS default, a.attnotnull AS "isRequired",
    CASE WHEN a.attstorage <> t.typstorage THEN
      CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'x' THEN 'EXTENDED' ELSE 'MAIN' END END AS storage
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_collation co ON co.oid = a.attcollation
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;

/**
 * Primary key, unique and foreign keys, checks. From PostgreSQL 18 on NOT NULL is among them; here the columns show it.
 */
const CONSTRAINTS = `SELECT conname::text AS name, pg_get_constraintdef(oid) AS text FROM pg_constraint
  WHERE conrelid = $1 AND contype IN ('p', 'u', 'f', 'c')
  ORDER BY array_position('{p,u,f,c}'::"char"[], contype), conname COLLATE "C"`;

const INDEXES = `SELECT pg_get_indexdef(i.indexrelid) AS text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE i.indrelid = $1 AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u'))
  ORDER BY c.relname COLLATE "C"`;

/** Anything that these statements do not cover must be detected. */
const OTHERS = `SELECT c.relname::text AS name FROM pg_class c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind NOT IN ('r', 'i', 'S')
  UNION ALL SELECT p.proname::text FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace
  UNION ALL SELECT t.tgname::text FROM pg_trigger t WHERE NOT t.tgisinternal
  UNION ALL SELECT y.typname::text FROM pg_type y
    WHERE y.typnamespace = current_schema()::regnamespace AND y.typtype IN ('e', 'd', 'r')`;

export async function renderPostgresSchema(client: pg.ClientBase): Promise<string> {
  const all = async <T>(sql: string, ...values: unknown[]) => (await client.query(sql, values)).rows as T[];
  const others = await all<{ name: string }>(OTHERS);
  if (others.length > 0) {
    throw new Error(`postgres-schema.ts does not know how to tell ${others.map(({ name }) => name).join(', ')}`);
  }
  const parts = [
    '-- The schema that the migrations add up to. Made by server/scripts/generate-schema.ts: add a migration,\n' +
      '-- do not change this file.\n',
  ];
  for (const row of await all<Record<string, string>>(SEQUENCES)) parts.push(sequence(row));
  const tables = await all<TableRow>(TABLES);
  const foreign: string[] = [];
  for (const { oid, name, options } of tables) {
    const columns = await all<ColumnRow>(COLUMNS, oid);
    const constraints = await all<{ name: string; text: string }>(CONSTRAINTS, oid);
    const isForeign = ({ text }: { text: string }) => text.startsWith('FOREIGN KEY');
    const lines = [
      ...columnLines(columns),
      ...constraints.filter((one) => !isForeign(one)).map((one) => `  CONSTRAINT ${one.name} ${unqualified(one.text)}`),
    ];
    foreign.push(
      ...constraints
        .filter(isForeign)
        .map((one) => `ALTER TABLE ${name} ADD CONSTRAINT ${one.name} ${unqualified(one.text)};\n`),
    );
    const end = options === null ? ')' : `) WITH (${options.map((option) => option.replace('=', ' = ')).join(', ')})`;
    const stored = columns
      .filter(({ storage }) => storage !== null)
      .map((column) => `ALTER TABLE ${name} ALTER COLUMN ${column.name} SET STORAGE ${column.storage};\n`);
    const indexes = (await all<{ text: string }>(INDEXES, oid)).map(({ text }) => `${unqualified(text)};\n`);
    parts.push(`CREATE TABLE ${name} (\n${lines.join(',\n')}\n${end};\n${stored.join('')}${indexes.join('')}`);
  }
  if (foreign.length > 0) parts.push(foreign.join(''));
  const [row] = await all<{ version: number; reader_min: number }>('SELECT version, reader_min FROM schema_version');
  parts.push(`INSERT INTO schema_version (version, reader_min) VALUES (${row!.version}, ${row!.reader_min});\n`);
  return parts.join('\n');
}

function sequence({ name, type, start, increment, cache, isCycle }: Record<string, string>): string {
  return `CREATE SEQUENCE ${name} AS ${type} START ${start} INCREMENT ${increment} CACHE ${cache}${isCycle ? ' CYCLE' : ''};\n`;
}

function columnLines(columns: readonly ColumnRow[]): string[] {
  const width = Math.max(...columns.map(({ name }) => name.length));
  return columns.map((column) => {
    const collation = column.collation === null ? '' : ` COLLATE ${column.collation}`;
    const required = column.isRequired ? ' NOT NULL' : '';
    const byDefault = column.default === null ? '' : ` DEFAULT ${unqualified(column.default)}`;
    return `  ${column.name.padEnd(width)} ${column.type}${collation}${required}${byDefault}`;
  });
}

/** Older versions print the schema name where newer ones leave it out, or the other way round. */
function unqualified(text: string): string {
  return text.replaceAll(/\bpublic\./g, '');
}
