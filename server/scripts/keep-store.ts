// Keeps a store of this version for the tests of later ones: `npm run keep-store -- NAME`, once for each release.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startTestServer } from '../test/postgres/server.ts';
import { fill, KEPT, KEPT_AT, keepFiles, keepRows, show } from '../test/store/kept-store.ts';
import { startRider, temporaryFolder } from '../test/support/harness.ts';

const SCHEMA = new URL('../src/store/postgres/schema.sql', import.meta.url);

async function filled(data: string, flags: readonly string[], factsFile: string): Promise<void> {
  const ends: (() => void | Promise<void>)[] = [];
  const rider = await startRider({ after: (end) => ends.unshift(end) }, { data, now: KEPT_AT, flags });
  const token = await fill(rider);
  writeFileSync(factsFile, gzipSync(JSON.stringify({ token, shown: await show(rider, token) }), { level: 9 }));
  for (const end of ends) await end();
}

const [name] = process.argv.slice(2);
if (name === undefined || !/^[\w.-]+$/.test(name))
  throw new Error('give the name of the version: npm run keep-store -- 0.1.0');
const folder = join(KEPT, name);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const ends: (() => void)[] = [];
const data = temporaryFolder({ after: (end) => ends.push(end as () => void) });
await filled(data, [], join(folder, 'sqlite-shown.json.gz'));
keepFiles(data, join(folder, 'sqlite'));

const server = await startTestServer();
try {
  const database = await server.createDatabase();
  const spare = temporaryFolder({ after: (end) => ends.push(end as () => void) });
  await filled(spare, ['--store', server.url(database)], join(folder, 'postgres-shown.json.gz'));
  await keepRows(server.url(database), readFileSync(SCHEMA, 'utf8'), join(folder, 'postgres-rows.json.gz'));
} finally {
  await server.stop();
}
for (const end of ends) end();
console.log(`kept ${folder}`);
