// Several hundred seeds of the simulation, each twice, and the pinned ones: no promise is broken, the same seed gives
// the same run, and everything that can happen has happened.

import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { PINNED_SEEDS } from './pinned-seeds.ts';
import { runSeeds, type SeedResult } from './run-seeds.ts';

const SEEDS = 300;
const THREADS = Math.min(2, availableParallelism());

const told = ({ seed, violations }: SeedResult) => `npm run sim -- --seed ${seed} --verbose: ${violations.join('; ')}`;

test(`${SEEDS} seeds keep every promise, repeat exactly, and leave nothing out`, async (t) => {
  const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);
  const { results, bad, missing } = await runSeeds(seeds, THREADS);
  assert.deepEqual(bad.map(told), []);
  assert.deepEqual(missing, [], 'the generator is weak: these never happened');
  assert.equal(results.length, SEEDS);
  const messages = results.reduce((sum, result) => sum + result.messages, 0);
  assert.ok(messages > SEEDS, `only ${messages} messages`);
  t.diagnostic(`${messages} messages in ${SEEDS} runs`);
});

for (const [seed, showed] of PINNED_SEEDS) {
  test(`seed ${seed}, which once showed that ${showed}`, async () => {
    const { bad } = await runSeeds([seed], 1);
    assert.deepEqual(bad.map(told), []);
  });
}
