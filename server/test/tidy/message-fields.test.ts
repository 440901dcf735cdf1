// The table of a message's fields against the tables of both stores: it names every column, with its type.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnsInSchema, columnsOfFields, STORE_NAMES } from '../../scripts/message-migrations.ts';

for (const store of STORE_NAMES) {
  test(`the fields of a message name every column of the table in ${store}, and its type`, () => {
    assert.deepEqual(columnsInSchema(store).sort(), columnsOfFields(store).sort());
  });
}
