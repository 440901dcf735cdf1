// When the probe of the database means that it takes no writes, and when it means nothing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WriteWatch } from '../../../src/store/postgres/sessions/write-watch.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const COMMIT_MS = 1500;

/** A watch whose probe does what the test says. */
function watchOf(clock: ManualClock) {
  const probes: { begin: () => void; end: PromiseWithResolvers<void> }[] = [];
  const stalls: string[] = [];
  const back = Promise.withResolvers<void>();
  const watch = new WriteWatch({
    timers: clock,
    commitMs: () => COMMIT_MS,
    probe: (begin) => {
      const end = Promise.withResolvers<void>();
      probes.push({ begin, end });
      return end.promise;
    },
    onStall: (why) => stalls.push(why),
    onBack: () => back.resolve(),
  });
  return { watch, probes, stalls, back };
}

test('a probe that waits for its connection does not mean that commits hang: nothing is refused', async () => {
  const clock = new ManualClock(0);
  const { watch, probes, stalls } = watchOf(clock);
  const look = watch.look();
  clock.advance(2 * COMMIT_MS);
  watch.requireWritable();
  probes[0]!.begin();
  clock.advance(COMMIT_MS - 1);
  watch.requireWritable();
  probes[0]!.end.resolve();
  assert.equal(await look, null);
  assert.deepEqual(stalls, []);
});

test('a write that fails because of the database refuses all that follow, until a probe has written; one that fails for another reason does not', async () => {
  const failed = (code: string) => Object.assign(new Error(code), { code, severity: 'ERROR' });
  for (const [code, isAdding, isStalled] of [
    ['25006', false, true],
    ['55P03', true, true],
    // Somebody else may have the lock of a single queue or key.
    ['55P03', false, false],
    ['23505', true, false],
  ] as const) {
    const { watch, probes, stalls, back } = watchOf(new ManualClock(0));
    watch.noteFailed(failed(code), isAdding);
    assert.equal(stalls.length, isStalled ? 1 : 0, code);
    if (!isStalled) {
      watch.requireWritable();
      continue;
    }
    assert.throws(() => watch.requireWritable(), { reason: 'unavailable' });
    probes[0]!.end.resolve();
    await back.promise;
    watch.requireWritable();
  }
});

test('a probe whose commit hangs does, until it returns', async () => {
  const clock = new ManualClock(0);
  const { watch, probes, stalls, back } = watchOf(clock);
  const look = watch.look();
  clock.advance(100);
  probes[0]!.begin();
  clock.advance(COMMIT_MS);
  assert.match((await look)!, /does not confirm commits/);
  assert.equal(stalls.length, 1);
  assert.throws(() => watch.requireWritable(), /does not confirm commits/);
  probes[0]!.end.resolve();
  await back.promise;
  watch.requireWritable();
  assert.equal(probes.length, 1, 'one at a time');
});
