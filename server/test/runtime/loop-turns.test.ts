// Turns in a busy event loop: whoever has used most waits, and goes on a few milliseconds at a time. The time is the
// test's own, and so is the work.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopTurns } from '../../src/runtime/loop-turns.ts';

const GREEDY = { key: 'acc_greedy', isKnown: true };
const MODEST = { key: 'acc_modest', isKnown: true };

/** `turn` is one turn of the loop: everything that was asked for before it. */
function startLoop({ isBusy = true } = {}) {
  let nowMs = 0;
  let soon: (() => void)[] = [];
  const timers = new Set<{ readonly atMs: number; readonly fire: () => void }>();
  const clock = {
    monotonicMs: () => nowMs,
    soon: (fire: () => void) => void soon.push(fire),
    after: (ms: number, fire: () => void) => {
      const timer = { atMs: nowMs + ms, fire };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  };
  const turns = new LoopTurns(clock, () => (isBusy ? nowMs : 0));
  const done: string[] = [];
  const work = (user: typeof GREEDY, ms: number, isLongBody = false) => {
    const sinceMs = turns.nowMs();
    nowMs += ms;
    done.push(user.key);
    turns.charge(user, sinceMs);
    if (isLongBody) turns.restAfter(user, sinceMs);
  };
  return {
    turns,
    done,
    work,
    /** As a connection does when something has come. */
    come(user: typeof GREEDY, ms: number, isLongBody = false) {
      if (turns.mustWait(user)) turns.wait(user, () => work(user, ms, isLongBody));
      else work(user, ms, isLongBody);
    },
    /** Nothing happens for so long, but for what was asked for by then. */
    idle(ms: number) {
      nowMs += ms;
      for (const timer of timers) {
        if (timer.atMs > nowMs) continue;
        timers.delete(timer);
        timer.fire();
      }
    },
    turn() {
      const now = soon;
      soon = [];
      // As the runtime does: an error of one does not keep the others from being called.
      const errors: unknown[] = [];
      for (const fire of now) {
        try {
          fire();
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw errors[0];
      return now.length;
    },
    /** The same with what follows from each call, which the runtime does before the next one. */
    async wholeTurn() {
      const now = soon;
      soon = [];
      for (const fire of now) {
        fire();
        await new Promise<void>((resolve) => process.nextTick(resolve));
      }
    },
  };
}

test('in a calm loop nobody waits, whatever was used', () => {
  const { turns, come, done, turn } = startLoop({ isBusy: false });
  for (let count = 0; count < 100; count += 1) {
    come(GREEDY, 5);
    turn();
  }
  assert.equal(done.length, 100);
  assert.equal(turns.waits, 0);
  assert.equal(turn(), 0);
});

test('in a calm loop, of what comes at once, the greedy one gets a few milliseconds, and others none to wait for', () => {
  const { come, done, turn } = startLoop({ isBusy: false });
  for (let count = 0; count < 32; count += 1) come(GREEDY, 3);
  assert.ok(done.length <= 4, `${done.length} pieces of 3 ms in one turn`);
  come(MODEST, 1);
  assert.equal(done.at(-1), MODEST.key);
  while (turn() > 0);
  assert.equal(done.length, 33);
});

test('long work of many requests goes on a few milliseconds in each turn, also in a calm loop', async () => {
  const { turns, work, done, wholeTurn } = startLoop({ isBusy: false });
  const going = Array.from({ length: 32 }, async () => {
    await turns.next(GREEDY);
    work(GREEDY, 2);
  });
  const pieces: number[] = [];
  while (done.length < 32) {
    const before: number = done.length;
    await wholeTurn();
    pieces.push(done.length - before);
  }
  await Promise.all(going);
  assert.deepEqual(pieces, Array(16).fill(2));
});

test('in a busy loop the greedy one gets a few milliseconds in each turn, and others none to wait for', () => {
  const { come, work, done, turn, turns } = startLoop();
  work(GREEDY, 100);
  for (let count = 0; count < 50; count += 1) come(GREEDY, 2);
  assert.equal(done.length, 1, 'all of it waits');
  come(MODEST, 1);
  assert.equal(done.at(-1), MODEST.key);
  for (let count = 0; count < 5; count += 1) {
    const doneBefore: number = done.length;
    turn();
    assert.equal(done.length - doneBefore, 2, 'two pieces of 2 ms fill a turn');
    come(MODEST, 1);
    assert.equal(done.at(-1), MODEST.key);
  }
  while (turn() > 0);
  assert.equal(done.filter((key) => key === GREEDY.key).length, 51);
  assert.equal(turns.waits, 50);
});

/** Enough samples of a busy loop for the longest rest. */
function busyFor(loop: ReturnType<typeof startLoop>, ms: number): void {
  for (let passed = 0; passed < ms; passed += 25) {
    loop.work(GREEDY, 24);
    loop.work(MODEST, 1);
  }
}

test('after a piece of a long body its account rests while others use the loop, and everybody else goes on at once', () => {
  const loop = startLoop();
  busyFor(loop, 4000);
  loop.work(GREEDY, 2, true);
  loop.done.length = 0;
  loop.come(GREEDY, 2, true);
  loop.come(MODEST, 1);
  assert.deepEqual(loop.done, [MODEST.key]);
  for (let turn = 0; turn < 10; turn += 1) loop.turn();
  assert.deepEqual(loop.done, [MODEST.key], 'it rests');
  loop.come(MODEST, 1);
  loop.idle(40);
  loop.turn();
  assert.deepEqual(loop.done, [MODEST.key, MODEST.key, GREEDY.key]);
});

test('of those that rest, each goes on when it has rested, whoever else still does', () => {
  const loop = startLoop();
  const OTHER = { key: 'acc_other', isKnown: true };
  busyFor(loop, 4000);
  for (let count = 0; count < 40; count += 1) loop.work(OTHER, 24);
  loop.work(GREEDY, 1, true);
  loop.work(OTHER, 10, true);
  loop.done.length = 0;
  loop.come(OTHER, 1);
  loop.come(GREEDY, 1);
  loop.turn();
  assert.deepEqual(loop.done, []);
  loop.idle(20);
  loop.turn();
  loop.turn();
  assert.deepEqual(loop.done, [GREEDY.key]);
  loop.idle(200);
  loop.turn();
  loop.turn();
  assert.deepEqual(loop.done, [GREEDY.key, OTHER.key]);
});

test('who rests for a short time goes on then, although another who came before rests for long', () => {
  const loop = startLoop();
  const OTHER = { key: 'acc_other', isKnown: true };
  busyFor(loop, 4000);
  for (let count = 0; count < 40; count += 1) loop.work(OTHER, 24);
  loop.work(OTHER, 10, true);
  loop.come(OTHER, 1);
  loop.turn();
  loop.work(GREEDY, 1, true);
  loop.done.length = 0;
  for (let count = 0; count < 3; count += 1) loop.come(GREEDY, 1);
  loop.turn();
  loop.idle(20);
  for (let turn = 0; turn < 5; turn += 1) loop.turn();
  assert.deepEqual(loop.done, [GREEDY.key, GREEDY.key, GREEDY.key]);
  loop.idle(200);
  for (let turn = 0; turn < 5; turn += 1) loop.turn();
  assert.equal(loop.done.at(-1), OTHER.key);
  assert.equal(loop.turn(), 0, 'nothing is left');
});

test('a short piece does not shorten the rest after a long one, and new work waits behind what rests', () => {
  const loop = startLoop();
  busyFor(loop, 4000);
  loop.work(GREEDY, 4, true);
  loop.work(GREEDY, 0, true);
  loop.done.length = 0;
  loop.come(GREEDY, 1);
  loop.turn();
  loop.idle(40);
  assert.deepEqual(loop.done, [], 'it rests for 16 times its work');
  loop.idle(30);
  assert.equal(loop.turns.mustWait(GREEDY), true);
  for (let turn = 0; turn < 3; turn += 1) loop.turn();
  assert.deepEqual(loop.done, [GREEDY.key]);
});

test('who is alone never rests, nor does anybody in a loop that has time to spare', () => {
  const alone = startLoop();
  for (let count = 0; count < 200; count += 1) {
    alone.work(GREEDY, 24, true);
    alone.come(GREEDY, 1);
    while (alone.turn() > 0);
  }
  assert.equal(alone.done.length, 400);
  const calm = startLoop({ isBusy: false });
  busyFor(calm, 4000);
  calm.work(GREEDY, 2, true);
  calm.turn();
  assert.equal(calm.turns.mustWait(GREEDY), false);
});

test('of those that wait, whoever has used less goes first', () => {
  const { turns, work, done, turn } = startLoop();
  work(GREEDY, 400);
  work(MODEST, 300);
  for (let count = 0; count < 3; count += 1) {
    turns.wait(GREEDY, () => work(GREEDY, 1));
    turns.wait(MODEST, () => work(MODEST, 1));
  }
  done.length = 0;
  while (turn() > 0);
  assert.deepEqual(done, [...Array(3).fill(MODEST.key), ...Array(3).fill(GREEDY.key)]);
});

test('in a turn that has become long, a new connection waits, because it may belong to an account that is ahead', () => {
  const { come, done, turn } = startLoop({ isBusy: false });
  // The account is known, and charged, only after the first request of a connection has been read.
  for (let count = 0; count < 10; count += 1) come({ key: `network ${count}`, isKnown: false }, 3);
  assert.equal(done.length, 2, 'the turn is long after two of them');
  const turns: number[] = [];
  while (done.length < 10) {
    const before = done.length;
    turn();
    turns.push(done.length - before);
  }
  assert.ok(Math.max(...turns) <= 2, `${turns}`);
});

test('however many new connections come, long work of an account goes on', () => {
  const { turns, work, done, turn } = startLoop();
  work(MODEST, 20);
  done.length = 0;
  const next = () =>
    turns.wait(MODEST, () => {
      work(MODEST, 1);
      next();
    });
  next();
  // What the first request of a connection takes is charged to the account that is known afterwards.
  const first = () => work(GREEDY, 2);
  for (let count = 0; count < 100; count += 1) {
    for (const name of ['a', 'b', 'c']) {
      const network = { key: `${name}${count}`, isKnown: false };
      if (turns.mustWait(network)) turns.wait(network, first);
      else first();
    }
    turn();
  }
  const served = done.filter((key) => key === MODEST.key).length;
  assert.ok(served >= 50, `${served}`);
});

test('work for several accounts at once is charged in equal parts for each thing', () => {
  const { turns, idle } = startLoop();
  const sinceMs = turns.nowMs();
  idle(12);
  turns.chargeEach(['a', 'a', 'b', 'a'], (each) => `acc_${each}`, sinceMs);
  assert.deepEqual(turns.most(2).accounts, [
    ['acc_a', 9],
    ['acc_b', 3],
  ]);
  assert.equal(turns.mustWait({ key: 'acc_new', isKnown: true }), false);
});

test('a piece that fails keeps nobody else waiting', () => {
  const { turns, work, done, turn } = startLoop();
  turns.wait(GREEDY, () => {
    throw new Error('planted');
  });
  turns.wait(MODEST, () => work(MODEST, 1));
  assert.throws(() => turn(), /planted/);
  assert.deepEqual(done, [MODEST.key]);
});
