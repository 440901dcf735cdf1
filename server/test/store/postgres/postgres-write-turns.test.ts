// Groups of accepts and of settlements on PostgreSQL: written in turn while a node is busy, so that they are larger, and
// at once if it has little to do.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Committer } from '../../../src/store/postgres/groups/committer.ts';
import {
  BUSY_MESSAGES_MIN as BUSY,
  WAIT_MS_MAX,
  WAIT_TIMES_MAX,
  WriteTurns,
} from '../../../src/store/postgres/groups/write-turns.ts';
import { NOW } from '../../conformance/given.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const TOOK_MS = 10;

interface Group {
  readonly text: string;
  readonly end: () => void;
}

let clock: ManualClock;
let turns: WriteTurns;
/** In the order in which they began, with those that have ended. */
let groups: Group[];
let accepts: Committer<number, null>;
let settles: Committer<number, null>;

function committer(name: string, isAwaited = true): Committer<number, null> {
  return new Committer({
    run: async (commands) => {
      const ended = Promise.withResolvers<void>();
      groups.push({ text: `${name} ${commands.reduce((sum, messages) => sum + messages)}`, end: ended.resolve });
      await ended.promise;
      return commands.map(() => null);
    },
    sizeOf: () => 0,
    sizeMax: 1,
    inTurn: { turns, messagesOf: (messages) => messages, isAwaited: () => isAwaited },
    nowMs: () => clock.monotonicMs(),
    onCommit: () => {},
  });
}

beforeEach(() => {
  clock = new ManualClock(NOW);
  turns = new WriteTurns(clock);
  groups = [];
  accepts = committer('accept');
  settles = committer('settle');
});

/** What has begun, after everything that needs no time. */
async function began(): Promise<string[]> {
  await new Promise((resolve) => setImmediate(resolve));
  return groups.map(({ text }) => text);
}

/** Lets the group that began at this place end, after as long as a group takes. */
async function end(at: number): Promise<string[]> {
  clock.advance(TOOK_MS);
  groups[at]!.end();
  return began();
}

/** A group of that many messages, written whole. */
async function written(by: Committer<number, null>, messages: number): Promise<void> {
  void by.call(messages);
  await end((await began()).length - 1);
}

test('two kinds of groups of a busy node are written in turn, and what comes meanwhile joins the next', async () => {
  await written(accepts, BUSY);
  await written(settles, BUSY);
  void accepts.call(BUSY);
  await began();
  void settles.call(BUSY);
  void settles.call(1);
  assert.deepEqual((await began()).slice(2), [`accept ${BUSY}`]);
  void settles.call(1);
  void accepts.call(BUSY);
  void accepts.call(1);
  // The accepts were asked for before the accept ended, but it is the settlements' turn.
  assert.deepEqual((await end(2)).slice(3), [`settle ${BUSY + 2}`]);
  void accepts.call(1);
  assert.deepEqual((await end(3)).slice(4), [`accept ${BUSY + 2}`]);
});

test('a group of a node with little to do is written at once, beside another', async () => {
  await written(accepts, BUSY - 1);
  void settles.call(BUSY);
  void accepts.call(1);
  assert.deepEqual((await began()).slice(1), [`settle ${BUSY}`, 'accept 1']);
});

test('a large group that ended a while ago does not make a node busy', async () => {
  await written(accepts, BUSY);
  clock.advance(WAIT_TIMES_MAX * TOOK_MS + 1);
  void settles.call(BUSY);
  await began();
  void accepts.call(1);
  assert.deepEqual((await began()).slice(1), [`settle ${BUSY}`, 'accept 1']);
});

test('a group that hangs delays one of the other kind for a few times as long as that takes', async () => {
  await written(accepts, BUSY);
  void settles.call(BUSY);
  await began();
  void accepts.call(1);
  await began();
  clock.advance(WAIT_TIMES_MAX * TOOK_MS - 1);
  assert.deepEqual((await began()).slice(1), [`settle ${BUSY}`]);
  clock.advance(1);
  assert.deepEqual((await began()).slice(1), [`settle ${BUSY}`, 'accept 1']);
  // The turns go on when it ends after all.
  void accepts.call(BUSY);
  assert.equal((await end(1)).length, 3);
  assert.deepEqual((await end(2)).slice(3), [`accept ${BUSY}`]);
});

test('a group that hung does not make the next ones wait as long', async () => {
  void accepts.call(BUSY);
  await began();
  clock.advance(60_000);
  await end(0);
  void settles.call(BUSY);
  await began();
  void accepts.call(1);
  await began();
  clock.advance(WAIT_MS_MAX);
  assert.deepEqual((await began()).slice(1), [`settle ${BUSY}`, 'accept 1']);
});

test('nobody waits for a transaction that may wait for a queue', async () => {
  const inLine = committer('settle in line', false);
  await written(accepts, BUSY);
  void inLine.call(BUSY);
  await began();
  void accepts.call(1);
  assert.deepEqual((await began()).slice(1), [`settle in line ${BUSY}`, 'accept 1']);
});

test('a group that fails gives its turn on', async () => {
  await written(accepts, BUSY);
  const failed = Promise.withResolvers<readonly null[]>();
  const failing = new Committer<number, null>({
    run: () => failed.promise,
    sizeOf: () => 0,
    sizeMax: 1,
    inTurn: { turns, messagesOf: (messages) => messages, isAwaited: () => true },
    nowMs: () => clock.monotonicMs(),
    onCommit: () => {},
  });
  const refused = assert.rejects(failing.call(1));
  await began();
  void accepts.call(1);
  assert.equal((await began()).length, 1);
  failed.reject(new Error('no'));
  await refused;
  assert.deepEqual((await began()).slice(1), ['accept 1']);
});
