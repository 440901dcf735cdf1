// How many messages of a queue may start.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeHeads } from '../../src/domain/queue.ts';

test('as many may start as are missing to the parallelism', () => {
  assert.equal(freeHeads({ parallelism: 1, isPaused: false }, 0), 1);
  assert.equal(freeHeads({ parallelism: 3, isPaused: false }, 1), 2);
  assert.equal(freeHeads({ parallelism: 3, isPaused: false }, 3), 0);
});

test('a queue whose parallelism was lowered below what has started lets nothing start', () => {
  assert.equal(freeHeads({ parallelism: 1, isPaused: false }, 5), 0);
});

test('a paused queue lets nothing start', () => {
  assert.equal(freeHeads({ parallelism: 1000, isPaused: true }, 0), 0);
});
