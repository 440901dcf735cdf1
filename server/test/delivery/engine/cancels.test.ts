// What an engine does about cancels by itself: which claims may start after a look, and for how long the wire stays open.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cancels } from '../../../src/delivery/engine/cancels.ts';
import { PROCESS_PAUSE_MS_MAX, SendPermit } from '../../../src/delivery/engine/send-permit.ts';
import type { Claim } from '../../../src/rules/delivery/message.ts';
import { message, NOW } from '../../conformance/given.ts';
import { manualClock } from '../http/senders.ts';

const claimOf = (lease: string): Claim => ({
  lease,
  message: {
    ...message(),
    state: 'claimed',
    firstDueAt: NOW,
    readyAt: null,
    retried: 0,
    interrupted: 0,
    aloneAtCrash: 0,
    attempts: 0,
    endedAt: null,
    heldAt: null,
    claimedAt: NOW,
    failure: null,
    lastStatus: null,
  },
  tier: 'free',
  signingKey: 'key',
});

/** Looks that end when the test says so, with what it says. */
function given() {
  const looks: PromiseWithResolvers<readonly string[]>[] = [];
  const dropped: (readonly string[])[] = [];
  const cancelledClaims = () => {
    const look = Promise.withResolvers<readonly string[]>();
    looks.push(look);
    return look.promise;
  };
  const drop = async (leases: readonly string[]) => void dropped.push(leases);
  return { cancels: new Cancels({ store: { cancelledClaims }, drop }), looks, dropped };
}

test('a claim that is to be cancelled does not start, also one that arrives after the look', async () => {
  const { cancels, looks, dropped } = given();
  const [one, two] = [claimOf('1'), claimOf('2')];
  assert.deepEqual(cancels.without([one, two]), [one, two]);
  const looking = cancels.look();
  looks[0]!.resolve(['2']);
  await looking;
  assert.deepEqual(dropped, [['2']]);
  assert.deepEqual(cancels.without([one, two]), [one]);
});

test('callers that ask during a check share the next check, also after a failed one', async () => {
  const { cancels, looks } = given();
  const first = cancels.look();
  const later = [cancels.look(), cancels.look()];
  assert.equal(looks.length, 1);
  looks[0]!.reject(new Error('the store is away'));
  await assert.rejects(first);
  await new Promise(setImmediate);
  assert.equal(looks.length, 2);
  looks[1]!.resolve(['9']);
  await Promise.all(later);
  assert.deepEqual(cancels.without([claimOf('9')]), []);
  assert.equal(looks.length, 2);
});

test('sending is allowed for a limited time, never beyond the last heartbeat, and not without attempts', () => {
  const clock = manualClock();
  let [untilMs, inFlight] = [0, 1];
  const sender = {
    mayStartUntil: (ms: number) => {
      untilMs = ms;
    },
  };
  const permit = new SendPermit(clock, sender, () => inFlight > 0);
  permit.allowUntil(14_000);
  permit.start();
  permit.start();
  assert.equal(clock.timerCount, 1);
  for (let second = 0; second < 10; second += 1) {
    clock.advance(1000);
    assert.equal(untilMs, clock.monotonicMs() + PROCESS_PAUSE_MS_MAX);
  }
  // It stands still, and wakes behind what it had opened: the sender sees that it was closed.
  const openedMs = untilMs;
  clock.advance(3000);
  assert.ok(openedMs < clock.monotonicMs());
  assert.equal(untilMs, 14_000, 'as far as the last sign of life allows');
  inFlight = 0;
  clock.advance(1000);
  assert.equal(clock.timerCount, 0);
});
