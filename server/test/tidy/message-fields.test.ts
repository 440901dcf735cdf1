// The table of a message's fields against the tables of both stores: it names every column, with its type.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MESSAGE_COLUMNS } from '../../src/store/message-fields.ts';
import { columnType as postgresType } from '../../src/store/postgres/column-type.ts';
import { columnType as sqliteType } from '../../src/store/sqlite/column-type.ts';

const STORES = { sqlite: sqliteType, postgres: postgresType };

/** Name, type and whether it may be null, of each column that schema.sql shows. */
function columnsOf(store: string): string[] {
  const schema = readFileSync(join(import.meta.dirname, `../../src/store/${store}/schema.sql`), 'utf8');
  const table = /CREATE TABLE messages \((.*?)\n\)/s.exec(schema)![1]!.replaceAll(/ *--.*/g, '');
  // Columns that were added later stand behind each other in one line.
  const lines = table.split(/,\s+(?=[a-z_]+ +[A-Za-z]+|CHECK|CONSTRAINT)/).map((line) => line.trim().split(/\s+/));
  return lines
    .filter(([name]) => name !== 'CHECK' && name !== 'CONSTRAINT')
    .map(([name, type, ...rest]) => {
      const isRequired = /NOT NULL|PRIMARY KEY/.test(rest.join(' '));
      return `${name} ${type}${isRequired ? '' : ' or null'}`;
    });
}

for (const [store, columnType] of Object.entries(STORES)) {
  test(`the fields of a message name every column of the table in ${store}, and its type`, () => {
    const expected = MESSAGE_COLUMNS.map(
      ({ name, kind, isNullable }) => `${name} ${columnType(kind)}${isNullable ? ' or null' : ''}`,
    );
    assert.deepEqual(columnsOf(store).sort(), expected.sort());
  });
}
