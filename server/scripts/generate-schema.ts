// Writes store/sqlite/schema.sql: the schema that the migrations add up to, for people to read and for reviews to see
// what a migration changes. `generate-schema.ts` writes it, `generate-schema.ts --check` only says if it is stale.

import { readFileSync, writeFileSync } from 'node:fs';
import { openDatabase } from '../src/store/sqlite/open.ts';

const FILE = new URL('../src/store/sqlite/schema.sql', import.meta.url);

/** What schema.sql must say: every table, index and trigger of a fresh database, in the order they were made. */
export function renderSchema(): string {
  const database = openDatabase(':memory:');
  try {
    const made = database.all<{ sql: string; type: string }>(
      'SELECT type, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid',
    );
    const { user_version: version } = database.get<{ user_version: number }>('PRAGMA user_version')!;
    let text =
      '-- The schema that the migrations add up to. Made by server/scripts/generate-schema.ts: add a migration,\n';
    text += '-- do not change this file.\n';
    let before = '';
    for (const { type, sql } of made) {
      // Tables stand apart, indexes close together under theirs.
      text += `${type === 'index' && before === 'index' ? '' : '\n'}${sql};\n`;
      before = type;
    }
    return `${text}\nPRAGMA user_version = ${version};\n`;
  } finally {
    database.close();
  }
}

if (import.meta.main) {
  const isStale = renderSchema() !== readFileSync(FILE, { encoding: 'utf8', flag: 'a+' });
  if (process.argv.includes('--check')) {
    if (isStale)
      console.error('schema.sql is stale: run "node server/scripts/generate-schema.ts" and commit the result');
    process.exitCode = isStale ? 1 : 0;
  } else if (isStale) {
    writeFileSync(FILE, renderSchema());
    console.log('wrote server/src/store/sqlite/schema.sql');
  }
}
