// How claims that have arrived together start: in pieces that take about as long as each other.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Arrivals } from '../../../src/delivery/engine/arrivals.ts';
import type { Claim } from '../../../src/rules/delivery/message.ts';
import { message } from '../../conformance/given.ts';
import { NO_TURNS } from '../../support/no-turns.ts';

const claimOf = (id: string, accountId: string) =>
  ({ message: { ...message({ id }), accountId }, lease: `lease ${id}` }) as unknown as Claim;

/** The pieces that start, each turn of the event loop by itself. Every start takes so long. */
function turnsOf(claims: readonly Claim[], startMs: number): string[][] {
  let nowMs = 0;
  const soon: (() => void)[] = [];
  const turns: string[][] = [];
  const arrivals = new Arrivals({
    clock: { monotonicMs: () => nowMs, soon: (turn) => void soon.push(turn) },
    turns: NO_TURNS,
    mayStart: () => true,
    start: (piece) => {
      nowMs += startMs;
      turns.at(-1)!.push(piece.map((claim) => claim.message.id).join(' '));
    },
    giveBack: () => assert.fail('all may start'),
  });
  arrivals.add(claims);
  for (let turn = soon.shift(); turn; turn = soon.shift()) {
    turns.push([]);
    turn();
  }
  assert.ok(arrivals.isEmpty);
  return turns;
}

const small = (count: number) => Array.from({ length: count }, (_, index) => claimOf(`s${index}`, 'one'));

test('small messages start sixteen at once, as many as a turn of the event loop has time for', () => {
  const sixteen = (from: number, count = 16) => Array.from({ length: count }, (_, at) => `s${from + at}`).join(' ');
  assert.deepEqual(turnsOf(small(40), 1), [[sixteen(0), sixteen(16), sixteen(32, 8)]]);
  assert.deepEqual(turnsOf(small(40), 4), [[sixteen(0)], [sixteen(16)], [sixteen(32, 8)]]);
});

test('of many that wait, those of an account with a few are among the first', () => {
  const many = Array.from({ length: 40 }, (_, index) => claimOf(`l${index}`, 'one'));
  const [first] = turnsOf([...many, claimOf('mine', 'two')], 4);
  assert.match(first![0]!, /\bmine\b/);
});

/** `one` must wait for its turn, and the event loop is the test's. */
function startBusy({ mayStart = () => true }: { mayStart?: () => boolean } = {}) {
  let nowMs = 0;
  const soon: (() => void)[] = [];
  const turns: { key: string; work: () => void }[] = [];
  const started: string[][] = [];
  const givenBack: string[] = [];
  const charged: [accounts: string, ms: number][] = [];
  const arrivals = new Arrivals({
    clock: { monotonicMs: () => nowMs, soon: (turn) => void soon.push(turn) },
    turns: {
      mustWait: ({ key }) => key === 'one',
      wait: ({ key }, work) => void turns.push({ key, work }),
      nowMs: () => nowMs,
      chargeEach: (claims, accountOf, sinceMs) =>
        void charged.push([[...new Set(claims.map(accountOf))].join(' '), nowMs - sinceMs]),
    },
    mayStart,
    start: (piece) => {
      nowMs += 1;
      started.push(piece.map((claim) => claim.message.id));
    },
    giveBack: (claims) => void givenBack.push(...claims.map((claim) => claim.message.id)),
  });
  const turn = () => {
    for (const each of soon.splice(0)) each();
  };
  return { arrivals, turn, turns, started, givenBack, charged };
}

test('while the loop is busy an account that is ahead starts sixteen in each of its turns, and others at once', () => {
  const { arrivals, turn, turns, started, charged } = startBusy();
  arrivals.add([...small(20), claimOf('mine', 'two')]);
  turn();
  assert.deepEqual(started, [['mine']]);
  assert.equal(turns.length, 1);
  arrivals.add([claimOf('s20', 'one')]);
  turn();
  assert.equal(turns.length, 1, 'an account has one place in line');
  turns.shift()!.work();
  assert.deepEqual(
    started[1],
    small(16).map((claim) => claim.message.id),
  );
  assert.ok(!arrivals.isEmpty);
  turns.shift()!.work();
  assert.deepEqual(started[2], ['s16', 's17', 's18', 's19', 's20']);
  assert.ok(arrivals.isEmpty);
  assert.equal(turns.length, 0);
  assert.deepEqual(charged, [
    ['two', 1],
    ['one', 1],
    ['one', 1],
  ]);
});

test('claims that wait for their turn are given back when nothing may start any more, and never start', () => {
  let may = true;
  const { arrivals, turn, turns, started, givenBack } = startBusy({ mayStart: () => may });
  arrivals.add(small(2));
  turn();
  may = false;
  turns.shift()!.work();
  assert.deepEqual([started, givenBack], [[], ['s0', 's1']]);
  assert.ok(arrivals.isEmpty);
});

test('a turn that comes after its claims were given back starts nothing, not even later claims', () => {
  const { arrivals, turn, turns, started, givenBack } = startBusy();
  arrivals.add(small(2));
  turn();
  arrivals.giveAllBack();
  assert.deepEqual(givenBack, ['s0', 's1']);
  arrivals.add([claimOf('later', 'one')]);
  turn();
  turns.shift()!.work();
  assert.deepEqual(started, []);
  turns.shift()!.work();
  assert.deepEqual(started, [['later']]);
});
