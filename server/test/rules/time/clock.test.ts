// Which time the service goes by when the wall clock jumps: the time of order never goes back, and a jump is believed
// only after it has lasted for a while.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  CLOCK_BELIEVED_AFTER_MS,
  CLOCK_DOWN_MS_MAX,
  CLOCK_STEP_MS_MAX,
  type ClockChange,
  correctedTime,
  type KeptTime,
  Timekeeper,
  timeAtStart,
  timeOfWork,
} from '../../../src/rules/time/clock.ts';
import { Chance } from '../../simulation/chance.ts';

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

  test('stands behind the newest time of the store, kept or not, by no more than a step', () => {
    const kept = { wallAt: START, trustedAt: START, orderAt: START, doubtedMs: 0 };
    for (const before of [null, kept]) {
      for (const [newestMs, movedMs] of [
        [-HOUR, 0],
        [3 * SECOND, 3 * SECOND],
        [CLOCK_STEP_MS_MAX, CLOCK_STEP_MS_MAX],
        [CLOCK_STEP_MS_MAX + 1, 0],
        [8 * DAY, 0],
      ] as const) {
        const keeper = new Timekeeper(START, 0, 0);
        keeper.resume(before, START + newestMs, START, 0);
        assert.equal(keeper.orderAt, START + movedMs, `rows ${newestMs} ms ahead`);
        assert.equal(keeper.trustedAt, START);
      }
    }
  });

  test('does not count the correction of a small step as time that has passed', () => {
    const machine = new Machine();
    machine.pass(HOUR, MINUTE);
    machine.jump(-CLOCK_STEP_MS_MAX);
    machine.restart(2 * SECOND, CLOCK_STEP_MS_MAX);
    assert.equal(machine.orderAt, START + HOUR + 2 * SECOND);
  });

  test('without a kept time deletes nothing for a while', () => {
    const keeper = new Timekeeper(START, 0, 0);
    keeper.resume(null, START, START, 0);
    assert.equal(keeper.isProven, false);
    keeper.read(START + CLOCK_BELIEVED_AFTER_MS, CLOCK_BELIEVED_AFTER_MS, () => 0);
    assert.equal(keeper.isProven, true);
  });
});

describe('a start after a doubt', () => {
  /** The wall clock is off by so much at the stop and at the start, and nothing runs for so long. */
  const started = (atStopMs: number, atStartMs: number, downMs: number) => {
    const machine = new Machine();
    machine.pass(HOUR, MINUTE);
    machine.jump(atStopMs);
    machine.pass(14 * SECOND);
    const stopped = START + HOUR + 14 * SECOND;
    machine.restart(downMs, atStartMs - atStopMs);
    machine.pass(SECOND);
    return { machine, lateMs: stopped + downMs + SECOND - machine.orderAt };
  };

  test('with a clock that was corrected meanwhile goes on where it was: an hour behind at the stop is no hour passed', () => {
    for (const atStopMs of [-HOUR, HOUR, -23 * HOUR, 10 * DAY]) {
      const { machine, lateMs } = started(atStopMs, 0, 5 * SECOND);
      assert.equal(lateMs, 0, `${atStopMs} ms off at the stop`);
      assert.equal(machine.keeper.isBelieved, true);
    }
  });

  test('with the same wrong clock goes on where it was, and the doubt goes on', () => {
    for (const offMs of [-HOUR, HOUR, -23 * HOUR, 10 * DAY]) {
      const { machine, lateMs } = started(offMs, offMs, 5 * SECOND);
      assert.equal(lateMs, 0, `${offMs} ms off`);
      machine.pass(CLOCK_BELIEVED_AFTER_MS - 15 * SECOND);
      assert.equal(machine.trustedAt, machine.wallAt, 'believed after the rest of the time');
    }
  });

  test('with a clock that is wrong in another way believes nothing, whichever way it was wrong', () => {
    for (const [atStopMs, atStartMs] of [
      [-HOUR, -HOUR / 2],
      [-HOUR, HOUR],
      [HOUR, 3 * HOUR],
      [HOUR, -HOUR],
      [-20 * HOUR, -2 * HOUR],
    ] as const) {
      const { machine, lateMs } = started(atStopMs, atStartMs, 5 * SECOND);
      assert.equal(lateMs, 5 * SECOND, `${atStopMs} ms off at the stop, ${atStartMs} at the start`);
      assert.equal(machine.keeper.isBelieved, false);
    }
  });

  test('hours later is late by that time, until the clock is believed', () => {
    for (const atStopMs of [-HOUR, HOUR]) {
      const { machine, lateMs } = started(atStopMs, 0, 3 * HOUR);
      assert.equal(lateMs, 3 * HOUR);
      machine.pass(CLOCK_BELIEVED_AFTER_MS);
      assert.equal(machine.orderAt, machine.wallAt);
    }
  });
});

test('a further lane knows what the first one knows: a jump between two heartbeats is no downtime for it', () => {
  const first = new Machine();
  first.pass(HOUR, MINUTE);
  const before = first.orderAt;
  first.jump(5 * HOUR);
  const lane = new Timekeeper(first.wallAt, first.monotonicMs, 0);
  lane.join(first.keeper.state);
  assert.equal(lane.orderAt, before);
  first.pass(CLOCK_BELIEVED_AFTER_MS - SECOND);
  lane.read(first.wallAt, first.monotonicMs, () => 0);
  assert.equal(lane.isBelieved, false);
  first.pass(SECOND);
  lane.read(first.wallAt, first.monotonicMs, () => 0);
  assert.equal(lane.orderAt, first.wallAt);
});

test('a node that lags behind another takes over its time of order', () => {
  const [one, other] = [new Machine(), new Machine()];
  one.jump(3 * SECOND);
  one.jump(-3 * SECOND);
  other.keeper.catchUpWith(one.keeper.kept());
  assert.equal(other.orderAt, one.orderAt);
  other.keeper.catchUpWith({ ...one.keeper.kept(), wallAt: START - HOUR, orderAt: START + HOUR });
  assert.equal(other.orderAt, one.orderAt, 'what was kept long ago says nothing');
});

test('a node that trusts another time is not followed: it may have started with a clock that is ahead', () => {
  const [running, starting] = [new Machine(), new Machine()];
  running.pass(MINUTE);
  const kept = running.keeper.kept();
  // Between two heartbeats of the node that runs, the clock they share jumps and another node starts.
  for (const machine of [running, starting]) machine.wallAt = START + MINUTE + 5 * HOUR;
  starting.keeper.resume(kept, null, starting.wallAt, starting.monotonicMs);
  running.read();
  running.keeper.catchUpWith(starting.keeper.kept());
  assert.equal(running.orderAt, START + MINUTE);
});

test('the clock of the store is taken over as far as its answer is sure', () => {
  assert.equal(correctedTime(1000, 990, 20), 1000);
  assert.equal(correctedTime(1000, 1005, 20), 1005);
  assert.equal(correctedTime(1000, 900, 20), 920);
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

test('the service is never ahead of the time that has passed, however often a clock is wrong for a while, with starts in between', () => {
  const OFF = [-10 * DAY, -23 * HOUR, -HOUR, -11 * SECOND, 0, 0, 11 * SECOND, HOUR, 23 * HOUR, 10 * DAY];
  for (let seed = 1; seed <= 500; seed += 1) {
    const chance = new Chance(seed);
    const machine = new Machine();
    let passedMs = 0;
    let offMs = 0;
    let wrongMs = 0;
    for (let step = 0; step < 40; step += 1) {
      // No clock is wrong for so long that it is believed, and a start that sees a believable downtime sees a real one.
      const jumpMs =
        (wrongMs > 4 * MINUTE ? 0 : chance.pick(OFF)) - (chance.isTrue(70) || wrongMs > 4 * MINUTE ? offMs : 0);
      const downMs = chance.pick([SECOND, 20 * SECOND, 5 * MINUTE, 3 * HOUR]);
      const isStart = chance.isTrue(50);
      const isBelievable = machine.keeper.isBelieved && jumpMs + downMs >= -CLOCK_STEP_MS_MAX && downMs + jumpMs <= DAY;
      if (isStart && (jumpMs === 0 || !isBelievable)) {
        machine.restart(downMs, jumpMs);
        passedMs += downMs;
      } else machine.jump(jumpMs);
      offMs += jumpMs;
      const runMs = offMs === 0 ? 30 * MINUTE : chance.pick([SECOND, 14 * SECOND, 4 * MINUTE]);
      machine.pass(runMs, 5 * SECOND);
      passedMs += runMs;
      wrongMs = offMs === 0 ? 0 : wrongMs + runMs;
      const aheadMs = machine.orderAt - START - passedMs;
      assert.ok(aheadMs <= 0, `seed ${seed}, step ${step}: ${aheadMs} ms ahead`);
      if (offMs === 0) assert.equal(machine.trustedAt, START + passedMs, `seed ${seed}, step ${step}: late`);
    }
  }
});

describe('the rule of a start, to the millisecond', () => {
  const KEPT: KeptTime = { wallAt: START, trustedAt: START, orderAt: START, doubtedMs: 0 };
  /** How far the trusted time has moved since it was kept, and the doubt. */
  const startedAt = (shownMs: number, some: Partial<KeptTime> = {}) => {
    const { trustedAt, doubtedMs } = timeAtStart({ ...KEPT, ...some }, null, START + shownMs);
    return [trustedAt - (some.trustedAt ?? START), doubtedMs];
  };

  test('a trusted clock may show up to a day more, or a step less', () => {
    assert.deepEqual(startedAt(CLOCK_DOWN_MS_MAX), [CLOCK_DOWN_MS_MAX, null]);
    assert.deepEqual(startedAt(CLOCK_DOWN_MS_MAX + 1), [0, 0]);
    assert.deepEqual(startedAt(-CLOCK_STEP_MS_MAX), [-CLOCK_STEP_MS_MAX, null]);
    assert.deepEqual(startedAt(-CLOCK_STEP_MS_MAX - 1), [0, 0]);
  });

  test('a clock was trusted if it was no further away than a step, and is trusted likewise', () => {
    assert.deepEqual(startedAt(HOUR, { trustedAt: START + CLOCK_STEP_MS_MAX }), [HOUR, null]);
    assert.deepEqual(startedAt(HOUR, { trustedAt: START + CLOCK_STEP_MS_MAX + 1 }), [0, 0]);
    assert.deepEqual(startedAt(0, { trustedAt: START - CLOCK_STEP_MS_MAX }), [0, null]);
    assert.deepEqual(startedAt(0, { trustedAt: START - CLOCK_STEP_MS_MAX - 1 }), [0, 0]);
  });

  test('a doubted clock says how long nothing ran only if that was no longer than a step', () => {
    const doubted = { trustedAt: START - HOUR, doubtedMs: MINUTE };
    assert.deepEqual(startedAt(CLOCK_STEP_MS_MAX, doubted), [CLOCK_STEP_MS_MAX, MINUTE]);
    assert.deepEqual(startedAt(CLOCK_STEP_MS_MAX + 1, doubted), [0, MINUTE]);
    assert.deepEqual(startedAt(-1, doubted), [0, MINUTE]);
  });

  test('a doubt goes on with a clock that shows up to ten minutes more, or a step less', () => {
    const doubted = { trustedAt: START - HOUR, doubtedMs: MINUTE };
    assert.deepEqual(startedAt(CLOCK_BELIEVED_AFTER_MS, doubted), [0, MINUTE]);
    assert.deepEqual(startedAt(CLOCK_BELIEVED_AFTER_MS + 1, doubted), [0, 0]);
    assert.deepEqual(startedAt(-CLOCK_STEP_MS_MAX, doubted), [0, MINUTE]);
    assert.deepEqual(startedAt(-CLOCK_STEP_MS_MAX - 1, doubted), [0, 0]);
    // Trusted then, doubted now.
    assert.deepEqual(startedAt(-HOUR, { doubtedMs: MINUTE }), [0, 0]);
    assert.deepEqual(startedAt(-CLOCK_STEP_MS_MAX, { trustedAt: START - HOUR }), [0, 0]);
  });

  test('nothing is deleted by a time that more than ten minutes of downtime have moved', () => {
    assert.equal(timeAtStart(KEPT, null, START + CLOCK_BELIEVED_AFTER_MS).isProven, true);
    assert.equal(timeAtStart(KEPT, null, START + CLOCK_BELIEVED_AFTER_MS + 1).isProven, false);
    assert.deepEqual(timeAtStart(null, null, START), {
      trustedAt: START,
      orderAt: START,
      doubtedMs: null,
      isProven: false,
    });
  });
});

test('a start with a clock that is right doubts nothing', () => {
  const keeper = new Timekeeper(START, 0, 0);
  const kept = keeper.kept();
  assert.equal(keeper.resume(kept, null, START + MINUTE, 0), null);
  assert.equal(keeper.isBelieved, true);
  assert.equal(keeper.kept().doubtedMs, 0);
});

describe('a sleep of the machine', () => {
  test('explains a jump of its length, give or take a step, each time anew', () => {
    for (const [jumpMs, isExplained] of [
      [8 * HOUR + CLOCK_STEP_MS_MAX, true],
      [8 * HOUR + CLOCK_STEP_MS_MAX + 1, false],
      [8 * HOUR - CLOCK_STEP_MS_MAX - 1, false],
    ] as const) {
      const machine = new Machine();
      machine.asleepMs = 3 * HOUR;
      machine.keeper = new Timekeeper(machine.wallAt, machine.monotonicMs, machine.asleepMs);
      for (const _ of [1, 2]) {
        machine.asleepMs += 8 * HOUR;
        machine.jump(jumpMs);
        assert.equal(machine.keeper.isBelieved, isExplained, `${jumpMs} ms`);
        if (!isExplained) break;
      }
    }
  });

  test('that was over when the clock was last right explains no later jump', () => {
    const machine = new Machine();
    machine.asleepMs = 8 * HOUR;
    machine.keeper.noteAwake(machine.asleepMs);
    machine.jump(8 * HOUR);
    assert.equal(machine.keeper.isBelieved, false);
  });

  test('is not forgotten while the clock is doubted', () => {
    const machine = new Machine();
    machine.jump(8 * HOUR);
    machine.keeper.noteAwake(8 * HOUR);
    machine.asleepMs = 8 * HOUR;
    machine.jump(CLOCK_STEP_MS_MAX);
    assert.equal(machine.keeper.isBelieved, true);
  });
});

test('a doubted clock that moves by a step is the same clock, one that moves further is another', () => {
  for (const [stepMs, isSame] of [
    [CLOCK_STEP_MS_MAX, true],
    [-CLOCK_STEP_MS_MAX, true],
    [CLOCK_STEP_MS_MAX + 1, false],
  ] as const) {
    const machine = new Machine();
    machine.jump(HOUR);
    machine.pass(CLOCK_BELIEVED_AFTER_MS - SECOND);
    machine.jump(stepMs);
    machine.pass(SECOND);
    assert.equal(machine.keeper.isBelieved, isSame, `${stepMs} ms`);
  }
});

test('a doubt is kept in whole milliseconds, and none that is not there', () => {
  const keeper = new Timekeeper(START, 0, 0);
  assert.equal(keeper.kept().doubtedMs, 0);
  keeper.read(START + HOUR, 0, () => 0);
  keeper.read(START + HOUR + 1.75, 1.75, () => 0);
  assert.equal(keeper.kept().doubtedMs, 1);
});

test('a keeper that joins another one has its doubt, or none, and goes its own way afterwards', () => {
  const first = new Timekeeper(START, 0, 0);
  const joined = new Timekeeper(0, 0, 0);
  joined.join(first.state);
  assert.equal(joined.isBelieved, true);
  first.read(START + HOUR, 0, () => 0);
  const { state } = first;
  joined.join(state);
  assert.equal(joined.isBelieved, false);
  first.read(START + HOUR + 5, 0, () => 0);
  assert.equal(state.doubt?.offset, START + HOUR);
  assert.equal(joined.state.doubt?.offset, START + HOUR);
});

describe('the time of another node', () => {
  const heard = (some: Partial<KeptTime>) => {
    const keeper = new Timekeeper(START, 0, 0);
    keeper.catchUpWith({ wallAt: START, trustedAt: START, orderAt: START, doubtedMs: 0, ...some });
    return keeper.orderAt - START;
  };

  test('moves the order ahead, and never back', () => {
    assert.equal(heard({ orderAt: START + HOUR }), HOUR);
    assert.equal(heard({ orderAt: START - HOUR }), 0);
  });

  test('counts if it was kept within a step, and goes on slower since then', () => {
    const keptMsAgo = (ms: number) => heard({ wallAt: START - ms, trustedAt: START - ms, orderAt: START + HOUR });
    assert.equal(keptMsAgo(CLOCK_STEP_MS_MAX), HOUR + (CLOCK_STEP_MS_MAX * 15) / 16);
    assert.equal(keptMsAgo(CLOCK_STEP_MS_MAX + 1), 0);
    assert.equal(keptMsAgo(-1), 0);
  });

  test('counts if that node trusts the same time, give or take a step', () => {
    const ahead = { orderAt: START + HOUR };
    assert.equal(heard({ ...ahead, trustedAt: START + CLOCK_STEP_MS_MAX }), HOUR);
    assert.equal(heard({ ...ahead, trustedAt: START - CLOCK_STEP_MS_MAX }), HOUR);
    assert.equal(heard({ ...ahead, trustedAt: START + CLOCK_STEP_MS_MAX + 1 }), 0);
    // Both trust the same time, one of them has kept it a while ago.
    assert.ok(heard({ ...ahead, wallAt: START - 9000, trustedAt: START - 9000 - CLOCK_STEP_MS_MAX }) > 0);
    assert.equal(heard({ ...ahead, wallAt: START - 9000, trustedAt: START - 9001 - CLOCK_STEP_MS_MAX }), 0);
  });
});

test('work that waited while the process stood still gets the time that has passed', () => {
  assert.equal(timeOfWork(START, 2000), START);
  assert.equal(timeOfWork(START, 2001), START + 2001);
  assert.equal(timeOfWork(START, 5000.4), START + 5000);
});
