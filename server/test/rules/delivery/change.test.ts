// Whether a message may be changed, and what it is then.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  CHANGEABLE,
  changedMask,
  changedNames,
  isStartChanged,
  type MessageChange,
  planChange,
  versionOf,
} from '../../../src/rules/delivery/change.ts';
import type { HeaderList, Message, MessageKind } from '../../../src/rules/delivery/message.ts';
import { NEVER_AT } from '../../../src/rules/delivery/recovery.ts';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { stepFromRow, updatedStep } from '../../../src/store/rows/rows.ts';
import { NO_CHANGE } from '../../conformance/change.ts';
import { callbackTo, message, NOW } from '../../conformance/given.ts';

const MESSAGE: Message = {
  ...message(),
  state: 'pending',
  firstDueAt: NOW,
  readyAt: null,
  retried: 1,
  interrupted: 0,
  aloneAtCrash: 0,
  attempts: 1,
  endedAt: null,
  heldAt: null,
  claimedAt: null,
  failure: null,
  lastStatus: 500,
};

const CHANGES_MAX = eachMax('messageChanges');

const plan = (change: Partial<MessageChange>, some: Partial<Message> = {}) =>
  planChange({ ...MESSAGE, ...some }, { ...NO_CHANGE, ...change }, change.body === undefined);

function changed(change: Partial<MessageChange>, some: Partial<Message> = {}) {
  const planned = plan(change, some);
  assert.ok(planned.outcome === 'changed', planned.outcome);
  return planned;
}

test('only a message that waits is changed, and what it is decides before its version', () => {
  const some = { method: 'PUT', versions: ['9-9'] } as const;
  assert.deepEqual(planChange(null, { ...NO_CHANGE, ...some }, true), { outcome: 'unknown' });
  assert.deepEqual(plan(some, { state: 'delivered', endedAt: NOW }), { outcome: 'unknown' });
  assert.deepEqual(plan(some, { state: 'claimed' }), { outcome: 'active' });
  assert.deepEqual(plan(some, { state: 'claimed', cancelRequestedAt: NOW }), { outcome: 'cancelRequested' });
  assert.deepEqual(plan(some), { outcome: 'otherVersion', version: '1-0' });
  assert.deepEqual(plan({ ...some, versions: ['9-9', '1-0'] }).outcome, 'changed');
});

test('a held message has no time, retries were made, and callbacks have no callbacks', () => {
  const held = { state: 'held' } as const;
  assert.deepEqual(plan({ dueAt: NOW }, held), { outcome: 'refused', refusal: { why: 'heldTime' } });
  assert.equal(plan({ timeoutMs: 1 }, held).outcome, 'changed');
  assert.deepEqual(plan({ retriesMax: 0 }), { outcome: 'refused', refusal: { why: 'retriesUsed', retried: 1 } });
  assert.equal(plan({ retriesMax: 1 }).outcome, 'changed');
  const callback = { ...callbackTo('https://c.example/'), retriesMax: null };
  const kinds: readonly (readonly [MessageKind, string])[] = [
    ['publish', 'changed'],
    ['schedule', 'changed'],
    ['callback', 'refused'],
    ['failureCallback', 'refused'],
    ['alert', 'refused'],
  ];
  for (const [kind, outcome] of kinds) {
    assert.equal(plan({ callback }, { kind }).outcome, outcome, kind);
    assert.equal(plan({ failureCallback: callback }, { kind }).outcome, outcome, kind);
    assert.equal(plan({ timeoutMs: 1 }, { kind }).outcome, 'changed', kind);
  }
});

test('a new callback has the retry setting that its message has after the change, unless it has its own', () => {
  const callback = { ...callbackTo('https://c.example/'), retriesMax: null };
  const own = { ...callback, retriesMax: 9, retryDelay: '5' };
  const { message: after } = changed({ callback, failureCallback: own, retriesMax: 4, retryDelay: '7' });
  assert.deepEqual([after.callback?.retriesMax, after.callback?.retryDelay], [4, '7']);
  assert.deepEqual([after.failureCallback?.retriesMax, after.failureCallback?.retryDelay], [9, '5']);
  assert.equal(
    changed({ retriesMax: 4 }, { callback: callbackTo('https://c.example/') }).message.callback?.retriesMax,
    3,
  );
});

test('forwarded headers are replaced together; Content-Type and the trace stay unless they are named', () => {
  const headers: HeaderList = [
    ['Content-Type', 'text/plain'],
    ['X-A', '1'],
    ['traceparent', 'old'],
  ];
  const after = (change: Partial<MessageChange>) => changed(change, { headers }).message.headers;
  assert.deepEqual(after({ forward: [['X-B', '2']] }), [headers[0], ['X-B', '2'], headers[2]]);
  assert.deepEqual(after({ contentType: 'a/b' }), [['Content-Type', 'a/b'], headers[1], headers[2]]);
  assert.deepEqual(after({ trace: [['Traceparent', 'new']] }), [headers[0], headers[1], ['Traceparent', 'new']]);
  assert.deepEqual(after({ forward: [['content-type', 'c/d']] }), [['content-type', 'c/d'], headers[2]]);
  const tooMuch = plan({ forward: [['X-Long', 'v'.repeat(17_000)]] });
  assert.ok(tooMuch.outcome === 'refused' && tooMuch.refusal.why === 'headers');
});

test('a redaction only grows, limits of its descent only shrink, and an endpoint has its URL', () => {
  const redaction = { body: true, allHeaders: false, headers: ['x-a'] };
  const more = changed({ redaction: { body: false, allHeaders: false, headers: ['x-b'] } }, { redaction });
  assert.deepEqual(more.message.redaction, { body: true, allHeaders: false, headers: ['x-a', 'x-b'] });
  assert.deepEqual(
    plan({ redaction: { body: true, allHeaders: false, headers: [] } }, { redaction }).outcome,
    'unchanged',
  );
  const from = { hops: 3, left: 5 };
  const { message: near } = changed({ method: 'PUT', descent: from }, { hops: 1, descendantsLeft: 9 });
  assert.deepEqual([near.hops, near.descendantsLeft], [3, 5]);
  const { message: far } = changed({ method: 'PUT', descent: from }, { hops: 4, descendantsLeft: 2 });
  assert.deepEqual([far.hops, far.descendantsLeft], [4, 2]);
  const endpoint = { endpointName: 'one', topicName: 'news' };
  const target = { url: 'https://b.example/', host: 'b.example:443' };
  const { message: moved } = changed({ target }, endpoint);
  assert.deepEqual([moved.endpointName, moved.topicName], [null, 'news']);
  const same = { url: MESSAGE.url, host: MESSAGE.host };
  assert.equal(changed({ target: same, method: 'PUT' }, endpoint).message.endpointName, 'one');
});

test('what is the same is not named, and a change without a difference is none', () => {
  assert.equal(plan({ method: 'POST', dueAt: NOW, retriesMax: 3 }).outcome, 'unchanged');
  assert.equal(plan({}).outcome, 'unchanged');
  assert.deepEqual(changed({ method: 'POST', timeoutMs: 5, body: new Uint8Array(1) }).names, ['body', 'timeoutMs']);
  const { message: after } = changed({ timeoutMs: 5 }, { changes: 4 });
  assert.deepEqual([versionOf(MESSAGE), versionOf(after)], ['1-0', '1-5']);
});

test('the journal keeps the names and the attempts before, whatever they are', () => {
  fc.assert(
    fc.property(fc.subarray([...CHANGEABLE], { minLength: 1 }), fc.nat(2 ** 12 - 1), (names, attempts) => {
      assert.deepEqual(changedNames(changedMask(names)), names);
      const step = updatedStep(names, attempts);
      assert.ok(step >= -(2 ** 31), 'it fits in the column');
      assert.deepEqual(stepFromRow({ step, at: NOW }), { kind: 'updated', names, attempts, at: NOW });
    }),
  );
  assert.ok(updatedStep([...CHANGEABLE], Number.MAX_SAFE_INTEGER) >= -(2 ** 31));
});

test('a new expiry must leave time for the next attempt, and so must a new time', () => {
  const refused = { outcome: 'refused', refusal: { why: 'expires' } };
  const { message: after, names } = changed({ mustStartBefore: NOW + 10 });
  assert.deepEqual([after.mustStartBefore, names], [NOW + 10, ['expiresAt']]);
  assert.deepEqual(plan({ mustStartBefore: NOW + 10, dueAt: NOW + 10 }), refused);
  assert.deepEqual(plan({ dueAt: NOW + 10 }, { mustStartBefore: NOW + 10 }), refused);
  assert.equal(plan({ dueAt: NOW + 9 }, { mustStartBefore: NOW + 10 }).outcome, 'changed');
  // What is not about times does not look at them, and a held message has no time.
  assert.equal(plan({ method: 'PUT' }, { mustStartBefore: NOW }).outcome, 'changed');
  assert.equal(plan({ mustStartBefore: NOW }, { state: 'held', dueAt: NEVER_AT }).outcome, 'changed');
});

test('redacted parts are sent to nobody new: not to another host, and not to a callback', () => {
  const other = { url: 'https://b.example/', host: 'b.example:443' };
  const same = { url: 'https://a.example/other', host: MESSAGE.host };
  const callback = { ...callbackTo('https://c.example/'), retriesMax: null };
  const ways = [
    ['url', { target: other }],
    ['callback', { callback }],
    ['callback', { callback, target: same }],
    ['failureCallback', { failureCallback: callback }],
    ['url', { target: other, callback }],
  ] as const;
  const body = new Uint8Array(1);
  const contentType = 'text/plain';
  const forward: HeaderList = [['X-New', '1']];
  const trace: HeaderList = [['traceparent', 'new']];
  const headers: HeaderList = [
    ['Content-Type', 'a/b'],
    ['X-Key', 'k'],
    ['traceparent', 'old'],
  ];
  const hide = (...names: string[]) => ({
    body: names.includes('body'),
    allHeaders: names.includes('headers'),
    headers: names.filter((name) => name !== 'body' && name !== 'headers'),
  });
  const cases: readonly (readonly [hidden: string[], more: Partial<MessageChange>, parts: string[]])[] = [
    [['body'], {}, ['body']],
    [['body'], { forward, contentType, trace }, ['body']],
    [['body'], { body }, []],
    [['x-key'], { body }, ['headers']],
    [['x-key'], { forward }, []],
    [['x-absent'], {}, []],
    [['content-type'], { forward, trace }, ['headers']],
    [['content-type'], { contentType }, []],
    [['traceparent'], { forward, contentType }, ['headers']],
    [['traceparent'], { trace }, []],
    [['headers', 'body'], {}, ['body', 'headers']],
    [['headers', 'body'], { body, forward }, ['headers']],
    [['headers', 'body'], { body, forward, contentType, trace }, []],
  ];
  for (const [hidden, more, parts] of cases) {
    const some = { redaction: hide(...hidden), headers };
    for (const [field, way] of ways) {
      const expected = parts.length === 0 ? 'changed' : { why: 'redacted', field, parts };
      const planned = plan({ ...way, ...more }, some);
      assert.deepEqual(
        planned.outcome === 'refused' ? planned.refusal : planned.outcome,
        expected,
        `${hidden} ${field}`,
      );
    }
    assert.equal(plan({ target: same, method: 'PUT' }, some).outcome, 'changed', 'the same host');
  }
  // A redaction that the change itself adds hides what its caller can read now.
  assert.equal(plan({ target: other, redaction: hide('body') }).outcome, 'changed');
});

test('only a new time, host, priority or outage setting changes when and where a message starts', () => {
  const start: readonly Partial<MessageChange>[] = [
    { dueAt: NOW + 1 },
    { mustStartBefore: NOW + 10 },
    { target: { url: 'https://b.example/', host: 'b.example:443' } },
    { priority: 9 },
    { outage: 'park' },
  ];
  const other: readonly Partial<MessageChange>[] = [
    { target: { url: 'https://a.example/other', host: MESSAGE.host } },
    { method: 'PUT' },
    { retriesMax: 9 },
    { labels: ['new'] },
    { timeoutMs: 5 },
    { awaitAckMs: 5 },
  ];
  for (const change of start) assert.equal(isStartChanged(MESSAGE, changed(change).message), true);
  for (const change of other) assert.equal(isStartChanged(MESSAGE, changed(change).message), false);
});

test('a message is changed at most as often as the limit says', () => {
  const max = CHANGES_MAX;
  assert.equal(changed({ method: 'PUT' }, { changes: max - 1 }).message.changes, max);
  assert.deepEqual(plan({ method: 'PUT' }, { changes: max }), { outcome: 'refused', refusal: { why: 'tooOften' } });
  assert.equal(plan({ method: 'POST' }, { changes: max }).outcome, 'unchanged');
});

const soon = fc.integer({ min: -1000, max: 1000 }).map((ms) => NOW + ms);
const headers = fc.constantFrom<HeaderList>([], [['X-A', '1']], [['X-A', '2']]);
const callback = fc.constantFrom('https://c.example/1', 'https://c.example/2').map((url) => ({
  ...callbackTo(url),
  retriesMax: null,
}));

/** Fields of a message, and the same fields of a change: values that are often alike. */
const VALUES = {
  dueAt: soon,
  mustStartBefore: soon,
  method: fc.constantFrom('POST', 'PUT'),
  retriesMax: fc.nat(3),
  retryDelay: fc.constantFrom('1000', '2000'),
  retryJitter: fc.nat(2),
  timeoutMs: fc.integer({ min: 1000, max: 1002 }),
  labels: fc.subarray(['a', 'b']),
  priority: fc.nat(2),
  outage: fc.constantFrom('park', 'retry'),
  awaitAckMs: fc.constantFrom(1000, 2000),
} as const;
const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { freq: 2 });
const WAITING = fc.record({
  ...VALUES,
  mustStartBefore: orNull(soon),
  state: fc.constantFrom('pending', 'held', 'claimed'),
  retried: fc.nat(2),
  changes: fc.constantFrom(0, 1, CHANGES_MAX - 1, CHANGES_MAX),
  queueName: fc.constantFrom(null, null, 'orders'),
  kind: fc.constantFrom<MessageKind>('publish', 'callback'),
  redaction: fc.constantFrom(null, { body: true, allHeaders: false, headers: [] }),
});
const CHANGES = fc.record({
  ...Object.fromEntries(Object.entries(VALUES).map(([name, values]) => [name, orNull<unknown>(values)])),
  target: orNull(
    fc.constantFrom({ url: MESSAGE.url, host: MESSAGE.host }, { url: 'https://b.example/', host: 'b:443' }),
  ),
  body: orNull(fc.constant(new Uint8Array([1]))),
  forward: orNull(headers),
  callback: orNull(callback),
  failureCallback: orNull(callback),
  redaction: orNull(
    fc.constantFrom(
      { body: true, allHeaders: false, headers: [] },
      { body: false, allHeaders: false, headers: ['x-a'] },
    ),
  ),
  versions: fc.constantFrom(null, null, ['1-0', '1-1']),
});

/** What each name covers. A change counts itself in `changes`, and an endpoint loses its name with its URL. */
const FIELDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['nextDeliveryTime', ['dueAt']],
  ['url', ['url', 'host', 'endpointName']],
  ['header', ['headers']],
  ['maxRetries', ['retriesMax']],
  ['retryDelayExpression', ['retryDelay']],
  ['redactFields', ['redaction']],
  ['expiresAt', ['mustStartBefore']],
  ['awaitAck', ['awaitAckMs']],
]);

test('a change names what differs, leaves all else as it is, and gives another version; a refusal changes nothing', () => {
  const outcomes = new Map<string, number>();
  fc.assert(
    fc.property(WAITING, CHANGES, fc.boolean(), (some, asked, isNewBody) => {
      const before = { ...MESSAGE, ...some } as Message;
      const change = { ...NO_CHANGE, ...asked } as MessageChange;
      const isBodySame = change.body === null || !isNewBody;
      const kept = structuredClone(before);
      const planned = planChange(before, change, isBodySame);
      outcomes.set(planned.outcome, (outcomes.get(planned.outcome) ?? 0) + 1);
      assert.deepEqual(before, kept, 'the message before is not touched');
      if (planned.outcome !== 'changed') {
        assert.ok(!('message' in planned));
        return;
      }
      const after = planned.message;
      const differs = (name: keyof Message) => {
        try {
          assert.deepEqual(after[name], before[name]);
          return false;
        } catch {
          return true;
        }
      };
      const names = new Set<string>(planned.names);
      assert.equal(names.has('body'), !isBodySame);
      const covered = new Set(['changes', 'body']);
      for (const name of CHANGEABLE.filter((each) => each !== 'body' && each !== 'debounced')) {
        const fields = (FIELDS.get(name) ?? [name]) as (keyof Message)[];
        assert.equal(names.has(name), differs(fields[0]!), name);
        if (names.has(name)) for (const field of fields) covered.add(field);
      }
      for (const field of Object.keys(before) as (keyof Message)[]) {
        if (covered.has(field)) continue;
        const given = field === 'headers' ? change.forward : (change as Partial<Record<keyof Message, unknown>>)[field];
        if (given == null) assert.equal(after[field], before[field], `${field} is the same object`);
        else assert.deepEqual(after[field], before[field], `${field} was given as it is`);
      }
      assert.notEqual(versionOf(after), versionOf(before));
      const again = planChange(after, { ...change, versions: null }, true);
      assert.notEqual(again.outcome, 'changed', 'the same change once more makes no difference');
    }),
    // So many fields are seldom all alike by chance.
    { numRuns: 2000, examples: [[{} as never, {} as never, false]] },
  );
  assert.ok(['changed', 'unchanged', 'refused', 'active', 'otherVersion'].every((each) => outcomes.has(each)));
});
