// Lists, searches and counts are shared: so many run or wait on a node, an account has its share of them, and whoever
// else asks waits for a bounded amount of foreign work.

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { before, suite, test } from 'node:test';
import { ApiError } from '../../../src/inbound/api/errors.ts';
import { type AdmittedRead, ReadGate } from '../../../src/inbound/api/read-gate.ts';
import { BUDGETS } from '../../../src/rules/limits/budgets.ts';
import { type Rider, sharedRider } from '../../support/harness.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { waitFor } from '../../support/wait.ts';
import { holdVerb } from './held-verb.ts';
import { poolUsed } from './pools.ts';

const READS_MAX = BUDGETS.reads.node as number;
const ANSWERS_MAX = BUDGETS.answerBytes.node as number;
const PAGE_BYTES = BUDGETS.pageBytes.each!;
/** So many answers of one account have room, as long as nobody knows how large they are. */
const ANSWERS_AT_ONCE = ANSWERS_MAX / 2 / PAGE_BYTES;

/** As much of a response as the gate looks at. */
class FakeResponse extends EventEmitter {
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

const response = () => new FakeResponse() as unknown as ServerResponse & FakeResponse;
/** All of it is read; it is being written. */
function answered(visit: AdmittedRead): void {
  visit.keep(PAGE_BYTES);
  visit.done();
}
const refusedAs = (code: string) => (error: unknown) => error instanceof ApiError && error.problem.code === code;

test('an account has its share of the reads, another finds room, and what has ended leaves nothing behind', async () => {
  const gate = new ReadGate(new ManualClock(0));
  const greedy = Array.from({ length: READS_MAX / 2 }, response);
  const entered = greedy.map((each) => gate.enter('greedy', each));
  await assert.rejects(gate.enter('greedy', response()), refusedAs('share_used'));
  const own = response();
  const visit = await gate.enter('other', own);
  visit.keep(1000);
  visit.done();
  own.destroy();
  for (const each of greedy) each.destroy();
  for (const each of await Promise.allSettled(entered)) if (each.status === 'fulfilled') each.value.done();
  assert.deepEqual([gate.reads.used, gate.answers.used], [0, 0]);
});

test('answers that nobody reads hold the share of their account, and no more; the next read of it waits', async () => {
  const gate = new ReadGate(new ManualClock(0));
  const slow = Array.from({ length: ANSWERS_MAX / 2 / PAGE_BYTES }, response);
  for (const each of slow) answered(await gate.enter('slow', each));
  let isNextIn = false;
  const next = gate.enter('slow', response()).then(() => {
    isNextIn = true;
  });
  const other = await gate.enter('other', response());
  other.keep(PAGE_BYTES);
  assert.equal(isNextIn, false);
  // Two, because the other account has taken of what was free as well.
  for (const each of slow.slice(0, 2)) each.destroy();
  await next;
  assert.ok(gate.answers.used <= ANSWERS_MAX);
});

test('a caller that takes nothing of its answer for half a minute is let go; one that does is not', async () => {
  const clock = new ManualClock(0);
  const gate = new ReadGate(clock);
  const [deaf, slow] = [response(), response()];
  answered(await gate.enter('a', deaf));
  const visit = await gate.enter('a', slow);
  answered(visit);
  for (let n = 0; n < 3; n += 1) {
    clock.advance(20_000);
    visit.hasProgressed();
  }
  assert.deepEqual([deaf.destroyed, slow.destroyed], [true, false]);
  slow.destroy();
  assert.deepEqual([gate.reads.used, gate.answers.used], [0, 0]);
});

test('a caller that goes away while it waits leaves its place', async () => {
  const gate = new ReadGate(new ManualClock(0));
  const slow = Array.from({ length: ANSWERS_MAX / 2 / PAGE_BYTES }, response);
  for (const each of slow) answered(await gate.enter('slow', each));
  const gone = response();
  const entering = gate.enter('slow', gone);
  gone.destroy();
  await assert.rejects(entering, refusedAs('bad_request'));
  for (const each of slow) each.destroy();
  assert.deepEqual([gate.reads.used, gate.answers.used], [0, 0]);
});

test('a read whose caller has hung up counts until the store has answered it', async () => {
  const gate = new ReadGate(new ManualClock(0));
  const gone = response();
  const visit = await gate.enter('a', gone);
  gone.destroy();
  assert.deepEqual([gate.reads.used, gate.answers.used], [1, PAGE_BYTES]);
  visit.done();
  assert.deepEqual([gate.reads.used, gate.answers.used], [0, 0]);
});

suite('while an account asks for more than its share', () => {
  const shared = sharedRider();
  let rider: Rider;
  let other: string;
  const ATTACKS = 100;

  before(async () => {
    rider = shared();
    other = (await rider.account('other')).token;
    const elements = Array.from({ length: 500 }, () => ({
      destination: 'http://127.0.0.1:1/',
      headers: { 'Service-Delay': '1d' },
      body: 'x'.repeat(10_000),
    }));
    for (let n = 0; n < 2; n += 1) assert.equal((await rider.batch(elements)).status, 201);
    await rider.call('POST', '/v2/publish/http://127.0.0.1:1/', { token: other, headers: { 'Service-Delay': '1d' } });
  });

  test('it is refused with 429, and another account waits for few of its reads', async () => {
    let answered = 0;
    const attack = Array.from({ length: ATTACKS }, async () => {
      const answer = await rider.call('GET', '/v2/messages?text=nowhere&count=1000');
      answered += answer.status === 200 ? 1 : 0;
      return answer;
    });
    // As soon as one of them is done, the others are under way.
    await Promise.race(attack);
    for (let n = 0; n < 5; n += 1) {
      const before = answered;
      const { messages } = await rider.manage<{ messages: unknown[] }>('GET', '/v2/messages', undefined, other);
      assert.equal(messages.length, 1);
      assert.ok(answered - before <= 5, `${answered - before} foreign reads went before`);
    }
    const statuses = (await Promise.all(attack)).map(({ status, headers }) => [status, headers['retry-after']].join());
    assert.deepEqual([...new Set(statuses)].sort(), ['200,', '429,1']);
    assert.ok(statuses.filter((each) => each === '200,').length >= READS_MAX / 2);
    for (const pool of ['reads', 'answerBytes']) {
      await waitFor(`the pool ${pool} to be free`, async () => (await poolUsed(rider, pool)) === 0);
    }
  });

  test('and hangs up each time, no more of its reads than its share reach the store', async (t) => {
    const held = holdVerb(t, rider, 'searchMessages');
    const { hostname, port } = new URL(rider.url);
    const ask = `GET /v2/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${rider.token}\r\n\r\n`;
    for (let n = 0; n < ANSWERS_AT_ONCE + 5; n += 1) {
      const before = held.waiting();
      const socket = connect(Number(port), hostname);
      socket.write(ask);
      await waitFor(
        'the read to be under way, or to wait for memory',
        async () => held.waiting() > before || (await poolUsed(rider, 'reads')) > before,
      );
      socket.destroy();
    }
    assert.equal(held.waiting(), ANSWERS_AT_ONCE);
    held.letGo();
    await waitFor('the pool to be free', async () => (await poolUsed(rider, 'reads')) === 0);
  });
});
