// Debouncing: what the message that waits becomes, when it is due, and which messages may take its place.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { namesOfChanges, versionOf } from '../../../src/rules/delivery/change.ts';
import type { Message, NewMessage } from '../../../src/rules/delivery/message.ts';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import {
  canBeReplaced,
  type Debounced,
  debounceKey,
  givenDebounceKey,
  hasEvent,
  lineDifference,
  misplacedOf,
  replaced,
} from '../../../src/rules/publish/debounce.ts';
import { makeMessages, requestProblem } from '../../../src/rules/publish/publish.ts';
import { countingIds, NOW, PREFIX, planContext, publisher, request, settings } from '../given.ts';

const DAY_MS = 86_400_000;
const newId = countingIds();

interface Given {
  readonly at?: number;
  readonly windowMs?: number;
  readonly maxMs?: number | null;
  readonly key?: string;
}

/** The message of a publish with a debounce key. */
function published({ at = NOW, windowMs = 5000, maxMs = 60_000, key = 'k' }: Given = {}): Debounced {
  const given = request({ debounce: { key, windowMs, maxMs } });
  const context = { ...planContext(), now: at, wallNow: at, newId };
  return makeMessages(given, publisher(), context, 1)[0] as Debounced;
}

test('a publish waits for its window, and at most as long as its maximum or the longest delay of the tier', () => {
  const { dueAt, debounce } = published();
  assert.deepEqual([dueAt, debounce], [NOW + 5000, { key: 'k', latestAt: NOW + 60_000, count: 1 }]);
  assert.equal(published({ maxMs: null }).debounce.latestAt, NOW + 365 * DAY_MS);
});

const URL_TEXT = fc.stringMatching(/^https:\/\/[a-z]{1,3}\/[!-~]{0,3}$/);

test('each endpoint of a topic has a key of its own, and shows that of the caller', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/), URL_TEXT, URL_TEXT, (key, one, other) => {
      for (const url of [null, one]) {
        assert.equal(givenDebounceKey({ key: debounceKey(key, url) }), key);
      }
      assert.equal(debounceKey(key, one) === debounceKey(key, other), one === other);
      assert.notEqual(debounceKey(key, one), debounceKey(key, null));
    }),
  );
});

test('however many come and whenever: the id stays, the newest counts, and it is due within window and maximum', () => {
  const publishes = fc.array(
    fc.record({ waitMs: fc.nat(20_000), windowMs: fc.integer({ min: 1, max: 10_000 }), moreMs: fc.nat(30_000) }),
    { minLength: 1, maxLength: 20 },
  );
  fc.assert(
    fc.property(publishes, (all) => {
      const first = published();
      let [current, now] = [first, NOW];
      for (const [index, { waitMs, windowMs, moreMs }] of all.entries()) {
        now += waitMs;
        const maxMs = windowMs + moreMs;
        const newest = published({ at: now, windowMs, maxMs });
        const before = current;
        current = replaced(before, newest);
        const { id, createdAt, dueAt, debounce, ...rest } = current;
        assert.deepEqual([id, createdAt], [first.id, NOW]);
        assert.deepEqual(debounce, { key: 'k', latestAt: NOW + maxMs, count: index + 2 });
        assert.ok(dueAt <= now + windowMs);
        assert.ok(dueAt <= Math.max(debounce.latestAt, now));
        // It is due at its window or at its latest time; or it is due now, and keeps the time from which it was.
        const wanted = Math.min(now + windowMs, debounce.latestAt);
        assert.equal(dueAt, wanted > now ? wanted : Math.min(before.dueAt, now));
        const { id: _id, createdAt: _at, dueAt: _due, debounce: _debounce, ...content } = newest;
        assert.deepEqual(rest, content);
      }
    }),
  );
});

test('every message that takes the place gives the one that waits another version, as a change does', () => {
  const message = { attempts: 0, debounce: published().debounce } as Message;
  const versions = [
    message,
    { ...message, changes: 1 },
    { ...message, changes: 1, debounce: { ...message.debounce!, count: 2 } },
    { ...message, changes: 2, debounce: { ...message.debounce!, count: 2 } },
  ].map(versionOf);
  assert.deepEqual(versions, ['0-0', '0-1', '0-2', '0-3']);
  assert.equal(versionOf({ attempts: 1, debounce: null }), '1-0');
});

test('a message is replaced while it waits for its first attempt and has not expired', () => {
  const waiting = { state: 'pending', attempts: 0, mustStartBefore: NOW + 1 } as const;
  assert.equal(canBeReplaced(waiting, NOW), true);
  assert.equal(canBeReplaced({ ...waiting, mustStartBefore: null }, NOW), true);
  assert.equal(canBeReplaced(waiting, NOW + 1), false);
  assert.equal(canBeReplaced({ ...waiting, attempts: 1 }, NOW), false);
  for (const state of ['claimed', 'held', 'delivered', 'failed', 'cancelled'] as const) {
    assert.equal(canBeReplaced({ ...waiting, state }, NOW), false, state);
  }
});

test('queue, order key and flow key of the two are the same; the limits of a flow key may differ', () => {
  const line = { queueName: 'q', orderKey: 'o', flow: { key: 'f' } };
  assert.equal(lineDifference(line, { ...line, flow: { key: 'f' } }), null);
  assert.equal(lineDifference(line, { ...line, queueName: null }), 'queue');
  assert.equal(lineDifference(line, { ...line, orderKey: 'p' }), 'order key');
  assert.equal(lineDifference(line, { ...line, flow: null }), 'flow key');
  assert.equal(lineDifference(line, { ...line, flow: { key: 'g' } }), 'flow key');
});

test('of several messages, the first in another line than the one that waits, or than an earlier one, is found', () => {
  const at = (queueName: string | null, key = 'k'): NewMessage => ({ ...published({ key }), queueName });
  const plain: NewMessage = { ...published(), debounce: null, queueName: 'other' };
  const waits = { ...at('q'), id: 'msg_waits' };
  const waiting = new Map([['k', waits]]);
  assert.equal(misplacedOf([plain, at('q'), at(null, 'l'), at('q')], waiting), null);
  assert.deepEqual(misplacedOf([plain, at(null)], waiting), { index: 1, messageId: 'msg_waits', part: 'queue' });
  const [one, two] = [at('a', 'l'), at('b', 'l')];
  assert.deepEqual(misplacedOf([one, two], waiting), { index: 1, messageId: one.id, part: 'queue' });
});

test('the first thousand have an event each, with the names of what differs', () => {
  const message = published();
  const max = eachMax('messageChanges');
  assert.equal(hasEvent({ ...message, debounce: { ...message.debounce, count: max + 1 } }), true);
  assert.equal(hasEvent({ ...message, debounce: { ...message.debounce, count: max + 2 } }), false);
  const after = replaced(message, published({ at: NOW + 1 }));
  assert.deepEqual(namesOfChanges(message, after, true), ['nextDeliveryTime', 'debounced']);
  assert.deepEqual(namesOfChanges(message, after, false), ['nextDeliveryTime', 'body', 'debounced']);
});

test('what does not go together is refused, with the reason', () => {
  const refused = (more: Parameters<typeof request>[0]) => {
    const debounce = { key: 'k', windowMs: 5000, maxMs: null };
    const { tier } = publisher();
    const found = requestProblem(request({ debounce, ...more }), tier, { now: NOW, wallNow: NOW }, PREFIX);
    return found && `${found.problem.code} ${found.problem.message}`;
  };
  assert.equal(refused({}), null);
  assert.equal(refused({ settings: settings({ delayMs: 0 }) }), null);
  assert.match(refused({ settings: settings({ delayMs: 1 }) })!, /^bad_header .*together with Postrider-Delay/);
  assert.match(refused({ notBefore: NOW })!, /^bad_header .*together with Postrider-Not-Before/);
  assert.match(refused({ deduplication: 'byContent' })!, /^bad_header .*together with deduplication/);
  assert.match(refused({ scheduleId: 'scd_1' })!, /^bad_header .*not for a schedule/);
  assert.match(refused({ expiry: { afterMs: 5000 } })!, /^bad_header Postrider-Debounce: the message would expire/);
  const long = 365 * DAY_MS + 1;
  const windows = [
    [{ key: 'k', windowMs: long, maxMs: null }, 'Debounce'],
    [{ key: 'k', windowMs: 1, maxMs: long }, 'Debounce-Max'],
  ] as const;
  for (const [debounce, name] of windows) {
    assert.match(refused({ debounce })!, new RegExp(`^limit_exceeded Postrider-${name} exceeds`));
  }
});
