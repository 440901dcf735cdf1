// The service in a simulated world: whatever goes wrong on the way, every promise is kept. Some seeds are the same every
// time, others new every time. To look into a seed: npm run sim -- --seed N --verbose; for many: npm run sim.

import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { before, describe, test } from 'node:test';
import { isShort } from '../support/campaign.ts';
import { PINNED_SEEDS } from './pinned-seeds.ts';
import { runSeed, runSeeds, type SeedResult, type Summary } from './run-seeds.ts';
import { simulate } from './simulate.ts';

/** Always the same: enough to see everything that can happen. */
const SAME_SEEDS = isShort ? 6 : 50;
/** So many of them are run twice, to compare the traces. */
const TWICE = isShort ? 2 : 12;
/** New ones every time, each once, so that many runs of the tests see many seeds. */
const NEW_SEEDS = isShort ? 4 : 20;
const NEW_SEED_MIN = 1_000_000;

function describeBad(bad: readonly SeedResult[]): string {
  return bad
    .slice(0, 5)
    .map(({ seed, violations }) => `seed ${seed}:\n  ${violations.slice(0, 3).join('\n  ')}`)
    .join('\n');
}

const firstNew = NEW_SEED_MIN + (Math.floor(Date.now() / 1000) % 10_000_000) * NEW_SEEDS;
let summary: Summary;

describe(`${SAME_SEEDS} seeds and ${NEW_SEEDS} more from ${firstNew} on`, () => {
  before(async () => {
    const same = Array.from({ length: SAME_SEEDS }, (_, index) => index + 1);
    const others = Array.from({ length: NEW_SEEDS }, (_, index) => firstNew + index);
    summary = await runSeeds(
      [...same, ...others],
      Math.min(2, availableParallelism()),
      () => {},
      (seed) => (seed <= TWICE ? 'twice' : 'once'),
    );
  });

  test('keep every promise, and the same seed gives the same trace', () => {
    assert.equal(summary.results.length, SAME_SEEDS + NEW_SEEDS);
    assert.equal(summary.bad.length, 0, describeBad(summary.bad));
  });

  if (!isShort)
    test('see every kind of fault and every step in the life of a message', () => {
      assert.deepEqual(summary.missing, [], 'the generator is weak');
    });
});

for (const [seed, showed] of isShort ? [] : PINNED_SEEDS) {
  test(`seed ${seed} no longer shows ${showed}`, async () => {
    const result = summary.results.find((each) => each.seed === seed) ?? (await runSeed(seed));
    assert.equal(result.violations.length, 0, describeBad([result]));
  });
}

test('another seed is another run', async () => {
  const [one, other] = [await simulate(1), await simulate(2)];
  assert.notEqual(one.traceHash, other.traceHash);
});
