// What people see while a move is under way, on a terminal and in a log.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MoveProgress } from '../../server/src/node/main.ts';
import { ManualClock } from '../../server/test/support/manual-clock.ts';
import { MoveMeter } from '../src/service/move-meter.ts';

function watched(isTTY: boolean, columns?: number) {
  const written: string[] = [];
  const clock = new ManualClock(0);
  const out = { isTTY, ...(columns !== undefined && { columns }), write: (text: string) => written.push(text) };
  const meter = new MoveMeter(out, clock);
  const show = (done: number, afterMs: number, phase: MoveProgress['phase'] = 'copying') => {
    clock.advance(afterMs);
    meter.show({ phase, table: 'messages', done, total: 1000 });
  };
  return { written, meter, show };
}

test('a log gets a line at the start of each phase and then every five seconds', () => {
  const { written, show } = watched(false);
  show(100, 0);
  show(200, 1000);
  show(300, 4000);
  show(301, 10);
  show(0, 10, 'comparing');
  assert.deepEqual(written, [
    'copying 10 % · 100 of 1000 rows · messages\n',
    'copying 30 % · 300 of 1000 rows · 40 rows/s · 18 s left · messages\n',
    'comparing 0 % · 0 of 1000 rows · messages\n',
  ]);
});

test('a terminal gets one line, as wide as the terminal, that is overwritten and removed at the end', () => {
  const { written, meter, show } = watched(true, 60);
  show(0, 0);
  show(1, 50);
  show(500, 8950);
  meter.end();
  meter.end();
  assert.deepEqual(written, [
    '\r\u001b[K[------------------------] copying 0 % · 0 of 1000 rows · m',
    '\r\u001b[K[############------------] copying 50 % · 500 of 1000 rows ',
    '\r\u001b[K',
  ]);
});

test('the remaining time is shown in hours and minutes, and a terminal without a width counts as wide', () => {
  const { written, show } = watched(true, 0);
  show(0, 0);
  show(1, 30_000);
  show(2, 2000);
  assert.match(written[1]!, / · 0 rows\/s · 8 h 19 min left · messages$/);
  assert.match(written[2]!, / left · messages$/);
});
