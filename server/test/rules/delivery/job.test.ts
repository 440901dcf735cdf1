import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJobOver, type Job, jobFilter } from '../../../src/rules/delivery/job.ts';
import { type MessageFilter, OPEN_STATES } from '../../../src/rules/reads/message-filter.ts';

const CREATED_AT = 1000;
const filterOf = (action: Job['action'], filter: MessageFilter = {}) =>
  jobFilter({ action, filter, createdAt: CREATED_AT });

test('a cancel applies to open messages, a retry and a delete to dead letters that were not sent again', () => {
  assert.deepEqual(filterOf('cancel'), { states: OPEN_STATES, toAt: CREATED_AT });
  const dead = { states: ['FAILED'], isRetried: false, toAt: CREATED_AT, endedToAt: CREATED_AT };
  assert.deepEqual(filterOf('retry'), dead);
  assert.deepEqual(filterOf('delete'), dead);
});

test('states that are asked for narrow this, and never widen it', () => {
  assert.deepEqual(filterOf('cancel', { states: ['RETRY', 'FAILED', 'HELD'] }).states, ['RETRY', 'HELD']);
  assert.deepEqual(filterOf('cancel', { states: ['FAILED'] }).states, []);
  assert.deepEqual(filterOf('retry', { states: ['ACTIVE', 'FAILED'] }).states, ['FAILED']);
  assert.deepEqual(filterOf('delete', { states: ['DELIVERED'] }).states, []);
});

test('a dead letter that was sent again is deleted only on request, and never sent a second time', () => {
  assert.deepEqual(filterOf('delete', { isRetried: true }).isRetried, true);
  assert.deepEqual(filterOf('delete', { isRetried: 'any' }).isRetried, 'any');
  assert.deepEqual(filterOf('delete', { isRetried: true }).states, ['FAILED']);
  assert.deepEqual(filterOf('retry', { isRetried: true }).states, []);
  assert.deepEqual(filterOf('retry', { isRetried: true }).isRetried, false);
  assert.deepEqual(filterOf('retry', { isRetried: 'any' }).states, ['FAILED']);
  assert.deepEqual(filterOf('retry', { isRetried: 'any' }).isRetried, false);
  assert.equal(filterOf('cancel', { isRetried: true }).isRetried, true);
  assert.ok(!('isRetried' in filterOf('cancel')));
});

test('only messages that existed when the operation was created are included', () => {
  assert.equal(filterOf('cancel', { toAt: 900 }).toAt, 900);
  assert.equal(filterOf('cancel', { toAt: 1100 }).toAt, CREATED_AT);
  assert.equal(filterOf('cancel', { fromAt: 5, hosts: ['a'] }).fromAt, 5);
  assert.ok(!('endedToAt' in filterOf('cancel')));
});

test('an operation that has ended is listed for a week, one that runs as long as it runs', () => {
  const WEEK_MS = 7 * 86_400_000;
  for (const state of ['done', 'stopped'] as const) {
    assert.equal(isJobOver({ state, updatedAt: 5 }, 5 + WEEK_MS - 1), false);
    assert.equal(isJobOver({ state, updatedAt: 5 }, 5 + WEEK_MS), true);
  }
  assert.equal(isJobOver({ state: 'running', updatedAt: 5 }, 5 + 9 * WEEK_MS), false);
});
