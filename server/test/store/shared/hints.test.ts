// When a node tells the others of work and of news: the first at once, what follows soon together, and work never
// waits for the pace of news.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hints } from '../../../src/store/shared/hints.ts';
import { ManualClock } from '../../support/manual-clock.ts';

function started() {
  const clock = new ManualClock(0);
  const said: string[] = [];
  const hints = new Hints('a', clock, (payload) => void said.push(payload));
  // Somebody follows the news at another node.
  hints.hear('b f');
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

test('news that nobody has followed for a while are kept, and told when somebody begins to follow', () => {
  const { clock, hints, saidNow } = started();
  clock.advance(15_000);
  for (let each = 0; each < 20; each += 1) {
    hints.news();
    clock.advance(1000);
  }
  assert.deepEqual(saidNow(), []);
  hints.hear('b f');
  assert.deepEqual(saidNow(), ['a n']);
  hints.hear('b f');
  clock.advance(1000);
  assert.deepEqual(saidNow(), []);
});

test('work takes news with it that nobody follows', () => {
  const { clock, hints, saidNow } = started();
  clock.advance(15_000);
  hints.news();
  hints.work();
  assert.deepEqual(saidNow(), ['a wn']);
  clock.advance(1000);
  hints.hear('b f');
  assert.deepEqual(saidNow(), []);
});

test('a node at which somebody follows the news says so at once, and again with every heartbeat until nobody does', () => {
  const { hints, saidNow } = started();
  const alive = { count: 2, deliverers: ['b'] };
  hints.noteNodes(alive);
  assert.deepEqual(saidNow(), []);
  hints.follow(true);
  hints.follow(true);
  assert.deepEqual(saidNow(), ['a f']);
  hints.noteNodes(alive);
  assert.deepEqual(saidNow(), ['a f']);
  hints.follow(false);
  hints.noteNodes(alive);
  assert.deepEqual(saidNow(), []);
});

test('of many nodes two are asked to look for work, and the others do not; a node of an older version asks all', () => {
  const { clock, hints, saidNow } = started();
  hints.noteNodes({ count: 5, deliverers: ['b', 'c', 'd', 'e'] });
  for (const expected of ['a w b,c', 'a w d,e', 'a w b,c']) {
    hints.work();
    assert.deepEqual(saidNow(), [expected]);
    clock.advance(1000);
  }
  const work = { isWork: true, isNews: false, isAccess: false, isReserveGone: false };
  assert.deepEqual(hints.hear('b w c,a'), work);
  assert.deepEqual(hints.hear('b wn c,d'), { ...work, isWork: false, isNews: true });
  assert.deepEqual(hints.hear('b w'), work);
});

test('that the reserve is gone is told at once, and is nothing else to a node that does not know the word', () => {
  const { hints, saidNow } = started();
  hints.work();
  hints.reserveGone();
  assert.deepEqual(saidNow(), ['a w', 'a r']);
  assert.deepEqual(hints.hear('b r'), { isWork: false, isNews: false, isAccess: false, isReserveGone: true });
  assert.equal(hints.hear('a r'), null);
});
