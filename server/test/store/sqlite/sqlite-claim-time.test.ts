// A claim is bounded in time: what it has no time for is left to the next one, which begins with another account. The clock
// of these claims goes on by one millisecond for each time it is read.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { NewMessage } from '../../../src/rules/delivery/message.ts';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import { createVerbs } from '../../../src/store/sqlite/thread/verbs.ts';
import { ACCOUNT, KEYS, limits, message, NOW, OTHER_ACCOUNT as OTHER } from '../../conformance/given.ts';

const MANY = 1000;

function open(t: TestContext) {
  const database = openDatabase(':memory:');
  t.after(() => database.close());
  let nowMs = 0;
  const verbs = createVerbs(database, () => {
    nowMs += 1;
    return nowMs;
  });
  for (const id of [ACCOUNT, OTHER]) verbs.createAccount({ id, name: id, tier: 'free', createdAt: NOW }, KEYS);
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
    return verbs.claim({ node: 'nod_a', now, limits: free, leasePrefix: `lease${calls}` });
  };
  const countOf = (state: string) =>
    database.get<{ n: number }>('SELECT count(*) AS n FROM messages WHERE state = ?', state)!.n;
  return { accept, acceptEach, claim, countOf };
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
