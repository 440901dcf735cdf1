// The task that ends expired messages: it looks at the right times, ends many in pieces, and one that cannot be ended keeps
// nobody waiting.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import { type Store, StoreUnavailable } from '../../src/store/ports/store.ts';
import { type ExpiryOptions, expiryKeeper } from '../../src/upkeep/expiry.ts';
import { ACCOUNT, callbackTo, message, messages, NOW } from '../conformance/given.ts';
import { Site } from './given-engine.ts';

const END = NOW + 5000;

async function given(some: (store: Store) => Partial<ExpiryOptions> = () => ({})) {
  const site = await Site.open();
  const store = site.store('nod_a');
  const faults: string[] = [];
  const keeper = expiryKeeper({
    store,
    tiers: DEFAULT_TIERS,
    newId: site.newId,
    onFault: (id) => faults.push(id),
    ...some(store),
  });
  const stateOf = async (id: string) => (await store.getMessage(ACCOUNT, id))!.message.state;
  return { store, keeper, faults, stateOf };
}

test('it looks again at the next expiry, or after a second', async () => {
  const { store, keeper } = await given();
  assert.equal(await keeper.run(NOW), 1000);
  await store.accept([message({ dueAt: END, mustStartBefore: END })], NOW);
  assert.equal(await keeper.run(NOW), 1000);
  assert.equal(await keeper.run(END - 300), 300);
});

test('with a clock that is moved by hand, it waits for the next expiry alone', async () => {
  const { store, keeper } = await given(() => ({ isByHand: true }));
  assert.equal(await keeper.run(NOW), Number.POSITIVE_INFINITY);
  await store.accept(messages(450, { dueAt: END, mustStartBefore: END }), NOW);
  assert.equal(await keeper.run(NOW), 5000);
  assert.deepEqual([await keeper.run(END), await keeper.run(END), await keeper.run(END)], [0, 0, 0]);
  assert.equal(await keeper.run(END), Number.POSITIVE_INFINITY);
});

test('many are ended in pieces, with a short pause', async () => {
  const { store, keeper } = await given();
  await store.accept(messages(450, { dueAt: END, mustStartBefore: END }), NOW);
  for (let piece = 0; piece < 3; piece += 1) assert.ok((await keeper.run(END)) < 10);
  assert.equal(await keeper.run(END), 1000);
  const { states } = await store.countPiece(ACCOUNT, {}, 1000, null);
  assert.equal(states.FAILED, 450);
});

test('a node whose time is off ends nothing', async () => {
  const { store, keeper, stateOf } = await given(() => ({ isTimeRight: () => false }));
  const sent = message({ dueAt: END, mustStartBefore: END });
  await store.accept([sent], NOW);
  assert.equal(await keeper.run(END), 1000);
  assert.equal(await stateOf(sent.id), 'pending');
});

test('one that cannot be written is tried alone, and the others end', async () => {
  const bad = message({ dueAt: END, mustStartBefore: END });
  const { store, keeper, faults, stateOf } = await given(({ dueExpiries, getAccount, expireMessages }) => ({
    store: {
      dueExpiries,
      getAccount,
      expireMessages: async (expirations, now) => {
        if (expirations.some(({ messageId }) => messageId === bad.id)) throw new Error('it cannot be written');
        return expireMessages(expirations, now);
      },
    },
  }));
  const good = messages(3, { dueAt: END, mustStartBefore: END });
  await store.accept([...good, bad], NOW);
  await keeper.run(END);
  assert.deepEqual(faults, [bad.id]);
  for (const { id } of good) assert.equal(await stateOf(id), 'failed');
  assert.equal(await stateOf(bad.id), 'pending');
});

test('while nothing can be written, it tries again after growing pauses', async () => {
  let isBroken = true;
  const { store, keeper, faults } = await given(({ dueExpiries, getAccount, expireMessages }) => ({
    store: {
      dueExpiries,
      getAccount,
      expireMessages: async (expirations, now) => {
        if (isBroken) throw new Error('it cannot be written');
        return expireMessages(expirations, now);
      },
    },
  }));
  const accept = () => store.accept([message({ dueAt: END, mustStartBefore: END })], NOW);
  await accept();
  const pauses: number[] = [];
  for (let time = 0; time < 10; time += 1) pauses.push(await keeper.run(END));
  assert.deepEqual(pauses, [20, 40, 80, 160, 320, 640, 1280, 2560, 5000, 5000]);
  assert.equal(faults.length, 10);
  isBroken = false;
  await keeper.run(END);
  isBroken = true;
  await accept();
  assert.equal(await keeper.run(END), 20);
});

test('on a full disk it ends as many as there is room for, and reports that', async () => {
  let room = 2;
  const { store, keeper, stateOf } = await given(({ dueExpiries, getAccount, expireMessages }) => ({
    store: {
      dueExpiries,
      getAccount,
      expireMessages: async (expirations, now) => {
        if (expirations.length > room) throw new StoreUnavailable('full', 'the disk is full');
        room -= expirations.length;
        return expireMessages(expirations, now);
      },
    },
  }));
  const sent = messages(3, { dueAt: END, mustStartBefore: END });
  await store.accept(sent, NOW);
  await assert.rejects(keeper.run(END), StoreUnavailable);
  const states = await Promise.all(sent.map(({ id }) => stateOf(id)));
  assert.deepEqual(states.filter((state) => state === 'failed').length, 2);
  room = 10;
  await keeper.run(END);
  for (const { id } of sent) assert.equal(await stateOf(id), 'failed');
});

test('a callback that cannot be made is left out, and the message ends', async () => {
  const { store, keeper, faults, stateOf } = await given();
  const failureCallback = callbackTo('not a URL');
  const sent = message({ dueAt: END, mustStartBefore: END, failureCallback });
  await store.accept([sent], NOW);
  await keeper.run(END);
  assert.deepEqual(faults, [sent.id]);
  assert.equal(await stateOf(sent.id), 'failed');
});
