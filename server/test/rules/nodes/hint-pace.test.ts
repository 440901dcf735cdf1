// The pace of hints: what all nodes say together is bounded, few nodes are told at once, and nobody is told too late.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hintEveryMs, newsEveryMs, nodesToNotify } from '../../../src/rules/nodes/hint-pace.ts';

test('up to two nodes tell as soon as one does', () => {
  for (const nodes of [0, 1, 2]) assert.equal(hintEveryMs(nodes), 20);
});

test('all nodes together say at most 100 hints a second, up to the number at which each says one', () => {
  for (let nodes = 2; nodes <= 100; nodes += 1) {
    const together = (nodes * 1000) / hintEveryMs(nodes);
    assert.ok(together <= 100.01, `${nodes} nodes say ${together} a second`);
  }
});

test('more nodes never tell more often, and none waits for longer than a second', () => {
  for (let nodes = 1; nodes < 2000; nodes += 1) {
    assert.ok(hintEveryMs(nodes + 1) >= hintEveryMs(nodes));
    assert.ok(hintEveryMs(nodes) <= 1000);
  }
});

test('news alone are told less often than work, and as late as work at most when there are many nodes', () => {
  for (const nodes of [1, 3, 10]) assert.equal(newsEveryMs(nodes), 100);
  for (const nodes of [11, 50, 2000]) assert.equal(newsEveryMs(nodes), hintEveryMs(nodes));
});

test('two nodes at a time are asked to look for work, each in its turn, and all if there are no more than two', () => {
  assert.equal(nodesToNotify([], 0), null);
  assert.equal(nodesToNotify(['b', 'c'], 5), null);
  const deliverers = ['b', 'c', 'd', 'e', 'f'];
  assert.deepEqual(
    [0, 2, 4, 6].map((turn) => nodesToNotify(deliverers, turn)!.join('')),
    ['bc', 'de', 'fb', 'cd'],
  );
});
