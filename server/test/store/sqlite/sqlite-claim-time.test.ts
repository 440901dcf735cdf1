// A claim is bounded in time: what it has no time for is left to the next one, which begins with another account. The clock
// of most of these claims goes on by one millisecond for each time it is read.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { NewMessage } from '../../../src/rules/delivery/message.ts';
import { systemWorld } from '../../../src/runtime/world.ts';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import { createVerbs } from '../../../src/store/sqlite/thread/verbs.ts';
import { ACCOUNT, KEYS, limits, message, NOW, OTHER_ACCOUNT as OTHER } from '../../conformance/given.ts';

const { clock } = systemWorld();
const MANY = 1000;

function slowClock(): () => number {
  let nowMs = 0;
  return () => {
    nowMs += 1;
    return nowMs;
  };
}

function open(t: TestContext, nowMs = slowClock()) {
  const database = openDatabase(':memory:');
  t.after(() => database.close());
  const verbs = createVerbs(database, nowMs);
  const createAccount = (id: string) => verbs.createAccount({ id, name: id, tier: 'free', createdAt: NOW }, KEYS);
  createAccount(ACCOUNT);
  createAccount(OTHER);
  const accept = (accountId: string, count: number, dueAt: number) => {
    const messages = Array.from({ length: count }, () => message({ accountId, dueAt }));
    verbs.accept({ messages, leases: [], node: 'nod_a', now: NOW, dayMax: null });
  };
  const acceptEach = (count: number, some: (index: number) => Partial<NewMessage>) => {
    const messages = Array.from({ length: count }, (_, index) => message(some(index)));
    verbs.accept({ messages, leases: [], node: 'nod_a', now: NOW, dayMax: null });
  };
  let calls = 0;
  const claim = (now: number) => {
    calls += 1;
    const free = limits({ slots: MANY, sharedSlots: 10 * MANY, accountMax: MANY, hostMax: 10 * MANY });
    return verbs.claim({ node: 'nod_a', now, limits: free, parked: null, leasePrefix: `lease${calls}` });
  };
  const countOf = (state: string) =>
    database.get<{ n: number }>('SELECT count(*) AS n FROM messages WHERE state = ?', state)!.n;
  return { accept, acceptEach, claim, countOf, createAccount };
}

test('a claim whose time is up leaves the rest to the next one, which is wanted at once', (t) => {
  const { accept, claim, countOf } = open(t);
  accept(ACCOUNT, MANY, NOW);
  const { claims, hasMore, nextDueAt } = claim(NOW);
  assert.ok(claims.length > 0 && claims.length < MANY / 2, `${claims.length} claimed`);
  assert.equal(hasMore, true);
  assert.equal(nextDueAt, NOW);
  let all = claims.length;
  for (let more = claim(NOW); more.claims.length > 0; more = claim(NOW)) all += more.claims.length;
  assert.equal(all, MANY);
  assert.equal(countOf('ready'), 0);
});

test('of messages with large bodies a claim takes only a few', (t) => {
  const { acceptEach, claim } = open(t);
  const body = Buffer.alloc(1024 * 1024);
  acceptEach(40, () => ({ body, dueAt: NOW }));
  const counts: number[] = [];
  for (let more = claim(NOW).claims.length; more > 0; more = claim(NOW).claims.length) counts.push(more);
  assert.ok(Math.max(...counts) <= 10, `${counts}`);
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    40,
  );
});

test('the claim after it begins with another account', (t) => {
  const { accept, claim } = open(t);
  accept(ACCOUNT, MANY, NOW);
  accept(OTHER, 1, NOW);
  const served = [...claim(NOW).claims, ...claim(NOW).claims].map(({ message: { accountId } }) => accountId);
  assert.ok(served.includes(OTHER), `only ${new Set(served).size} account in two claims`);
});

test('due messages are made ready as long as there is time, a few of every account in any case', (t) => {
  const { accept, claim, countOf } = open(t);
  accept(ACCOUNT, MANY, NOW + 1000);
  accept(OTHER, 1, NOW + 1001);
  const { claims, nextDueAt } = claim(NOW + 2000);
  const promoted = claims.length + countOf('ready');
  assert.ok(promoted < MANY / 2, `${promoted} made ready by one claim`);
  assert.equal(nextDueAt, NOW + 2000);
  const second = claim(NOW + 2000);
  assert.ok([...claims, ...second.claims].some(({ message: { accountId } }) => accountId === OTHER));
  for (let more = 1; more > 0; more = claim(NOW + 2000).claims.length);
  assert.equal(countOf('delayed') + countOf('ready'), 0);
});

test('due queues and flow keys are started as long as there is time, and all of them in the end', (t) => {
  const { acceptEach, claim } = open(t);
  acceptEach(200, (index) => ({ queueName: `q${index}`, dueAt: NOW + 1000 }));
  acceptEach(200, (index) => ({
    flow: { key: `k${index}`, limits: { parallelism: 1, rate: null, periodMs: 1000 } },
    dueAt: NOW + 1000,
  }));
  const counts: number[] = [];
  // A flow key is found due by one claim and looked at by the next.
  for (let call = 0; call < 20; call += 1) counts.push(claim(NOW + 2000).claims.length);
  assert.ok(Math.max(...counts) < 200, `${counts}`);
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    400,
  );
});

/** Expired messages of one account at many hosts, and a message behind them. */
const expiredAtHosts = (hosts: number, each: number) => (index: number) => ({
  host: `h${index % hosts}.example`,
  dueAt: NOW,
  mustStartBefore: index < hosts * each ? NOW + 1 : null,
});

test('a claim that had time only for expired messages is followed by a pause, which grows', (t) => {
  const { acceptEach, claim } = open(t);
  acceptEach(200, expiredAtHosts(200, 1));
  const pauses: number[] = [];
  for (let call = 0; call < 8; call += 1) {
    const { claims, nextDueAt } = claim(NOW + 10);
    assert.deepEqual(claims, []);
    pauses.push(nextDueAt! - NOW - 10);
  }
  assert.deepEqual(pauses, [20, 40, 80, 160, 320, 640, 1000, 1000]);
});

test('with a real clock, claims that pass over many expired messages leave time for others and reach every account', (t) => {
  const { acceptEach, claim } = open(t, () => clock.monotonicMs());
  acceptEach(20_000, expiredAtHosts(400, 50));
  acceptEach(1, () => ({ accountId: OTHER, dueAt: NOW }));
  const startedAt = NOW + 10;
  let at = startedAt;
  let calls = 0;
  let served: string[] = [];
  for (; served.length === 0; calls += 1) {
    const { claims, nextDueAt } = claim(at);
    served = claims.map(({ message: { accountId } }) => accountId);
    if (served.length > 0) break;
    assert.ok(nextDueAt !== null && nextDueAt > at, 'it is wanted again at once, or never');
    at = nextDueAt;
  }
  assert.deepEqual(served, [OTHER]);
  assert.ok(calls < 100, `${calls} claims`);
  const { claims, nextDueAt } = claim(at);
  assert.deepEqual(claims, []);
  assert.ok(nextDueAt === null || nextDueAt > at);
});

test('a message behind expired ones of one of many accounts is found by one of the next claims', (t) => {
  const { acceptEach, claim, createAccount } = open(t, () => 0);
  const [accounts, each] = [100, 60];
  const idOf = (index: number) => `acc_${100 + index}`;
  for (let index = 0; index < accounts; index += 1) createAccount(idOf(index));
  const accountId = (index: number) => idOf(index % accounts);
  acceptEach(accounts * each, (index) => ({ accountId: accountId(index), dueAt: NOW, mustStartBefore: NOW + 1 }));
  acceptEach(1, () => ({ accountId: idOf(70), dueAt: NOW }));
  let calls = 1;
  for (; claim(NOW + 10).claims.length === 0; calls += 1)
    assert.ok(calls < 20, 'it waits for the end of the expired ones');
  assert.ok(calls > 1, 'one claim looks at all of them');
});
