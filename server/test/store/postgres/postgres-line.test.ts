// The place in a queue on a database that nodes with different clocks share.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOW, OK, queued, settlementOf } from '../../conformance/given.ts';
import { withNodes } from '../../conformance/harness.ts';
import { ownDatabase } from '../../conformance/postgres-harness.ts';

test('a message of a node whose clock is behind goes behind those that were accepted before it', () =>
  withNodes(ownDatabase, async ({ a, b }) => {
    const early = NOW - 5000;
    const line = [queued(), queued(), queued({ createdAt: early, dueAt: early }), queued()];
    await a.store.accept(line.slice(0, 2), NOW);
    await b.store.accept([line[2]!], early);
    await a.store.accept([line[3]!], NOW);
    for (const expected of line) {
      const claim = await a.claimOne(NOW);
      assert.equal(claim.message.id, expected.id);
      await a.store.settle([settlementOf(claim, OK, NOW)], NOW);
    }
  }));
