// The transaction that the batches of several lanes share: how its time is divided, with a clock that the test moves.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { NO_SLOTS } from '../../../src/rules/delivery/slots.ts';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import {
  chooseBatches,
  SharedTransactions,
  TRANSACTION_MS,
} from '../../../src/store/sqlite/thread/shared-transaction.ts';
import { type Command, createVerbs, type Reply } from '../../../src/store/sqlite/thread/verbs.ts';
import { ACCOUNT, KEYS, message, NOW } from '../../conformance/given.ts';

/** The clock of these transactions goes on by one for each time it is read. */
function open(t: TestContext, msOf: () => number = () => 1) {
  const database = openDatabase(':memory:');
  t.after(() => database.close());
  const verbs = createVerbs(database);
  verbs.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  let nowMs = 0;
  const { mock } = t.mock.method(database, 'transaction');
  const shared = new SharedTransactions(database, verbs, () => {
    nowMs += msOf();
    return nowMs;
  });
  return { shared, database, transactions: () => mock.callCount() };
}

const accept = (): Command => ({
  verb: 'accept',
  args: [{ messages: [message()], leases: [], node: 'nod_a', now: NOW, dayMax: null }],
});
const look: Command = { verb: 'storedTime', args: [] };
const claim: Command = {
  verb: 'claim',
  args: [{ limits: NO_SLOTS, parked: null, leasePrefix: 'nod_a.1', node: 'nod_a', now: NOW }],
};
const isDone = (reply: Reply) => 'value' in reply;
const batch = (count: number) => Array.from({ length: count }, accept);

test('a transaction that takes too long puts the rest of the accounts’ commands off, and runs those of the node', (t) => {
  const { shared, database, transactions } = open(t);
  const commands = [...batch(500), look, ...batch(500), look];
  const [ran] = shared.run([commands]);
  const done = ran!.replies.filter(isDone).length;
  assert.equal(done, 2 * TRANSACTION_MS + 2);
  assert.ok(isDone(ran!.replies[500]!) && isDone(ran!.replies.at(-1)!));
  assert.ok(ran!.replies.slice(0, done - 2).every(isDone), 'the first ones');
  assert.equal(transactions(), 1);
  assert.equal(database.get<{ n: number }>('SELECT count(*) AS n FROM messages')!.n, done - 2);
  assert.equal(ran!.took!.commandsUs.filter((us) => us > 0).length, done);
});

test('four lanes share one transaction: each gets an equal part of its time, whatever the others have', (t) => {
  const { shared, transactions } = open(t);
  const lanes = [batch(500), batch(500), [look, accept()], batch(500)];
  const ran = shared.run(lanes);
  assert.equal(transactions(), 1);
  assert.deepEqual(
    ran.map(({ replies }) => replies.length),
    [500, 500, 2, 500],
  );
  assert.ok(ran[2]!.replies.every(isDone), 'the lane with little has all of it done');
  const parts = [0, 1, 3].map((lane) => ran[lane]!.replies.filter(isDone).length);
  assert.deepEqual(parts, Array(3).fill((2 * TRANSACTION_MS) / 4));
});

test('a command that takes longer than all of it runs alone, and one of each lane always runs', (t) => {
  const { shared } = open(t, () => 1000);
  const ran = shared.run([batch(3), batch(3)]);
  assert.deepEqual(
    ran.map(({ replies }) => replies.map(isDone)),
    [
      [true, false, false],
      [true, false, false],
    ],
  );
});

test('while commits take long, a transaction takes as long', (t) => {
  let isCommit = false;
  const { shared } = open(t, () => (isCommit ? 10 * TRANSACTION_MS : 1));
  isCommit = true;
  shared.run([[look]]);
  isCommit = false;
  const [ran] = shared.run([batch(500)]);
  assert.equal(ran!.replies.filter(isDone).length, 2 * 10 * TRANSACTION_MS);
});

test('one commit that took long among others does not make a transaction longer', (t) => {
  let isCommit = false;
  const { shared } = open(t, () => (isCommit ? 10 * TRANSACTION_MS : 1));
  shared.run([[look]]);
  isCommit = true;
  shared.run([[look]]);
  isCommit = false;
  const [ran] = shared.run([batch(500)]);
  assert.equal(ran!.replies.filter(isDone).length, 2 * TRANSACTION_MS);
});

test('what was short is not told', (t) => {
  const { shared } = open(t, () => 0.5);
  assert.equal(shared.run([batch(3)])[0]!.took, null);
});

const many = (count: number): Command => ({
  verb: 'accept',
  args: [
    { messages: Array.from({ length: count }, () => message()), leases: [], node: 'nod_a', now: NOW, dayMax: null },
  ],
});

test('a lane with a long command does not share a transaction with the others, and takes turns with them', () => {
  const lanes = [[many(201)], [accept()], [many(500)], [look]];
  assert.deepEqual(chooseBatches(lanes), { chosen: [1, 3], kind: 'short' });
  assert.deepEqual(chooseBatches(lanes, ['short']), { chosen: [0], kind: 'long' });
  assert.deepEqual(chooseBatches([[many(201)], [many(201)]]), { chosen: [0], kind: 'long' });
  assert.deepEqual(chooseBatches([[many(200)], batch(500), [look]], ['short']), { chosen: [0, 1, 2], kind: 'short' });
  assert.deepEqual(chooseBatches([[many(500)]]), { chosen: [0], kind: 'long' });
});

test('a claim that takes long does not share a transaction with other lanes, unless a commit takes twice as long', (t) => {
  const lanes = [[claim], [accept()], [accept(), claim]];
  assert.deepEqual(chooseBatches(lanes), { chosen: [0, 1, 2], kind: 'short' });
  assert.deepEqual(chooseBatches(lanes, [], true), { chosen: [1], kind: 'short' });
  assert.deepEqual(chooseBatches(lanes, ['short'], true), { chosen: [0], kind: 'claim' });
  // Claims of some lanes, long commands of others, and short ones come in turn.
  const mixed = [[many(500)], [many(500)], [claim], [accept()]];
  assert.deepEqual(chooseBatches(mixed, ['short', 'long'], true), { chosen: [2], kind: 'claim' });
  assert.deepEqual(chooseBatches(mixed, ['claim', 'short'], true), { chosen: [3], kind: 'short' });
  assert.deepEqual(chooseBatches(mixed, ['short', 'claim'], true), { chosen: [0], kind: 'long' });
  assert.deepEqual(chooseBatches(mixed.slice(0, 3), ['long', 'claim'], true), { chosen: [2], kind: 'claim' });
  let msOf = 0;
  const { shared } = open(t, () => msOf);
  assert.equal(shared.areClaimsLong, false);
  msOf = 1;
  assert.ok(shared.run([[claim]])[0]!.replies.every(isDone));
  assert.equal(shared.areClaimsLong, false, 'it was short');
  // The clock is read for the claim, some times within it, and for the commit.
  msOf = 2;
  shared.run([[claim]]);
  assert.equal(shared.areClaimsLong, true);
});

test('what a commit takes longer than others is charged to those who wrote much', (t) => {
  let msOf = 0;
  const { shared } = open(t, () => msOf);
  const large = (): Command => ({
    verb: 'accept',
    args: [{ ...(accept().args[0] as object), messages: [message({ body: Buffer.alloc(1_000_000) })] }] as never,
  });
  shared.run([[look]]);
  // Every reading of the clock is so much later: one for each command, and one for the commit.
  msOf = 10;
  const [ran] = shared.run([[large(), accept(), look]]);
  const [ofLarge, ofSmall, ofNode] = ran!.took!.commandsUs;
  assert.ok(ofLarge! > 10_000 + 9_500, `${ofLarge}`);
  assert.ok(ofSmall! < 10_000 + 100 && ofNode! < 10_000 + 100, `${ofSmall} ${ofNode}`);
});

test('a small message is not charged for a commit that took long for another reason', (t) => {
  let msOf = 0;
  const { shared } = open(t, () => msOf);
  shared.run([[look]]);
  msOf = 500;
  const [ran] = shared.run([[accept(), look]]);
  assert.equal(ran!.took!.commandsUs[0], 500_100);
});
