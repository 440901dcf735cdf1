// The one rule that decides whether a node accepts anything, and whether it is ready.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type NodeFacts,
  STORE_SILENT,
  whyNothingIsAccepted,
  whyNothingIsChanged,
  whyNothingIsMade,
  whyNotReady,
} from '../../../src/rules/limits/acceptance.ts';

const WELL: NodeFacts = {
  isServing: true,
  role: 'all',
  areFilesGone: false,
  diskMark: 'none',
  wasDiskFull: false,
  isClockOff: false,
};

const REASONS: readonly (readonly [facts: Partial<NodeFacts>, code: string])[] = [
  [{ isServing: false }, 'draining'],
  [{ areFilesGone: true }, 'store_gone'],
  [{ diskMark: 'all' }, 'disk_full'],
];

test('a healthy node accepts and is ready', () => {
  assert.equal(whyNothingIsAccepted(WELL), null);
  assert.equal(whyNothingIsMade(WELL), null);
  assert.equal(whyNotReady(WELL, null), null);
});

test('for every reason to refuse a publish, the node is not ready, with the same code', () => {
  for (const [facts, code] of REASONS) {
    assert.equal(whyNothingIsAccepted({ ...WELL, ...facts })?.code, code);
    assert.equal(whyNotReady({ ...WELL, ...facts }, null)?.code, code);
  }
});

test('a node whose store does not respond, or had no space for the last message, is not ready', () => {
  assert.equal(whyNotReady(WELL, STORE_SILENT)?.code, 'store_unavailable');
  assert.deepEqual(whyNotReady(WELL, { isGone: true, text: 'gone' }), { code: 'store_gone', message: 'gone' });
  const full = { ...WELL, wasDiskFull: true };
  assert.equal(whyNotReady(full, null)?.code, 'disk_full');
  assert.equal(whyNothingIsAccepted(full), null, 'the next one is tried: there may be space by then');
});

test('a node whose time is off is not ready, and accepts what comes all the same', () => {
  const off = { ...WELL, isClockOff: true };
  assert.equal(whyNotReady(off, null)?.code, 'clock_off');
  assert.equal(whyNothingIsAccepted(off), null);
});

test('a node that only delivers accepts nothing, and is ready for what it does', () => {
  const facts: NodeFacts = { ...WELL, role: 'deliver' };
  assert.equal(whyNothingIsAccepted(facts)?.code, 'deliver_only');
  assert.equal(whyNotReady(facts, null), null);
  assert.equal(whyNotReady({ ...facts, isServing: false }, null)?.code, 'draining');
  assert.equal(whyNothingIsMade(facts), null);
  assert.equal(whyNothingIsMade({ ...facts, diskMark: 'all' })?.code, 'disk_full');
});

test('on a full disk what stores nothing more may be changed, in files that are gone nothing may', () => {
  const full = { ...WELL, diskMark: 'all' } as const;
  assert.equal(whyNothingIsChanged(WELL, true), null);
  assert.equal(whyNothingIsChanged({ ...WELL, diskMark: 'largest' }, true), null);
  assert.equal(whyNothingIsChanged(full, true)?.code, 'disk_full');
  assert.equal(whyNothingIsChanged(full, false), null, 'deleting helps');
  for (const storesMore of [true, false]) {
    assert.equal(whyNothingIsChanged({ ...WELL, areFilesGone: true }, storesMore)?.code, 'store_gone');
  }
});
