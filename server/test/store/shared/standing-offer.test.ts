// While a node looks for due work, a part of its slots stays on offer for messages that are accepted meanwhile.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClaimLimits } from '../../../src/rules/delivery/slots.ts';
import { type ClaimReply, StandingOffer } from '../../../src/store/shared/standing-offer.ts';
import { message, NOW } from '../../conformance/given.ts';

const SLOTS = 40;
const LIMITS: ClaimLimits = {
  slots: SLOTS,
  sharedSlots: SLOTS,
  bytes: 1_000_000,
  oversized: 1,
  lastGoes: true,
  accountMax: SLOTS,
  accountsBusy: [],
  accountsOther: 0,
  hostsFree: [],
  hostsOther: [SLOTS, 0],
  busyAtHosts: [],
  parked: [],
};
const NOTHING: ClaimReply = { claims: [], nextDueAt: null, nextScheduleAt: null, hasMore: false };

/** An offer whose looks end when the test says so. */
function start() {
  const offer = new StandingOffer('nod_1');
  offer.onClaims(() => {});
  const asked: { readonly slots: number; readonly answer: (reply: ClaimReply) => void }[] = [];
  const look = () => {
    offer.offer(LIMITS);
    return offer.claimDue(NOW, (limits) => new Promise((answer) => asked.push({ slots: limits.slots, answer })));
  };
  return { offer, asked, look };
}

test('a look after a hint, which does not say how many are ready, leaves half of the slots on offer', async () => {
  const { offer, asked, look } = start();
  offer.lookAgain();
  const looking = look();
  assert.deepEqual(
    asked.map(({ slots }) => slots),
    [SLOTS / 2],
  );
  assert.notEqual(offer.leaseFor(message(), NOW), null);
  asked[0]!.answer(NOTHING);
  await looking;
  assert.equal(asked.length, 1);
});

test('if there is more, the look goes on with all that is left', async () => {
  const { asked, look } = start();
  const looking = look();
  asked[0]!.answer({ ...NOTHING, hasMore: true });
  await new Promise(setImmediate);
  assert.equal(asked[1]!.slots, SLOTS);
  asked[1]!.answer(NOTHING);
  await looking;
  assert.equal(asked.length, 2);
});
