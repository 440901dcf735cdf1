// How long an accept on PostgreSQL waits for slots that settlements free, one settlement after the other.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { NewMessage, Settlement } from '../../../src/rules/delivery/message.ts';
import {
  MANY_MESSAGES_MIN as MANY,
  SLOT_WAIT_MS_MAX,
  SlotWaits,
} from '../../../src/store/postgres/groups/slot-waits.ts';
import { WAIT_TIMES_MAX } from '../../../src/store/postgres/groups/write-turns.ts';
import { ACCOUNT, message, NOW, OTHER_ACCOUNT } from '../../conformance/given.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const TOOK_MS = 10;
const HOST = message().host;
const FULL_HOST = 'full.example:443';

let clock: ManualClock;
let free: number;
let lacks: 'accountSlot' | 'hostSlot';
let waits: SlotWaits;
let accepted: string[];

beforeEach(() => {
  clock = new ManualClock(NOW);
  free = 0;
  accepted = [];
  lacks = 'accountSlot';
  waits = new SlotWaits(clock, { lacksFor: () => (free === 0 ? lacks : null) });
});

async function accept(name: string, some: Partial<NewMessage> = {}): Promise<void> {
  for (let wait = waits.begin([message(some)], NOW); wait !== null; wait = wait.again()) await wait.freed;
  accepted.push(free > 0 ? `${name} leased` : name);
  free = Math.max(0, free - 1);
}

/** Everything that needs no time. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function beginSettling(messages: number): PromiseWithResolvers<void> {
  const written = Promise.withResolvers<void>();
  const settlements = Array.from({ length: messages }, () => ({ accountId: ACCOUNT, host: HOST }) as Settlement);
  waits.note(settlements, written.promise);
  return written;
}

/** Writes a settlement of that many messages, which frees so many slots. */
async function settle(messages: number, freed = 0): Promise<void> {
  const written = beginSettling(messages);
  clock.advance(TOOK_MS);
  free += freed;
  written.resolve();
  await settled();
}

test('an accept that finds no slot after a settlement waits for the next, which is not under way yet', async () => {
  await settle(MANY);
  void accept('first');
  void accept('second');
  await settled();
  assert.deepEqual(accepted, []);
  await settle(MANY, 1);
  assert.deepEqual(accepted, ['first leased']);
  await settle(MANY, 1);
  assert.deepEqual(accepted, ['first leased', 'second leased']);
});

test('it does not wait if few messages are settled at once, or those of other accounts', async () => {
  await settle(MANY - 1);
  await accept('after few');
  await settle(MANY);
  await accept('of another', { accountId: OTHER_ACCOUNT });
  assert.deepEqual(accepted, ['after few', 'of another']);
});

test('it waits for a slot of its account wherever one is settled, and for one at its host only if one is settled there', async () => {
  await settle(MANY);
  void accept('elsewhere', { host: FULL_HOST });
  await settled();
  assert.deepEqual(accepted, []);
  lacks = 'hostSlot';
  await accept('at a full host', { host: FULL_HOST });
  void accept('at the host');
  await settled();
  assert.deepEqual(accepted, ['at a full host']);
  await settle(MANY, 1);
  assert.deepEqual(accepted, ['at a full host', 'elsewhere leased']);
});

test('it does not wait after a settlement that failed', async () => {
  const written = beginSettling(MANY);
  written.reject(new Error('no'));
  await settled();
  await accept('first');
  assert.deepEqual(accepted, ['first']);
});

test('it goes on when no settlement follows', async () => {
  await settle(MANY);
  void accept('first');
  clock.advance(WAIT_TIMES_MAX * TOOK_MS - 1);
  await settled();
  assert.deepEqual(accepted, []);
  clock.advance(1);
  await settled();
  assert.deepEqual(accepted, ['first']);
});

test('it goes on after some time even if one settlement follows the other and none frees a slot for it', async () => {
  await settle(MANY);
  void accept('first');
  const groups = SLOT_WAIT_MS_MAX / TOOK_MS;
  for (let group = 1; group < groups; group += 1) await settle(MANY);
  assert.deepEqual(accepted, []);
  await settle(MANY);
  assert.deepEqual(accepted, ['first']);
});

test('it waits no longer than that in all, also when its last wait began just before the end', async () => {
  await settle(MANY);
  void accept('first');
  const groups = SLOT_WAIT_MS_MAX / TOOK_MS;
  for (let group = 1; group < groups; group += 1) await settle(MANY);
  // Its settlement is behind a lock.
  beginSettling(MANY);
  clock.advance(TOOK_MS - 1);
  await settled();
  assert.deepEqual(accepted, []);
  clock.advance(1);
  await settled();
  assert.deepEqual(accepted, ['first']);
});
