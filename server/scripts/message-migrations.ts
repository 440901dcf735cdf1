// Compares the table of message fields with the schema of each store, and writes the migration that adds the missing
// columns. Only for nullable columns; any other change is written by hand.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { columnType as postgresType } from '../src/store/postgres/deliveries/insert.ts';
import { type Column, type Kind, MESSAGE_COLUMNS } from '../src/store/rows/message-fields.ts';

function sqliteType(kind: Kind): string {
  if (kind === 'integer' || kind === 'bigint' || kind === 'flag') return 'INTEGER';
  return kind === 'bytes' ? 'BLOB' : 'TEXT';
}

const STORES = {
  sqlite: (kind: Column['kind']) => sqliteType(kind),
  // Like all text columns: compared by bytes.
  postgres: (kind: Column['kind']) => (postgresType(kind) === 'text' ? 'text COLLATE "C"' : postgresType(kind)),
};
export type StoreName = keyof typeof STORES;
export const STORE_NAMES = Object.keys(STORES) as StoreName[];

const folderOf = (store: StoreName) => join(import.meta.dirname, '..', 'src', 'store', store);

/** Each column in schema.sql: its name, its type, and whether it may be null. */
export function columnsInSchema(store: StoreName): string[] {
  const schema = readFileSync(join(folderOf(store), 'schema.sql'), 'utf8');
  const table = /CREATE TABLE messages \((.*?)\n\)/s.exec(schema)![1]!.replaceAll(/ *--.*/g, '');
  // Columns that were added later follow each other in one line.
  const parts = table.split(/,\s+(?=[a-z_]+ +[A-Za-z]+|CHECK|CONSTRAINT)/).map((part) => part.trim());
  return parts
    .filter((part) => !/^(?:CHECK|CONSTRAINT)\b/.test(part))
    .map((part) => {
      const [, name, type] = /^(\w+) +(\w+(?: COLLATE "C")?)/.exec(part)!;
      return `${name} ${type}${/NOT NULL|PRIMARY KEY/.test(part) ? '' : ' or null'}`;
    });
}

function columnsIn(store: StoreName): readonly Column[] {
  return MESSAGE_COLUMNS.filter(({ onlyIn }) => onlyIn === null || onlyIn === store);
}

/** The same, as the fields require it. */
export function columnsOfFields(store: StoreName): string[] {
  return columnsIn(store).map(
    ({ name, kind, isNullable }) => `${name} ${STORES[store](kind)}${isNullable ? ' or null' : ''}`,
  );
}

/** Returns the paths of the migrations that it wrote. */
export function writeMissingMigrations(): string[] {
  return STORE_NAMES.flatMap((store) => {
    const there = new Set(columnsInSchema(store).map((column) => column.split(' ')[0]));
    const missing = columnsIn(store).filter(({ name }) => !there.has(name));
    if (missing.length === 0) return [];
    const required = missing.find(({ isNullable }) => !isNullable);
    if (required) throw new Error(`${required.name} may not be null: write its migration by hand, with a default`);
    const folder = join(folderOf(store), 'migrations');
    const version = String(readdirSync(folder).length + 1).padStart(4, '0');
    const path = join(folder, `${version}-message-${missing[0]!.name.replaceAll('_', '-')}.sql`);
    const lines = missing.map(({ name, kind }) => `ALTER TABLE messages ADD COLUMN ${name} ${STORES[store](kind)};\n`);
    const names = missing.map(({ name }) => name).join(', ');
    writeFileSync(
      path,
      `-- New in a message: ${names}; server/src/store/rows/message-fields.ts says what it holds.\n${lines.join('')}`,
    );
    return [path];
  });
}
