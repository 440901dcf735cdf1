// Space: what is deleted makes room for what comes, so that a store that is used for years does not grow by itself.

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import { createSqliteStore } from '../../../src/store/sqlite/store.ts';
import { inlineExecutor } from '../../../src/store/sqlite/thread/executor.ts';
import { ACCOUNT, KEYS, limits, messages, NOW, OK, RETENTION, settlementOf } from '../../conformance/given.ts';
import { claimDue } from '../../support/claim-due.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { scratchDirectory } from '../scratch-directory.ts';

const CYCLES = 12;
const PER_CYCLE = 500;
/** Bodies of a cycle, all together. One is over a page, so that it lies on pages of its own, which must be used again too. */
const BYTES = 10_000_000;

for (const [what, sharing] of [
  ['messages with a body each', 1],
  ['messages that share bodies', 20],
] as const) {
  test(`the file does not grow over cycles of accepting, delivering and deleting: ${what}`, (t) => cycle(t, sharing));
}

/** `sharing` is how many messages have a body together. */
async function cycle(t: TestContext, sharing: number): Promise<void> {
  const path = join(scratchDirectory(t), 'postrider.db');
  const store = createSqliteStore({
    executor: inlineExecutor(openDatabase(path)),
    clock: new ManualClock(NOW),
    node: 'nod_a',
    onBroken: (error) => assert.fail(error),
  });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  const sizes: number[] = [];
  for (let round = 0; round < CYCLES; round += 1) {
    const now = NOW + round * RETENTION;
    const bodies = Array.from({ length: PER_CYCLE / sharing }, () => new Uint8Array((BYTES * sharing) / PER_CYCLE));
    await store.accept(
      bodies.flatMap((body) => messages(sharing, { body, dueAt: now })),
      now,
    );
    const { claims } = await claimDue(store, now, limits({ slots: PER_CYCLE }));
    assert.equal(claims.length, PER_CYCLE);
    await store.settle(
      claims.map((claim) => settlementOf(claim, OK, now)),
      now,
    );
    let deleted = 0;
    while ((await store.deleteExpired(now + RETENTION, 100)) > 0) deleted += 1;
    assert.equal(deleted, PER_CYCLE / 100);
    sizes.push(statSync(path).size + statSync(`${path}-wal`).size);
  }
  await store.close();
  // The first cycles bring the file and its log to their size; from then on it must stay.
  const settled = sizes[2]!;
  assert.ok(Math.max(...sizes) <= settled * 1.1, `sizes after each cycle: ${sizes.join(', ')}`);
  assert.ok(statSync(path).size < 2 * BYTES);
}
