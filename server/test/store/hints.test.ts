// When a node tells the others of work and of news: the first at once, what follows soon together, and work never
// waits for the pace of news.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hints } from '../../src/store/hints.ts';
import { ManualClock } from '../support/manual-clock.ts';

function started() {
  const clock = new ManualClock(0);
  const said: string[] = [];
  const hints = new Hints('a', clock, (payload) => void said.push(payload));
  return { clock, hints, saidNow: () => said.splice(0) };
}

test('news are told at once, and then ten times a second', () => {
  const { clock, hints, saidNow } = started();
  hints.news();
  assert.deepEqual(saidNow(), ['a n']);
  for (let each = 0; each < 20; each += 1) {
    hints.news();
    clock.advance(10);
  }
  assert.deepEqual(saidNow(), ['a n', 'a n']);
});

test('work does not wait for the pace of news, and takes the news with it', () => {
  const { clock, hints, saidNow } = started();
  hints.news();
  hints.news();
  hints.work();
  assert.deepEqual(saidNow(), ['a n', 'a wn']);
  hints.work();
  clock.advance(20);
  assert.deepEqual(saidNow(), ['a w']);
  clock.advance(1000);
  assert.deepEqual(saidNow(), []);
});

test('a node that is closed tells nothing more', () => {
  const { clock, hints, saidNow } = started();
  for (let each = 0; each < 2; each += 1) {
    hints.news();
    hints.access();
  }
  assert.deepEqual(saidNow(), ['a n', 'a a']);
  hints.close();
  clock.advance(1000);
  assert.deepEqual(saidNow(), []);
});
