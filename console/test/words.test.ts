// The parts of the console that are plain functions: cron in words, what the search box understands, drafts and snippets.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from 'postrider-sdk';
import { auditChips, auditQuery, parseAuditBox, withFilterValue } from '../src/audit/audit-filter.ts';
import { parseSearch, stringifySearch } from '../src/base/search.ts';
import { cronWords } from '../src/parts/cron-words.ts';
import { chipsOf, filterFromSearch, parseBox, streamFilter, withoutFilterValue } from '../src/parts/filter.ts';
import { callOf, draftOf } from '../src/parts/publish-again.ts';
import { pythonSnippet, typescriptSnippet } from '../src/send/snippets.ts';

test('a simple cron expression is described in words', () => {
  const words: Record<string, string | null> = {
    '* * * * *': 'Every minute',
    '*/5 * * * *': 'Every 5 minutes',
    '0 * * * *': 'Every hour',
    '30 * * * *': 'Every hour, at minute 30',
    '0 */6 * * *': 'Every 6 hours',
    '0 9 * * 1-5': 'At 09:00, Monday to Friday',
    '15 8,20 * * *': 'At 08:15 and 20:15',
    '0 0 1 * *': 'At 00:00, on day 1 of the month',
    '0 0 1 1,7 *': 'At 00:00, on day 1 of January and July',
    '0 12 * * 0': 'At 12:00, on Sunday',
    'CRON_TZ=Europe/Berlin 0 9 * * 1,3': 'At 09:00, on Monday and Wednesday, in Europe/Berlin',
    '@daily': 'At 00:00',
    '* * * * * *': 'Every second',
    '*/10 * * * * *': 'Every 10 seconds',
    '0 */5 * * * *': 'Every 5 minutes',
    '30 15 8 * * 1-5': 'At 08:15:30, Monday to Friday',
    '*/10 0 * * * *': null,
    '* * * * * * *': null,
    '@every 10s': 'Every 10 seconds',
    '@every 1h': 'Every hour',
    '@every 1h30m': 'Every 1h30m',
    '@every': null,
    '0 9 13 * 5': null,
    '1-5 * * * *': null,
    nonsense: null,
    '': null,
  };
  for (const [cron, expected] of Object.entries(words)) assert.equal(cronWords(cron), expected, cron);
});

test('the search box reads filters such as queue:orders out of the text', () => {
  assert.deepEqual(parseBox('queue:orders status:503 status:500 hello world'), {
    queueName: ['orders'],
    responseStatus: ['503', '500'],
    text: 'hello world',
  });
  const id = 'msg_01M7EZ927YM48C125CV0AFAWDP';
  assert.deepEqual(parseBox(id), { messageIds: [id] });
  // What only looks like a name is text: URLs have colons too.
  assert.deepEqual(parseBox('https://a.example/x nothing:known'), { text: 'https://a.example/x nothing:known' });
  assert.deepEqual(parseBox('  '), {});
  const since = parseBox('since:2h').fromDate?.[0] ?? '';
  assert.ok(Math.abs(Date.parse(since) - (Date.now() - 7_200_000)) < 10_000, since);
  assert.deepEqual(parseBox('until:2026-01-31'), { toDate: ['2026-01-31'] });
});

test('a filter is the same after it was written to the URL and read back', () => {
  const search = { state: ['FAILED', 'RETRY'], text: 'a&b=c #%', label: 'x' };
  assert.deepEqual(parseSearch(stringifySearch(search)), search);
  assert.equal(stringifySearch({ a: '', b: undefined, c: [] }), '');
  assert.deepEqual(filterFromSearch({ ...search, unknown: 'x' }), { ...search, label: ['x'] });
  assert.deepEqual(withoutFilterValue(search, 'state', 'FAILED').state, ['RETRY']);
  assert.equal('label' in withoutFilterValue(search, 'label', 'x'), false);
  assert.deepEqual(chipsOf(search), [{ name: 'label', value: 'x', label: 'label' }]);
  assert.deepEqual(streamFilter(filterFromSearch(search)), { label: ['x'] });
});

test('a word such as constructor is an ordinary search word', () => {
  assert.deepEqual(parseBox('constructor:x toString:y'), { text: 'constructor:x toString:y' });
  assert.deepEqual(Object.entries(parseSearch('?constructor=1&constructor=2')), [['constructor', ['1', '2']]]);
  assert.deepEqual(Object.entries(parseSearch('?__proto__=1')), [['__proto__', '1']]);
  assert.equal(cronWords('constructor'), null);
});

test('a message is turned into the call that publishes it again', () => {
  const message = {
    messageId: 'msg_1',
    url: 'https://a.example/b?c=1',
    method: 'PUT',
    header: { 'Content-Type': ['text/plain'], 'X-Tenant': ['acme'] },
    body: 'hello',
    maxRetries: 2,
    timeoutMs: 30_000,
    notBefore: 0,
    queueName: 'q',
    labels: ['a', 'b'],
  } as unknown as Message;
  const draft = draftOf(message, 30_000);
  assert.deepEqual(callOf(draft), {
    method: 'POST',
    path: `/v2/enqueue/q/${encodeURIComponent(message.url)}`,
    headers: { 'Content-Type': 'text/plain' },
    settings: { Method: 'PUT', Retries: '2', Label: 'a, b', 'Forward-X-Tenant': 'acme' },
    body: 'hello',
    repeat: 'key',
  });
  const typescript = typescriptSnippet(draft, 'http://x', 'Service-', null);
  assert.match(typescript, /postrider\.queue\("q"\)\.enqueue\(\{/);
  assert.match(typescript, /token: process\.env\.TOKEN/);
  assert.match(pythonSnippet(callOf(draft), 'http://x', 'Service-', 'dev'), /"Authorization": "Bearer dev"/);
});

test('the box of the audit reads filters out of the text, and a call to its end', () => {
  assert.deepEqual(parseAuditBox('orders by:ci by:app result:403 from:203.0.113.7 call:POST /v2/queues'), {
    target: ['orders'],
    token: ['ci', 'app'],
    result: ['403'],
    address: ['203.0.113.7'],
    call: ['POST /v2/queues'],
  });
  assert.deepEqual(parseAuditBox('call:postrider token create'), { call: ['postrider token create'] });
  assert.deepEqual(parseAuditBox('nothing:known constructor:x'), { target: ['nothing:known', 'constructor:x'] });
  assert.deepEqual(parseAuditBox('  '), {});
  const search = withFilterValue(withFilterValue({ all: 'true' }, 'target', 'a'), 'target', 'b');
  assert.deepEqual(search, { all: 'true', target: ['a', 'b'] });
  assert.deepEqual(withFilterValue(search, 'target', 'a').target, ['b', 'a']);
  assert.deepEqual(auditQuery({ ...search, fromDate: '2026-01-31', nonsense: 'x' }), {
    target: ['a', 'b'],
    fromDate: '2026-01-31',
  });
  assert.deepEqual(
    auditChips({ token: 'ci', address: ['a'], all: 'true' }).map(({ label, value }) => `${label} ${value}`),
    ['by ci', 'from a'],
  );
});
