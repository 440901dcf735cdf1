// How fast a node starts again after a crash, and how it makes room for a message that must start alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALONE_MS } from '../../../src/rules/delivery/recovery.ts';
import { RecoveryPace } from '../../../src/rules/delivery/recovery-pace.ts';
import { type ClaimLimits, NO_SLOTS } from '../../../src/rules/delivery/slots.ts';

const CONCURRENCY = 100;

function free(slots: number): ClaimLimits {
  return { ...NO_SLOTS, slots };
}

/** How many may start at this time beside those in flight. */
function slots(pace: RecoveryPace, inFlight: number, nowMs: number): number {
  return pace.limit(free(CONCURRENCY - inFlight), inFlight, nowMs).slots;
}

test('without a crash nothing is held back', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  assert.equal(slots(pace, 0, 0), CONCURRENCY);
  assert.equal(pace.changesInMs(false, 0), Number.POSITIVE_INFINITY);
  pace.noteCrash(0, 0, 0);
  assert.equal(slots(pace, 0, 0), CONCURRENCY);
});

test('after a crash an eighth of what was in flight starts, at least one', () => {
  for (const [orphans, first] of [
    [1, 1],
    [7, 1],
    [16, 2],
    [100, 12],
  ] as const) {
    const pace = new RecoveryPace(CONCURRENCY);
    pace.noteCrash(orphans, 0, 0);
    assert.equal(slots(pace, 0, 0), first);
    assert.equal(slots(pace, first, 0), 0);
  }
});

test('it doubles with as many known results as may be in flight', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  pace.noteCrash(16, 0, 0);
  const steps = [2, 4, 8, 16, 32, 64].map((cap) => {
    assert.equal(slots(pace, 0, 1), cap);
    pace.noteEnds([], cap - 1, 1);
    assert.equal(slots(pace, 0, 1), cap, 'not before');
    pace.noteEnds([], 1, 1);
    return slots(pace, 0, 1);
  });
  assert.deepEqual(steps, [4, 8, 16, 32, 64, CONCURRENCY]);
});

test('where nothing ends, it doubles with the time that the process has lived', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  pace.noteCrash(1, 0, 0);
  assert.equal(pace.changesInMs(false, 0), 2000);
  assert.deepEqual(
    [0, 1999, 2000, 4000, 6000, 8000, 14_000].map((nowMs) => slots(pace, 0, nowMs)),
    [1, 1, 2, 4, 8, 16, CONCURRENCY],
  );
});

test('a node that takes over the work of a dead one keeps what it has and starts a few beside it', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  pace.noteCrash(40, 30, 0);
  assert.equal(slots(pace, 30, 0), 5);
  pace.noteCrash(8, 50, 0);
  assert.equal(slots(pace, 30, 0), 5, 'a second crash makes it no faster');
});

test('before a message that must start alone, nothing starts until the attempts in flight have ended', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  assert.equal(pace.mayStartAlone(true, 3, 0), false);
  assert.equal(slots(pace, 3, 0), 0);
  assert.equal(pace.mayStartAlone(true, 1, 100), false);
  assert.equal(pace.mayStartAlone(true, 0, 200), true);
  pace.startedAlone('lse', 200);
  assert.equal(pace.mayStartAlone(true, 1, 300), false, 'one at a time');
  assert.equal(slots(pace, 1, 300), 0);
  pace.noteEnds(['other'], 1, 350);
  assert.ok(pace.isClosed);
  pace.noteEnds(['lse'], 1, 400);
  assert.equal(pace.mayStartAlone(false, 0, 400), false);
  assert.equal(slots(pace, 0, 400), CONCURRENCY);
});

test('a slow attempt is not waited for: neither one in flight, nor the message that starts alone', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  assert.equal(pace.mayStartAlone(true, 3, 0), false);
  assert.equal(pace.changesInMs(true, 500), ALONE_MS - 500);
  assert.equal(pace.mayStartAlone(true, 3, ALONE_MS), true);
  pace.startedAlone('lse', ALONE_MS);
  assert.equal(pace.changesInMs(true, ALONE_MS), ALONE_MS);
  assert.equal(pace.mayStartAlone(true, 4, 2 * ALONE_MS), false);
  assert.equal(slots(pace, 4, 2 * ALONE_MS), CONCURRENCY - 4);
});

test('the others then have as much time as was kept free', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  pace.mayStartAlone(true, 3, 0);
  pace.mayStartAlone(true, 3, ALONE_MS);
  pace.startedAlone('lse', ALONE_MS);
  pace.mayStartAlone(true, 4, 2 * ALONE_MS);
  assert.equal(pace.changesInMs(true, 2 * ALONE_MS), 2 * ALONE_MS);
  assert.equal(pace.mayStartAlone(true, 0, 4 * ALONE_MS - 1), false);
  assert.ok(!pace.isClosed);
  assert.equal(pace.mayStartAlone(true, 0, 4 * ALONE_MS), true);
});

test('several that end quickly share one pause, but no longer than others may be kept waiting', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  let started = 0;
  let nowMs = 0;
  while (pace.mayStartAlone(true, 0, nowMs)) {
    started += 1;
    pace.startedAlone(`lse_${started}`, nowMs);
    nowMs += 100;
    pace.noteEnds([`lse_${started}`], 1, nowMs);
  }
  assert.equal(started, (2 * ALONE_MS) / 100);
  assert.ok(!pace.isClosed);
});

test('without room for one more, it opens again and comes back later', () => {
  const pace = new RecoveryPace(2);
  assert.equal(pace.mayStartAlone(true, 2, 0), false);
  assert.equal(pace.mayStartAlone(true, 2, ALONE_MS), false);
  assert.ok(!pace.isClosed);
  const none = new RecoveryPace(0);
  assert.equal(none.mayStartAlone(true, 0, 0), false);
  assert.ok(!none.isClosed, 'a node that delivers nothing starts nothing alone');
});

test('one that cannot start for a reason of its own is not asked for without end', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  assert.equal(pace.mayStartAlone(true, 0, 0), true);
  pace.noneAlone(0);
  assert.ok(!pace.isClosed);
  assert.equal(pace.mayStartAlone(true, 0, ALONE_MS - 1), false);
  assert.equal(pace.mayStartAlone(true, 0, ALONE_MS), true);
});

test('it is over when nothing is held back any more', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  assert.ok(pace.isOver);
  pace.noteCrash(16, 0, 0);
  assert.ok(!pace.isOver);
  slots(pace, 0, 60_000);
  assert.ok(pace.isOver, 'it has lived long enough');
  assert.ok(!pace.mayStartAlone(true, 1, 60_000));
  assert.ok(!pace.isOver, 'a message waits to start alone');
});

test('a second crash with as much in flight does not begin the waiting anew', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  pace.noteCrash(16, 0, 0);
  pace.noteCrash(16, 0, 1500);
  assert.equal(slots(pace, 0, 2000), 4);
});

test('as many as may be in flight anyway are no limit', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  pace.noteCrash(8, CONCURRENCY - 1, 0);
  assert.equal(pace.isOver, true);
});

test('a node that may start nothing waits for no turn of a message alone', () => {
  assert.equal(new RecoveryPace(0).changesInMs(true, 0), Number.POSITIVE_INFINITY);
});

test('the end of another attempt does not end the time of the one that started alone', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  assert.equal(pace.mayStartAlone(true, 0, 0), true);
  pace.startedAlone('one', 0);
  pace.noteEnds(['other'], 1, 5);
  assert.equal(pace.mayStartAlone(true, 0, 10), false);
  pace.noteEnds(['one'], 1, 20);
  assert.equal(pace.mayStartAlone(true, 0, 30), true);
});

test('one that could not start while others were in flight starts however late it is asked for', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  assert.equal(pace.mayStartAlone(true, 5, 0), false);
  assert.equal(pace.mayStartAlone(true, 5, 3 * ALONE_MS), true);
});

test('the others get as much time as was kept free before', () => {
  const pace = new RecoveryPace(CONCURRENCY);
  assert.equal(pace.mayStartAlone(true, 5, 1000), false);
  assert.equal(pace.mayStartAlone(false, 5, 2500), false);
  assert.equal(pace.isClosed, false);
  assert.equal(pace.changesInMs(true, 2500), 1500);
});
