// The events of a message, from what the store keeps of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  EVENT_BODY_BYTES_MAX,
  eventBodyBytes,
  isEventWanted,
  type JournalStep,
  type MessageEvent,
  messageEvents,
  needsJournal,
  readsAccountJournal,
  STEP_EVENTS_MAX,
  statesAfterAttempt,
  stepEvents,
} from '../../../src/rules/delivery/event.ts';
import type { Attempt, Message } from '../../../src/rules/delivery/message.ts';
import { claimOf, NOW } from '../given.ts';

const MESSAGE: Message = { ...claimOf({}).message, createdAt: NOW, state: 'pending', attempts: 0 };

function attempt(number: number, some: Partial<Attempt> = {}): Attempt {
  return {
    number,
    startedAt: NOW + 10 * number,
    endedAt: NOW + 10 * number + 5,
    outcome: 'answered',
    status: 500,
    error: null,
    nextAt: NOW + 10 * number + 10,
    responseHeaders: [],
    responseBody: new Uint8Array(0),
    isResponseBodyCut: false,
    ...some,
  };
}

const shown = (events: readonly MessageEvent[]) => events.map(({ at, state }) => `${at - NOW} ${state}`);
const steps = (message: Message, step: JournalStep, isLive = false) => shown(stepEvents(message, step, isLive));

test('an attempt delivers with any 2xx, is repeated if there is a next one, and otherwise fails or is held', () => {
  const ends = (some: Partial<Attempt>) => statesAfterAttempt(attempt(1, some));
  for (const status of [200, 204, 299]) assert.deepEqual(ends({ status, nextAt: null }), ['DELIVERED']);
  for (const status of [199, 300]) assert.deepEqual(ends({ status, nextAt: null }), ['ERROR', 'FAILED']);
  assert.deepEqual(ends({}), ['ERROR', 'RETRY']);
  assert.deepEqual(ends({ nextAt: 0 }), ['ERROR', 'RETRY']);
  assert.deepEqual(ends({ outcome: 'timedOut', status: null, nextAt: null }), ['ERROR', 'FAILED']);
  assert.deepEqual(ends({ outcome: 'interrupted', status: null }), ['ERROR', 'RETRY']);
  assert.deepEqual(ends({ outcome: 'interrupted', status: null, nextAt: null }), ['ERROR', 'HELD']);
  assert.deepEqual(ends({ outcome: 'interrupted', status: 200, nextAt: null }), ['ERROR', 'HELD']);
  assert.ok(ends({}).length <= STEP_EVENTS_MAX);
});

test('a message that is accepted and started at once has two events', () => {
  const accepted = (isStarted: boolean): JournalStep => ({ kind: 'accepted', isStarted });
  assert.deepEqual(steps(MESSAGE, accepted(false)), ['0 CREATED']);
  assert.deepEqual(steps({ ...MESSAGE, state: 'claimed' }, accepted(false)), ['0 CREATED']);
  assert.deepEqual(steps({ ...MESSAGE, state: 'claimed' }, accepted(true)), ['0 CREATED', '0 ACTIVE']);
  assert.deepEqual(steps({ ...MESSAGE, attempts: 1 }, accepted(true)), ['0 CREATED', '0 ACTIVE']);
  const [, active] = stepEvents({ ...MESSAGE, state: 'claimed' }, accepted(true));
  assert.deepEqual([active!.attempt, active!.attemptNumber], [null, 1]);
});

test('the start of an attempt that was given back is shown when it has begun; a live reader is told at once', () => {
  const start: JournalStep = { kind: 'started', number: 2, at: NOW + 7 };
  assert.deepEqual(steps({ ...MESSAGE, attempts: 1 }, start), []);
  assert.deepEqual(steps({ ...MESSAGE, attempts: 1 }, start, true), ['7 ACTIVE']);
  assert.deepEqual(stepEvents({ ...MESSAGE, attempts: 1 }, start), [], 'a reader is not live unless it says so');
  assert.deepEqual(steps({ ...MESSAGE, attempts: 1, state: 'claimed' }, start), ['7 ACTIVE']);
  assert.deepEqual(steps({ ...MESSAGE, attempts: 2 }, start), ['7 ACTIVE']);
  const ended = { ...MESSAGE, attempts: 1, state: 'cancelled', endedAt: NOW } as const;
  assert.deepEqual(steps(ended, start, true), [], 'it has ended without that attempt');
});

test('the other steps are events of their time', () => {
  assert.deepEqual(steps(MESSAGE, { kind: 'attempt', attempt: attempt(1) }), ['15 ERROR', '15 RETRY']);
  assert.deepEqual(steps(MESSAGE, { kind: 'released', at: NOW + 3 }), ['3 RELEASED']);
  assert.deepEqual(steps(MESSAGE, { kind: 'cancelRequested', at: NOW + 4 }), ['4 CANCEL_REQUESTED']);
});

test('a cancelled message was requested to be, at once or while an attempt was under way', () => {
  const cancelled: Message = { ...MESSAGE, state: 'cancelled', endedAt: NOW + 9 };
  assert.deepEqual(steps(cancelled, { kind: 'cancelled' }), ['9 CANCEL_REQUESTED', '9 CANCELLED']);
  assert.deepEqual(steps({ ...cancelled, cancelRequestedAt: NOW + 5 }, { kind: 'cancelled' }), ['9 CANCELLED']);
  assert.deepEqual(steps({ ...cancelled, endedAt: null }, { kind: 'cancelled' }), [
    '0 CANCEL_REQUESTED',
    '0 CANCELLED',
  ]);
});

test('nothing follows from an attempt during which its message was cancelled', () => {
  const cancelled: Message = {
    ...MESSAGE,
    state: 'cancelled',
    attempts: 2,
    endedAt: NOW + 25,
    cancelRequestedAt: NOW + 22,
  };
  const last: JournalStep = { kind: 'attempt', attempt: attempt(2, { nextAt: null }) };
  assert.deepEqual(steps(cancelled, last), ['25 ERROR']);
  assert.deepEqual(steps({ ...cancelled, state: 'failed' }, last), ['25 ERROR', '25 FAILED']);
  assert.deepEqual(steps({ ...cancelled, attempts: 3 }, last), ['25 ERROR', '25 FAILED']);
  assert.deepEqual(steps(cancelled, { kind: 'attempt', attempt: attempt(2) }), ['25 ERROR', '25 RETRY']);
  const { cancelRequestedAt: _, ...unasked } = cancelled;
  assert.deepEqual(steps(unasked, last), ['25 ERROR', '25 FAILED']);
});

test('all events of a message stand in their order', () => {
  const failed: Message = { ...MESSAGE, state: 'failed', attempts: 2, endedAt: NOW + 25 };
  assert.deepEqual(shown(messageEvents(failed, [attempt(1), attempt(2, { nextAt: null })])), [
    '0 CREATED',
    '10 ACTIVE',
    '15 ERROR',
    '15 RETRY',
    '20 ACTIVE',
    '25 ERROR',
    '25 FAILED',
  ]);
  const active: Message = { ...MESSAGE, state: 'claimed', attempts: 1, claimedAt: NOW + 19 };
  const events = messageEvents(active, [attempt(1)]);
  assert.deepEqual(shown(events).slice(3), ['15 RETRY', '19 ACTIVE']);
  assert.equal(events.at(-1)!.attemptNumber, 2);
  assert.deepEqual(shown(messageEvents({ ...active, attempts: 0, claimedAt: null }, [])), ['0 CREATED', '0 ACTIVE']);
  assert.deepEqual(shown(messageEvents({ ...active, cancelRequestedAt: NOW + 20 }, [attempt(1)])).slice(-2), [
    '19 ACTIVE',
    '20 CANCEL_REQUESTED',
  ]);
});

test('the request to cancel stands before the end of the attempt that was under way', () => {
  const cancelled: Message = {
    ...MESSAGE,
    state: 'cancelled',
    attempts: 1,
    endedAt: NOW + 15,
    cancelRequestedAt: NOW + 12,
  };
  assert.deepEqual(shown(messageEvents(cancelled, [attempt(1, { nextAt: null })])), [
    '0 CREATED',
    '10 ACTIVE',
    '12 CANCEL_REQUESTED',
    '15 ERROR',
    '15 CANCELLED',
  ]);
  const { cancelRequestedAt: _, ...waiting } = cancelled;
  assert.deepEqual(shown(messageEvents({ ...waiting, attempts: 0 }, [])), [
    '0 CREATED',
    '15 CANCEL_REQUESTED',
    '15 CANCELLED',
  ]);
});

test('each change stands between the attempts before it and those after it, also in one millisecond', () => {
  assert.equal(needsJournal({ ...MESSAGE, changes: 1 }, []), true);
  const at = (number: number) => attempt(number, { startedAt: NOW + 10, endedAt: NOW + 10 });
  const update = (attempts: number): MessageEvent => ({
    at: NOW + 10,
    state: 'UPDATED',
    message: MESSAGE,
    attempt: null,
    changed: { names: ['url'], attempts },
  });
  const events = messageEvents(
    { ...MESSAGE, attempts: 2 },
    [at(1), at(2)],
    [update(0), update(1), update(1), update(2)],
  );
  assert.deepEqual(
    events.map(({ state, attempt: of }) => state + (of?.number ?? '')),
    [
      'CREATED',
      'UPDATED',
      'ACTIVE1',
      'ERROR1',
      'RETRY1',
      'UPDATED',
      'UPDATED',
      'ACTIVE2',
      'ERROR2',
      'RETRY2',
      'UPDATED',
    ],
  );
});

test('each release of a held message stands behind the attempt after which it was held', () => {
  const held = (number: number) => attempt(number, { outcome: 'interrupted', status: null, nextAt: null });
  assert.equal(needsJournal(MESSAGE, [attempt(1)]), false);
  assert.equal(needsJournal(MESSAGE, [attempt(1), held(2)]), true);
  const release = (ms: number): MessageEvent => ({ at: NOW + ms, state: 'RELEASED', message: MESSAGE, attempt: null });
  const message: Message = { ...MESSAGE, attempts: 3 };
  const events = messageEvents(message, [held(1), attempt(2), held(3)], [release(17), release(37), release(50)]);
  assert.deepEqual(shown(events), [
    '0 CREATED',
    '10 ACTIVE',
    '15 ERROR',
    '15 HELD',
    '17 RELEASED',
    '20 ACTIVE',
    '25 ERROR',
    '25 RETRY',
    '30 ACTIVE',
    '35 ERROR',
    '35 HELD',
    '37 RELEASED',
    '50 RELEASED',
  ]);
});

test('an event holds a part of a long body and says so, unless the body is shown as its hash', () => {
  const longBody = new Uint8Array(EVENT_BODY_BYTES_MAX + 1);
  const created = (some: Partial<Message>) =>
    stepEvents({ ...MESSAGE, ...some }, { kind: 'accepted', isStarted: false })[0]!;
  assert.equal(EVENT_BODY_BYTES_MAX, 262_144);
  const cut = created({ body: longBody });
  assert.deepEqual([cut.message.body.length, cut.isBodyCut], [EVENT_BODY_BYTES_MAX, true]);
  const whole = created({ body: longBody.subarray(1) });
  assert.deepEqual([whole.message.body.length, whole.isBodyCut], [EVENT_BODY_BYTES_MAX, undefined]);
  const redaction = { body: true, allHeaders: false, headers: [] };
  const redacted = created({ body: longBody, redaction });
  assert.deepEqual([redacted.message.body.length, redacted.isBodyCut], [EVENT_BODY_BYTES_MAX + 1, undefined]);
  assert.equal(eventBodyBytes({ redaction }), null);
  assert.equal(eventBodyBytes({ redaction: { ...redaction, body: false } }), EVENT_BODY_BYTES_MAX + 1);
  assert.equal(eventBodyBytes({ redaction: null }), EVENT_BODY_BYTES_MAX + 1);
});

test('a filter selects events by state and time, both ends included', () => {
  const event: MessageEvent = { at: NOW, state: 'CREATED', message: MESSAGE, attempt: null };
  const isWanted = (filter: Omit<Parameters<typeof isEventWanted>[0], 'messages'>) =>
    isEventWanted({ messages: {}, ...filter }, event);
  assert.equal(isWanted({}), true);
  assert.equal(isWanted({ states: ['ACTIVE', 'CREATED'], fromAt: NOW, toAt: NOW }), true);
  assert.equal(isWanted({ states: ['ACTIVE'] }), false);
  assert.equal(isWanted({ states: [] }), false);
  assert.equal(isWanted({ fromAt: NOW + 1 }), false);
  assert.equal(isWanted({ toAt: NOW - 1 }), false);
});

test('the events of up to twenty messages are read by message, those of more from the journal', () => {
  const ids = Array.from({ length: 20 }, (_, at) => `msg_${at}`);
  assert.equal(readsAccountJournal(undefined), true);
  assert.equal(readsAccountJournal([]), false);
  assert.equal(readsAccountJournal(ids), false);
  assert.equal(readsAccountJournal([...ids, 'msg_x']), true);
});
