// The service in a simulated world, over many seeds: whatever goes wrong on the way, every promise is kept. To look
// into a seed: npm run sim -- --seed N --verbose.

import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { before, describe, test } from 'node:test';
import { PINNED_SEEDS } from './pinned-seeds.ts';
import { runSeed, runSeeds, type SeedResult, type Summary } from './run-seeds.ts';
import { simulate } from './simulate.ts';

const SEEDS = 160;

function describeBad(bad: readonly SeedResult[]): string {
  return bad
    .slice(0, 5)
    .map(({ seed, violations }) => `seed ${seed}:\n  ${violations.slice(0, 3).join('\n  ')}`)
    .join('\n');
}

describe(`${SEEDS} simulated runs`, () => {
  let summary: Summary;
  before(async () => {
    const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);
    summary = await runSeeds(seeds, Math.min(2, availableParallelism()));
  });

  test('keep every promise, and each gives the same trace the second time', () => {
    assert.equal(summary.results.length, SEEDS);
    assert.equal(summary.bad.length, 0, describeBad(summary.bad));
  });

  test('see every kind of fault and every step in the life of a message', () => {
    assert.deepEqual(summary.missing, [], 'the generator is weak');
  });
});

for (const [seed, showed] of PINNED_SEEDS) {
  test(`seed ${seed} no longer shows ${showed}`, async () => {
    const result = await runSeed(seed);
    assert.equal(result.violations.length, 0, describeBad([result]));
  });
}

test('another seed is another run', async () => {
  const [one, other] = [await simulate(1), await simulate(2)];
  assert.notEqual(one.traceHash, other.traceHash);
});
