// Which time the service goes by when the wall clock jumps: the time of order never goes back, and a jump is believed
// only after it has lasted for a while.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  CLOCK_BELIEVED_AFTER_MS,
  CLOCK_DOWN_MS_MAX,
  CLOCK_STEP_MS_MAX,
  type ClockChange,
  reckonedAt,
  Timekeeper,
} from '../../src/domain/clock.ts';
import { Chance } from '../simulation/chance.ts';

const START = Date.UTC(2026, 0, 1);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A machine whose clocks a test turns, and the timekeeper that is told of them every second. */
class Machine {
  wallAt = START;
  monotonicMs = 5000;
  asleepMs = 0;
  keeper = new Timekeeper(this.wallAt, this.monotonicMs, 0);
  readonly changes: ClockChange[] = [];

  pass(ms: number, stepMs = SECOND): void {
    for (let left = ms; left > 0; left -= stepMs) {
      this.wallAt += Math.min(left, stepMs);
      this.monotonicMs += Math.min(left, stepMs);
      this.read();
    }
  }

  jump(ms: number): void {
    this.wallAt += ms;
    this.read();
  }

  /** The process ends and another one starts, `ms` later and with a wall clock that has jumped by `jumpMs`. */
  restart(ms: number, jumpMs = 0): void {
    const kept = this.keeper.kept();
    this.wallAt += ms + jumpMs;
    this.monotonicMs = 77;
    this.keeper = new Timekeeper(this.wallAt, this.monotonicMs, 0);
    this.asleepMs = 0;
    const change = this.keeper.resume(kept, null, this.wallAt, this.monotonicMs);
    if (change) this.changes.push(change);
  }

  read(): void {
    const change = this.keeper.read(this.wallAt, this.monotonicMs, () => this.asleepMs);
    if (change) this.changes.push(change);
  }

  get orderAt(): number {
    return this.keeper.orderAt;
  }

  get trustedAt(): number {
    return this.keeper.trustedAt;
  }
}

describe('a clock that is right', () => {
  test('is both times, to the millisecond', () => {
    const machine = new Machine();
    machine.pass(HOUR);
    assert.equal(machine.orderAt, machine.wallAt);
    assert.equal(machine.trustedAt, machine.wallAt);
    assert.deepEqual(machine.changes, []);
  });

  test('is followed when it is slewed', () => {
    const machine = new Machine();
    for (let second = 0; second < 3600; second += 1) {
      machine.pass(SECOND);
      machine.wallAt += 1;
    }
    machine.read();
    assert.equal(machine.trustedAt, machine.wallAt);
    assert.deepEqual(machine.changes, []);
  });

  test('is right at once when the machine has slept', () => {
    const machine = new Machine();
    machine.pass(MINUTE);
    machine.asleepMs += 8 * HOUR;
    machine.jump(8 * HOUR);
    assert.equal(machine.orderAt, machine.wallAt);
    assert.equal(machine.keeper.isBelieved, true);
    machine.jump(8 * HOUR);
    assert.equal(machine.keeper.isBelieved, false, 'the same sleep explains no second jump');
  });
});

describe('a small step', () => {
  test('back: the wall clock is followed, the time of order goes on slower until they meet', () => {
    const machine = new Machine();
    machine.pass(MINUTE);
    const before = machine.orderAt;
    machine.jump(-2 * SECOND);
    assert.equal(machine.orderAt, before);
    assert.equal(machine.trustedAt, machine.wallAt);
    machine.pass(SECOND, 1);
    assert.ok(machine.orderAt > before + 900 && machine.orderAt < before + SECOND, 'it never stands still');
    machine.pass(MINUTE);
    assert.equal(machine.orderAt, machine.wallAt);
    assert.deepEqual(machine.changes, []);
    assert.equal(machine.keeper.timesSetBack, 0);
  });

  test('ahead is followed at once', () => {
    const machine = new Machine();
    machine.jump(CLOCK_STEP_MS_MAX);
    assert.equal(machine.orderAt, machine.wallAt);
  });
});

describe('a jump', () => {
  test('of ten days ahead for 40 seconds changes nothing', () => {
    const machine = new Machine();
    machine.pass(MINUTE);
    const { wallAt } = machine;
    machine.jump(10 * DAY);
    machine.pass(40 * SECOND);
    assert.equal(machine.orderAt, wallAt + 40 * SECOND);
    assert.equal(machine.trustedAt, wallAt + 40 * SECOND);
    assert.equal(machine.keeper.aheadMs, 10 * DAY);
    machine.jump(-10 * DAY);
    assert.equal(machine.orderAt, wallAt + 40 * SECOND);
    assert.deepEqual(machine.changes, [
      { kind: 'doubted', aheadMs: 10 * DAY },
      { kind: 'believed', movedMs: 0 },
    ]);
  });

  test('of an hour back is believed after a while; the time of order goes on from where it was', () => {
    const machine = new Machine();
    machine.pass(MINUTE);
    const before = machine.orderAt;
    machine.jump(-HOUR);
    machine.pass(CLOCK_BELIEVED_AFTER_MS - SECOND);
    assert.equal(machine.trustedAt, machine.wallAt + HOUR);
    assert.equal(machine.keeper.timesSetBack, 0);
    machine.pass(SECOND);
    assert.equal(machine.trustedAt, machine.wallAt);
    assert.equal(machine.keeper.timesSetBack, 1);
    assert.ok(machine.orderAt >= before + CLOCK_BELIEVED_AFTER_MS - SECOND);
    assert.deepEqual(machine.changes.at(-1), { kind: 'believed', movedMs: -HOUR });
    machine.pass(17 * HOUR, MINUTE);
    assert.equal(machine.orderAt, machine.wallAt, 'the two have met again');
  });

  test('ahead that lasts is believed, and both times go with it', () => {
    const machine = new Machine();
    machine.jump(10 * DAY);
    machine.pass(CLOCK_BELIEVED_AFTER_MS);
    assert.equal(machine.orderAt, machine.wallAt);
    assert.equal(machine.trustedAt, machine.wallAt);
    assert.equal(machine.keeper.timesSetBack, 0);
  });

  test('that is followed by another one starts a new observation', () => {
    const machine = new Machine();
    for (let i = 0; i < 10; i += 1) {
      machine.jump(i % 2 === 0 ? HOUR : MINUTE);
      machine.pass(CLOCK_BELIEVED_AFTER_MS / 2);
      assert.equal(machine.keeper.isBelieved, false);
    }
    assert.equal(machine.trustedAt, START + 5 * CLOCK_BELIEVED_AFTER_MS);
  });
});

describe('a start', () => {
  test('some minutes later goes by the wall clock at once', () => {
    const machine = new Machine();
    machine.pass(HOUR);
    machine.restart(5 * MINUTE);
    assert.equal(machine.orderAt, machine.wallAt);
    assert.equal(machine.keeper.isProven, true);
  });

  test('hours later goes by the wall clock at once, but nothing is deleted by it for a while', () => {
    const machine = new Machine();
    machine.pass(HOUR);
    machine.restart(20 * HOUR);
    assert.equal(machine.orderAt, machine.wallAt);
    assert.equal(machine.keeper.isProven, false);
    machine.pass(CLOCK_BELIEVED_AFTER_MS);
    assert.equal(machine.keeper.isProven, true);
  });

  test('with a clock ten days ahead is a jump; off for ten days looks the same, and is right after a while', () => {
    const machine = new Machine();
    machine.pass(HOUR);
    const before = machine.trustedAt;
    machine.restart(10 * DAY);
    assert.equal(machine.trustedAt, before);
    assert.equal(machine.keeper.isBelieved, false);
    machine.pass(CLOCK_BELIEVED_AFTER_MS);
    assert.equal(machine.trustedAt, machine.wallAt);
    assert.ok(10 * DAY > CLOCK_DOWN_MS_MAX);
  });

  test('with a clock an hour behind goes on from what was kept', () => {
    const machine = new Machine();
    machine.pass(HOUR);
    const before = machine.orderAt;
    machine.restart(SECOND, -HOUR);
    assert.equal(machine.orderAt, before);
    assert.deepEqual(machine.changes, [{ kind: 'doubted', aheadMs: SECOND - HOUR }]);
  });

  test('does not begin a doubt anew: a process that starts every minute comes right as well', () => {
    const machine = new Machine();
    machine.pass(MINUTE);
    machine.jump(-HOUR);
    for (let start = 0; start < 12; start += 1) {
      machine.pass(50 * SECOND);
      machine.restart(10 * SECOND);
    }
    machine.pass(SECOND);
    assert.equal(machine.trustedAt, machine.wallAt);
  });

  test('does not believe a doubted clock for what it shows: set ten minutes further while nothing ran, it is as doubtful', () => {
    const machine = new Machine();
    machine.pass(MINUTE);
    const right = machine.wallAt;
    machine.jump(10 * DAY);
    machine.restart(SECOND, 11 * MINUTE);
    machine.pass(MINUTE);
    assert.equal(machine.keeper.isBelieved, false);
    assert.ok(machine.trustedAt < right + DAY);
  });

  test('stands behind the newest time of the store, kept or not', () => {
    const keeper = new Timekeeper(START, 0, 0);
    keeper.resume(null, START + HOUR, START, 0);
    assert.equal(keeper.orderAt, START + HOUR);
    assert.equal(keeper.trustedAt, START);
  });
});

test('a node that lags behind another takes over its time of order', () => {
  const [one, other] = [new Machine(), new Machine()];
  one.jump(3 * SECOND);
  one.jump(-3 * SECOND);
  other.keeper.hearOf(one.keeper.kept());
  assert.equal(other.orderAt, one.orderAt);
  other.keeper.hearOf({ ...one.keeper.kept(), wallAt: START - HOUR, orderAt: START + HOUR });
  assert.equal(other.orderAt, one.orderAt, 'what was kept long ago says nothing');
});

test('the clock of the store is taken over as far as its answer is sure', () => {
  assert.equal(reckonedAt(1000, 990, 20), 1000);
  assert.equal(reckonedAt(1000, 1005, 20), 1005);
  assert.equal(reckonedAt(1000, 900, 20), 920);
});

test('whatever the wall clock does, with starts in between: the time of order never goes back and is never late', () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const chance = new Chance(seed);
    const machine = new Machine();
    let before = machine.orderAt;
    for (let step = 0; step < 100; step += 1) {
      const passedMs = chance.pick([1, 40, SECOND, 5 * SECOND, MINUTE, 11 * MINUTE]);
      const [action] = [chance.weighted({ pass: 60, jump: 25, restart: 15 })];
      const jumpMs = chance.pick([-10 * DAY, -HOUR, -2 * SECOND, -1, 0, 1, 2 * SECOND, HOUR, 10 * DAY]);
      if (action === 'jump') machine.jump(jumpMs);
      if (action === 'restart') machine.restart(passedMs, chance.isTrue(50) ? 0 : jumpMs);
      else machine.pass(passedMs, Math.max(1, passedMs / 4));
      assert.ok(machine.orderAt >= before, `seed ${seed}: back by ${before - machine.orderAt} ms`);
      // Even at its slowest it goes on: nothing that is due waits because of a jump.
      const least = action === 'restart' ? 0 : Math.floor((passedMs * 15) / 16) - 1;
      assert.ok(machine.orderAt - before >= least, `seed ${seed}: only ${machine.orderAt - before} of ${passedMs} ms`);
      assert.ok(machine.orderAt >= machine.trustedAt, `seed ${seed}: the trusted clock is ahead of the time of order`);
      before = machine.orderAt;
    }
  }
});
