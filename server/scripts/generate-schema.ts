// Writes store/<adapter>/schema.sql, the schema that results from all migrations: for reading, and to show in a review
// what a migration changes. Before that it writes the migrations of new message fields. `--check` only lists what is
// stale.

import { readFileSync, writeFileSync } from 'node:fs';
import { openDatabase } from '../src/store/sqlite/files/open.ts';
import { withClient } from '../test/postgres/databases.ts';
import { sharedServer, startTestServer } from '../test/postgres/server.ts';
import { writeMissingMigrations } from './message-migrations.ts';
import { renderPostgresSchema } from './postgres-schema.ts';

/** The expected schema.sql: every table, index and trigger of a fresh database, in the order they were made. */
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
      // A blank line between tables, none between the indexes of a table.
      text += `${type === 'index' && before === 'index' ? '' : '\n'}${sql};\n`;
      before = type;
    }
    return `${text}\nPRAGMA user_version = ${version};\n`;
  } finally {
    database.close();
  }
}

/** The same for a fresh PostgreSQL database. */
export async function renderMigratedPostgres(server = sharedServer()): Promise<string> {
  const databases = await server;
  const name = await databases.createDatabase();
  try {
    return await withClient(databases.url(name), renderPostgresSchema);
  } finally {
    await databases.dropDatabase(name);
  }
}

async function main(isCheck: boolean): Promise<number> {
  if (!isCheck) for (const path of writeMissingMigrations()) console.log(`wrote ${path}`);
  const server = await startTestServer();
  const files = [
    { path: 'server/src/store/sqlite/schema.sql', text: renderSchema() },
    {
      path: 'server/src/store/postgres/schema.sql',
      text: await renderMigratedPostgres(Promise.resolve(server)).finally(() => server.stop()),
    },
  ];
  const root = new URL('../../', import.meta.url);
  const stale = files.filter(
    ({ path, text }) => text !== readFileSync(new URL(path, root), { encoding: 'utf8', flag: 'a+' }),
  );
  for (const { path, text } of stale) {
    if (isCheck) console.error(`${path} is stale: run "node server/scripts/generate-schema.ts" and commit the result`);
    else {
      writeFileSync(new URL(path, root), text);
      console.log(`wrote ${path}`);
    }
  }
  return isCheck && stale.length > 0 ? 1 : 0;
}

if (import.meta.main) process.exitCode = await main(process.argv.includes('--check'));
