// The task that ends attempts whose acks have not come: it looks at the right times, one attempt that cannot be ended
// keeps no other open, and it waits for no turn of an account.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AckKeeperOptions, ackKeeper } from '../../src/acks/ack-keeper.ts';
import { AckSecrets } from '../../src/acks/ack-secret.ts';
import { Acks } from '../../src/acks/acks.ts';
import { decideSettlement } from '../../src/rules/delivery/settle.ts';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import { type Store, StoreUnavailable } from '../../src/store/ports/store.ts';
import { ACCOUNT, answered, limits, message, NOW, RETENTION } from '../conformance/given.ts';
import { claimDue } from '../support/claim-due.ts';
import { Site } from './given-engine.ts';

const WAIT = 5000;
const END = NOW + WAIT;

interface Some {
  readonly store?: (store: Store) => Partial<Store>;
  readonly keeper?: Partial<AckKeeperOptions>;
}

async function given(some: Some = {}) {
  const site = await Site.open();
  const store = site.store('nod_a');
  const faults: unknown[] = [];
  const acks = new Acks({
    store: { ...store, ...some.store?.(store) },
    tiers: DEFAULT_TIERS,
    headerPrefix: 'Service-',
    newId: site.newId,
    now: () => END,
    secrets: new AckSecrets(''),
    onEnd: () => {},
    onProgress: () => {},
    onFault: (error) => faults.push(error),
  });
  const keeper = ackKeeper({ acks, isTimeRight: () => true, isByHand: false, ...some.keeper });
  const context = { headerPrefix: 'Service-', retentionMs: RETENTION, newId: site.newId, awaitAckMsMax: WAIT };
  /** The id of a message that was answered with 202 and has no retries. */
  const awaiting = async () => {
    const sent = message({ awaitAckMs: WAIT, retriesMax: 0 });
    await store.accept([sent], NOW);
    const [claim] = (await claimDue(store, NOW, limits({}))).claims;
    const end = { outcome: answered(202), startedAt: NOW, endedAt: NOW };
    assert.deepEqual(await store.settle([decideSettlement(claim!, end, context)], NOW), ['settled']);
    return sent.id;
  };
  const stateOf = async (id: string) => (await store.getMessage(ACCOUNT, id))!.message.state;
  return { store, keeper, faults, awaiting, stateOf };
}

test('it looks again at the next deadline, or after a second', async () => {
  const { keeper, awaiting } = await given();
  assert.equal(await keeper.run(NOW), 1000);
  const byHand = await given({ keeper: { isByHand: true } });
  assert.equal(await byHand.keeper.run(NOW), Number.POSITIVE_INFINITY);
  await awaiting();
  assert.equal(await keeper.run(END - 300), 300);
  assert.ok((await keeper.run(END)) < 10);
  assert.equal(await keeper.run(END), 1000);
});

test('an attempt that cannot be ended keeps no other open, and is tried less and less often', async () => {
  let bad = '';
  const { keeper, awaiting, stateOf, faults } = await given({
    store: ({ dueAttempt }) => ({
      dueAttempt: async (accountId, id) => {
        if (id === bad) throw new Error('a part of the store cannot be read');
        return dueAttempt(accountId, id);
      },
    }),
  });
  const [one, two] = [await awaiting(), await awaiting()];
  bad = one;
  await keeper.run(END);
  assert.deepEqual([await stateOf(one), await stateOf(two), faults.length], ['claimed', 'failed', 1]);
  const pauses = [await keeper.run(END), await keeper.run(END)];
  assert.ok(pauses[1]! > pauses[0]!, String(pauses));
  bad = '';
  await keeper.run(END);
  assert.equal(await stateOf(one), 'failed');
});

test('a store that cannot be used ends the look', async () => {
  const { keeper, awaiting, faults } = await given({
    store: () => ({ settle: () => Promise.reject(new StoreUnavailable('full', 'the disk is full')) }),
  });
  await awaiting();
  await assert.rejects(keeper.run(END), /the disk is full/);
  assert.deepEqual(faults, []);
});

test('it waits for no turn of an account that has asked for much', async () => {
  const never = () => new Promise<never>(() => {});
  const { keeper, awaiting, stateOf } = await given({ store: () => ({ openAttempt: never, getMessage: never }) });
  const id = await awaiting();
  await keeper.run(END);
  assert.equal(await stateOf(id), 'failed');
});

test('while the time is off, it ends only what was cancelled', async () => {
  const { store, keeper, awaiting, stateOf } = await given({ keeper: { isTimeRight: () => false } });
  const [open, cancelled] = [await awaiting(), await awaiting()];
  await store.cancel(ACCOUNT, [cancelled], NOW, NOW + RETENTION);
  await keeper.run(END);
  assert.deepEqual([await stateOf(open), await stateOf(cancelled)], ['claimed', 'cancelled']);
  assert.equal(await keeper.run(END), 1000);
});
