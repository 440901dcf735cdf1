// An accept on PostgreSQL while a settlement is under way: it waits for the settlement only if no slot is free and the
// settlement frees one of its account at its host, and not longer than it may.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import pg from 'pg';
import { type Clock, systemWorld } from '../../../src/runtime/world.ts';
import { SLOT_WAIT_MS_MAX } from '../../../src/store/postgres/groups/slot-waits.ts';
import {
  ACCOUNT,
  KEYS,
  limits,
  message,
  NOW,
  OK,
  OTHER_ACCOUNT,
  type SomeLimits,
  settlementOf,
} from '../../conformance/given.ts';
import { Node } from '../../conformance/harness.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';

const PATIENCE = { timeout: 60_000 };

type Query = (this: pg.Client, ...args: unknown[]) => Promise<unknown>;
const client = pg.Client.prototype as unknown as { query: Query };
const { query } = client;

/** What ends the waits for a settlement, when the test says so and not before. */
const waits = new Set<() => void>();
function endPatience(): void {
  for (const end of [...waits]) end();
}
const { clock } = systemWorld();
const timers: Clock = {
  ...clock,
  after(ms, fire) {
    if (ms !== SLOT_WAIT_MS_MAX) return clock.after(ms, fire);
    const end = () => {
      waits.delete(end);
      fire();
    };
    waits.add(end);
    return () => void waits.delete(end);
  },
};

let letGo = () => {};
let database = '';
let a: Node;

before(async () => {
  const server = await sharedServer();
  database = await server.createDatabase();
  const options = { knownForMs: 0, url: server.url(database), node: 'nod_a', timers };
  a = new Node('nod_a', await openPatiently(options));
  await a.store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  await a.store.createAccount({ id: OTHER_ACCOUNT, name: 'other', tier: 'free', createdAt: NOW }, KEYS);
});

beforeEach(async () => {
  // What the test before left.
  const claims = await a.claims(NOW);
  await a.store.settle(
    claims.map((claim) => settlementOf(claim, OK, NOW)),
    NOW,
  );
});

afterEach(() => {
  client.query = query;
  letGo();
});

after(async () => {
  await a.store.close();
  await (await sharedServer()).dropDatabase(database);
});

/** Holds the next settlement back, or what else has `part` in its text. Answers when it was asked for. */
function hold(part: string) {
  const asked = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  client.query = async function (...args) {
    const text = typeof args[0] === 'string' ? args[0] : (args[0] as { text?: string }).text;
    if (!text?.includes(part)) return query.apply(this, args);
    client.query = query;
    asked.resolve();
    await held.promise;
    return query.apply(this, args);
  };
  letGo = held.resolve;
  return { asked: asked.promise, fail: held.reject };
}

/**
 * Settles one message, holds the settlement back and accepts another message meanwhile, when this is free. Then ten
 * slots are on offer.
 */
async function acceptBesideSettlement(
  free: SomeLimits,
  accepted = message(),
  meanwhile = async (): Promise<unknown> => null,
) {
  await a.claims(NOW);
  await a.store.accept([message()], NOW);
  const claim = await a.claimOne(NOW);
  await a.claims(NOW, free);
  const { asked, fail } = hold('INSERT INTO attempts');
  const ended: string[] = [];
  const settling = a.store.settle([settlementOf(claim, OK, NOW)], NOW).then(
    () => {
      ended.push('settled');
      a.store.offer(limits({ slots: 10 }));
    },
    () => ended.push('not settled'),
  );
  await asked;
  await meanwhile();
  const accepting = a.store.accept([accepted], NOW).then(() => ended.push('accepted'));
  return { ended, fail, accepting, both: Promise.all([settling, accepting]) };
}

/** As much as an accept needs, several times over. */
async function givenTime(): Promise<void> {
  for (let each = 0; each < 10; each += 1) await a.store.getMessage(ACCOUNT, 'msg_none');
}

test('while no slot is free, an accept waits for the settlement that frees some, and takes one', PATIENCE, async () => {
  const accepted = message();
  const { ended, both } = await acceptBesideSettlement({ slots: 0 }, accepted);
  await givenTime();
  assert.deepEqual(ended, []);
  letGo();
  await both;
  assert.deepEqual(ended, ['settled', 'accepted']);
  assert.equal(await a.stateOf(accepted), 'claimed');
});

test('an accept of an account for which the settlement frees no slot does not wait', PATIENCE, async () => {
  const { ended, accepting, both } = await acceptBesideSettlement({ slots: 0 }, message({ accountId: OTHER_ACCOUNT }));
  await accepting;
  assert.deepEqual(ended, ['accepted']);
  letGo();
  await both;
});

test('an accept to a host at which the settlement frees no slot does not wait', PATIENCE, async () => {
  const full = message({ host: 'full.example:443' });
  const { ended, accepting, both } = await acceptBesideSettlement({ hostMax: 1, hostsBusy: [[full.host, 1]] }, full);
  await accepting;
  assert.deepEqual(ended, ['accepted']);
  letGo();
  await both;
});

test('an accept to a host at which the settlement frees a slot waits for it', PATIENCE, async () => {
  const accepted = message();
  const { ended, both } = await acceptBesideSettlement({ hostMax: 1, hostsBusy: [[accepted.host, 1]] }, accepted);
  await givenTime();
  assert.deepEqual(ended, []);
  letGo();
  await both;
  assert.deepEqual(ended, ['settled', 'accepted']);
});

test('on a node that others may take for dead, which leases nothing, an accept does not wait', PATIENCE, async (t) => {
  t.after(() => a.store.heartbeat('nod_a', 3_600_000));
  const { ended, accepting, both } = await acceptBesideSettlement({ slots: 0 }, message(), () =>
    a.store.heartbeat('nod_a', 0),
  );
  await accepting;
  assert.deepEqual(ended, ['accepted']);
  letGo();
  await both;
});

test('while slots are free, an accept waits for no settlement', PATIENCE, async () => {
  const { ended, accepting, both } = await acceptBesideSettlement({ slots: 10 });
  await accepting;
  assert.deepEqual(ended, ['accepted']);
  letGo();
  await both;
});

test('a settlement that hangs keeps no accept waiting for long, and none that comes after', PATIENCE, async () => {
  const { ended, accepting, both } = await acceptBesideSettlement({ slots: 0 });
  await givenTime();
  assert.deepEqual(ended, []);
  endPatience();
  await accepting;
  await a.store.accept([message()], NOW);
  assert.deepEqual(ended, ['accepted']);
  letGo();
  await both;
});

test('a settlement that fails fails no accept', PATIENCE, async () => {
  const { ended, fail, both } = await acceptBesideSettlement({ slots: 0 });
  fail(Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03', severity: 'ERROR' }));
  await both;
  assert.deepEqual(ended, ['not settled', 'accepted']);
});

test(
  'while no slot is free and nothing is settled, as with slow receivers, an accept does not wait',
  PATIENCE,
  async () => {
    await a.claims(NOW, { slots: 0 });
    await a.store.accept([message()], NOW);
    await a.store.accept([message()], NOW);
  },
);
