// Every table of both stores is in the list of docs/operations.md that says what limits it and who makes it smaller.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const HEAD = '| Table | Limit | Made smaller by |';

function tablesOf(store: 'sqlite' | 'postgres'): string[] {
  const schema = readFileSync(join(ROOT, 'server', 'src', 'store', store, 'schema.sql'), 'utf8');
  return [...schema.matchAll(/^CREATE TABLE (\w+)/gm)].map((match) => match[1]!);
}

function listed(): Map<string, readonly string[]> {
  const text = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8');
  const rows = text.slice(text.indexOf(HEAD)).split('\n\n')[0]!.split('\n').slice(2);
  return new Map(
    rows.flatMap((row) => {
      const [, names, ...about] = row.split('|').map((cell) => cell.trim());
      return [...names!.matchAll(/`(\w+)`/g)].map((match) => [match[1]!, about] as const);
    }),
  );
}

for (const store of ['sqlite', 'postgres'] as const) {
  test(`every table of ${store} has a limit, and somebody who makes it smaller`, () => {
    const known = listed();
    const tables = tablesOf(store);
    assert.ok(tables.length > 15, `only ${tables.length} tables were found`);
    for (const table of tables) {
      const about = known.get(table);
      assert.ok(about, `${table} is not in the list of docs/operations.md`);
      assert.notEqual(about[0], '', `${table} has no limit`);
      if (about[0] !== 'one row')
        assert.match(about[1]!, /\b(?:retention|DELETE|expiry|revokes|nodes)\b/i, `nobody makes ${table} smaller`);
    }
  });
}

test('the list has no table that is in no store', () => {
  // A node makes the reserve while it runs, so that it is in no schema.
  const tables = new Set([...tablesOf('sqlite'), ...tablesOf('postgres'), 'reserve']);
  assert.deepEqual(
    [...listed().keys()].filter((name) => !tables.has(name)),
    [],
  );
});
