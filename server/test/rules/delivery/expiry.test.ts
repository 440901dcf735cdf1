// Expiry: nothing starts from it on, whatever the outcome of an attempt asks for, and what waits then ends with one
// failure callback.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  expiredText,
  isExpired,
  mustStartBefore,
  mustStartInQueue,
  withoutExpired,
} from '../../../src/rules/delivery/expiry.ts';
import type { Claim, Message, Outcome } from '../../../src/rules/delivery/message.ts';
import { NEVER_AT } from '../../../src/rules/delivery/recovery.ts';
import { decideExpiration, decideSettlement } from '../../../src/rules/delivery/settle.ts';
import { whyNotDelivered } from '../../../src/rules/delivery/why.ts';
import { answered, callbackTo, claimOf, countingIds, FAILURE_URL, NOW, PREFIX, settings } from '../given.ts';

const RETENTION_MS = 1_000_000;
const context = () => ({ headerPrefix: PREFIX, retentionMs: RETENTION_MS, newId: countingIds() });

/** A claim of a message that expires so long after NOW. */
function expiring(inMs: number, sofar: Partial<Message> = {}, retryDelay: string | null = null): Claim {
  const failureCallback = callbackTo(FAILURE_URL);
  return claimOf({ settings: settings({ retries: 5, retryDelay }), failureCallback, expiry: { afterMs: inMs } }, sofar);
}

test('the last moment before the expiry is in time, the expiry itself is not', () => {
  const message = { mustStartBefore: NOW };
  assert.deepEqual([isExpired(message, NOW - 1), isExpired(message, NOW)], [false, true]);
  assert.equal(isExpired({ mustStartBefore: null }, Number.MAX_SAFE_INTEGER), false);
});

test('it counts from the acceptance, or is a time of the wall clock; however long, it can be shown as a date', () => {
  assert.equal(mustStartBefore(null, NOW, 5), null);
  assert.equal(mustStartBefore({ afterMs: 60_000 }, NOW, 5), NOW + 60_000);
  assert.equal(mustStartBefore({ at: NOW + 60_000 }, NOW, 5), NOW + 60_005);
  for (const expiry of [{ afterMs: Number.MAX_SAFE_INTEGER }, { at: Number.MAX_SAFE_INTEGER }]) {
    const at = mustStartBefore(expiry, NOW, 0)!;
    assert.equal(at, NEVER_AT);
    assert.match(new Date(at).toISOString(), /^\+275760/);
  }
});

test('the default of a queue counts from when a message is due, and gives way to its own', () => {
  const message = { mustStartBefore: null, dueAt: NOW };
  assert.equal(mustStartInQueue(message, null), null);
  assert.equal(mustStartInQueue(message, 1000), NOW + 1000);
  assert.equal(mustStartInQueue({ ...message, mustStartBefore: NOW + 5 }, 1000), NOW + 5);
  assert.equal(mustStartInQueue(message, Number.MAX_SAFE_INTEGER), NEVER_AT);
});

test('those that have not expired are the same list, if none has', () => {
  const claims = [{ message: { mustStartBefore: null } }, { message: { mustStartBefore: NOW + 1 } }];
  assert.equal(withoutExpired(claims, NOW), claims);
  assert.deepEqual(withoutExpired(claims, NOW + 1), [claims[0]]);
});

const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constantFrom(200, 404, 489, 500).map((status) => answered(status)),
  fc.integer({ min: 0, max: 100 }).map((seconds) => answered(503, [['Retry-After', String(seconds)]])),
  fc.constant<Outcome>({ kind: 'unreachable', reason: 'reset' }),
  fc.constant<Outcome>({ kind: 'timedOut', timeoutMs: 1000 }),
  fc.constant<Outcome>({ kind: 'refusedByPolicy', reason: 'private' }),
  fc
    .constantFrom('crash' as const, 'crashAlone' as const, 'drain' as const)
    .map((cause): Outcome => ({ kind: 'interrupted', reason: cause, cause })),
);

const sofars = fc.record({
  retried: fc.nat(6),
  interrupted: fc.nat(5),
  aloneAtCrash: fc.nat(3),
  attempts: fc.nat(10),
});

test('whatever an attempt asks for, the next starts before the expiry, or the message has ended', () => {
  fc.assert(
    fc.property(outcomes, sofars, fc.integer({ min: 1, max: 200_000 }), fc.nat(100_000), (outcome, sofar, inMs, ms) => {
      const endedAt = NOW + ms;
      const end = { outcome, startedAt: NOW, endedAt };
      const claim = expiring(inMs, sofar);
      const { next, followUps } = decideSettlement(claim, end, context());
      const failures = followUps.filter(({ kind }) => kind === 'failureCallback').length;
      assert.equal(failures, next.state === 'failed' ? 1 : 0);
      if (next.state === 'pending') {
        assert.equal(isExpired(claim.message, Math.max(next.dueAt, endedAt)), false);
      }
      if (next.state === 'held') assert.equal(isExpired(claim.message, endedAt), false);
      // Without an expiry the same attempt ends the same way, but for what would come too late.
      const { message } = claim;
      const free = decideSettlement({ ...claim, message: { ...message, mustStartBefore: null } }, end, context());
      if (next.state !== 'failed' || next.code !== 'expired') assert.deepEqual(next, free.next);
      else assert.ok(free.next.state === 'pending' || free.next.state === 'held');
    }),
  );
});

test('a retry that would start at the expiry is not waited for, and one a moment before is', () => {
  const end = { outcome: answered(500), startedAt: NOW, endedAt: NOW };
  const next = (inMs: number) => decideSettlement(expiring(inMs, {}, '1000'), end, context()).next;
  assert.equal(next(1001).state, 'pending');
  const failure = 'expired before its next attempt: the destination returned 500';
  assert.deepEqual(next(1000), { state: 'failed', expiresAt: NOW + RETENTION_MS, failure, code: 'expired' });
});

test('the failure callback of a retry that would come too late reports the last answer, and why none follows', () => {
  const end = { outcome: answered(500), startedAt: NOW, endedAt: NOW };
  const { followUps, attempt } = decideSettlement(expiring(500, {}, '1000'), end, context());
  const report = JSON.parse(new TextDecoder().decode(followUps[0]!.body));
  assert.deepEqual([report.status, report.failureCode], [500, 'expired']);
  assert.equal(attempt.nextAt, null);
  const { followUps: others } = decideSettlement(expiring(99_999), { ...end, outcome: answered(489) }, context());
  assert.equal('failureCode' in JSON.parse(new TextDecoder().decode(others[0]!.body)), false);
});

test('what waits ends with its reason, and with a failure callback only if it has one', () => {
  const message: Message = { ...expiring(500).message, state: 'pending' };
  const what = { now: NOW + 500, retentionMs: RETENTION_MS, newId: countingIds() };
  const { followUps, ...end } = decideExpiration({ message, lastAttempt: null }, what);
  assert.deepEqual(end, {
    accountId: message.accountId,
    messageId: message.id,
    expiresAt: NOW + 500 + RETENTION_MS,
    failure: expiredText(0),
  });
  assert.deepEqual(
    followUps.map(({ kind, url, createdAt, mustStartBefore: before }) => [kind, url, createdAt, before]),
    [['failureCallback', FAILURE_URL, NOW + 500, null]],
  );
  const silent = { ...message, failureCallback: null };
  assert.deepEqual(decideExpiration({ message: silent, lastAttempt: null }, what).followUps, []);
  const childless = { ...message, descendantsLeft: 0 };
  assert.deepEqual(decideExpiration({ message: childless, lastAttempt: null }, what).followUps, []);
});

test('why says when it expires, that it has, and nothing of it after the end', () => {
  const why = (some: Partial<Message>, now = NOW) =>
    whyNotDelivered({
      message: { ...expiring(60_000).message, state: 'pending', dueAt: NOW, ...some },
      queue: null,
      ahead: null,
      flowKey: null,
      flowAhead: null,
      isDraining: false,
      paceMs: null,
      now,
    });
  const at = new Date(NOW + 60_000).toISOString();
  const waits = why({});
  assert.deepEqual([waits.reason, waits.expiresAt], ['waitingForSlot', NOW + 60_000]);
  assert.ok(waits.text.endsWith(`; no attempt starts after ${at}, in 1m`), waits.text);
  const gone = why({}, NOW + 60_000);
  assert.deepEqual(gone, {
    reason: 'expired',
    text: `it has expired and is about to end as failed; no attempt starts after ${at}`,
    expiresAt: NOW + 60_000,
  });
  assert.equal(why({ state: 'claimed' }, NOW + 60_000).reason, 'active');
  assert.equal(why({ endedAt: NOW, state: 'delivered' }).expiresAt, undefined);
});
