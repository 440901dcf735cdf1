// The names of all settings.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALLBACK_NAMES, SETTING_NAMES, SETTING_TABLE } from '../../../src/rules/publish/setting-table.ts';

test('a callback has the settings of a delivery, and no others', () => {
  for (const callback of CALLBACK_NAMES) {
    for (const { name, of } of SETTING_TABLE) {
      assert.equal(SETTING_NAMES.includes(`${callback}-${name}`), of === 'delivery', `${callback}-${name}`);
    }
  }
  assert.equal(new Set(SETTING_NAMES).size, SETTING_NAMES.length);
});
