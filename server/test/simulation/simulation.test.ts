// The service in a simulated world: whatever goes wrong on the way, every promise is kept. Some seeds are the same every
// time, others new every time. To look into a seed: npm run sim -- --seed N --verbose; for many: npm run sim.

import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { before, describe, test } from 'node:test';
import { isShort, lengthOf } from '../support/campaign.ts';
import { PINNED_SEEDS } from './pinned-seeds.ts';
import { runSeed, runSeeds, type SeedResult, type Summary } from './run-seeds.ts';
import { simulate } from './simulate.ts';

/** Always the same. Together they see everything that can happen, and almost all of it more than once. */
const COVERING = [37, 81, 61, 11, 2, 12, 15, 19, 63, 78, 29, 47, 17, 116, 70, 43, 20, 104, 166];
const SAME_SEEDS = lengthOf({
  short: COVERING.slice(0, 3),
  rest: COVERING,
  whole: Array.from({ length: 120 }, (_, index) => index + 1),
});
/** What is rare may happen in none of them after a change of the generator. Then further seeds are run, so many at once. */
const MORE_SEEDS = 25;
const MORE_FROM = 121;
const MORE_UNTIL = 370;
/** These are run twice, to compare the traces. */
const TWICE: ReadonlySet<number> = new Set(SAME_SEEDS.slice(0, isShort ? 1 : 2));
/** New ones every time, each once, so that many runs of the tests see many seeds. */
const NEW_SEEDS = lengthOf({ short: 2, rest: 8, whole: 40 });
const NEW_SEED_MIN = 1_000_000;

function describeBad(bad: readonly SeedResult[]): string {
  return bad
    .slice(0, 5)
    .map(({ seed, violations }) => `seed ${seed}:\n  ${violations.slice(0, 3).join('\n  ')}`)
    .join('\n');
}

const firstNew = NEW_SEED_MIN + (Math.floor(Date.now() / 1000) % 10_000_000) * NEW_SEEDS;
let summary: Summary;
/** What did not happen in any run. */
let missing: Summary['missing'];
const onTwoThreads = (seeds: readonly number[], mode: (seed: number) => 'once' | 'twice') =>
  runSeeds(seeds, Math.min(2, availableParallelism()), () => {}, mode);

describe(`${SAME_SEEDS.length} seeds and ${NEW_SEEDS} more from ${firstNew} on`, () => {
  before(async () => {
    const others = Array.from({ length: NEW_SEEDS }, (_, index) => firstNew + index);
    summary = await onTwoThreads([...SAME_SEEDS, ...others], (seed) => (TWICE.has(seed) ? 'twice' : 'once'));
    missing = summary.missing;
  });

  test('keep every promise, and the same seed gives the same trace', () => {
    assert.equal(summary.results.length, SAME_SEEDS.length + NEW_SEEDS);
    assert.equal(summary.bad.length, 0, describeBad(summary.bad));
  });

  if (!isShort)
    test('see every kind of fault and every step in the life of a message', async (t) => {
      for (let from = MORE_FROM; missing.length > 0 && from < MORE_UNTIL; from += MORE_SEEDS) {
        t.diagnostic(`not before seed ${from}: ${missing.join(', ')}`);
        const more = await onTwoThreads(
          Array.from({ length: MORE_SEEDS }, (_, index) => from + index),
          () => 'once',
        );
        assert.equal(more.bad.length, 0, describeBad(more.bad));
        missing = missing.filter((each) => more.missing.includes(each));
      }
      assert.deepEqual(missing, [], 'the generator is weak');
    });
});

for (const [seed, cast, showed] of isShort ? [] : PINNED_SEEDS) {
  test(`seed ${seed} no longer shows ${showed}`, async () => {
    const result = await runSeed(seed, 'once', cast);
    assert.equal(result.violations.length, 0, describeBad([result]));
  });
}

test('another seed is another run', async () => {
  const [one, other] = [await simulate(1), await simulate(2)];
  assert.notEqual(one.traceHash, other.traceHash);
});
