// How claims that have arrived together start: in pieces that take about as long as each other.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Arrivals } from '../../../src/delivery/engine/arrivals.ts';
import type { Claim } from '../../../src/rules/delivery/message.ts';
import { message } from '../../conformance/given.ts';

const claimOf = (id: string, accountId: string) =>
  ({ message: { ...message({ id }), accountId }, lease: `lease ${id}` }) as unknown as Claim;

/** The pieces that start, each turn of the event loop by itself. Every start takes so long. */
function turnsOf(claims: readonly Claim[], startMs: number): string[][] {
  let nowMs = 0;
  const soon: (() => void)[] = [];
  const turns: string[][] = [];
  const arrivals = new Arrivals({
    clock: { monotonicMs: () => nowMs, soon: (turn) => void soon.push(turn) },
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
