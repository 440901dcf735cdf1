import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '../../../src/rules/delivery/message.ts';
import { retriedMessage, retryWithChanges } from '../../../src/rules/delivery/retry.ts';
import { parsePublishSettings } from '../../../src/rules/publish/publish-settings.ts';
import { callbackTo, claimOf, countingIds, FAILURE_URL, planned, request, settings } from '../given.ts';

const LATER = Date.UTC(2026, 1, 1);
const RULES = { headerPrefix: 'Service-', forwardHeadersMax: 64, forwardHeaderBytesMax: 16_384, hopsMax: 10 };

const DEAD: Message = {
  ...claimOf({
    queueName: 'orders',
    settings: settings({
      retries: 2,
      retryDelay: '1000',
      retryJitter: 10,
      timeoutMs: 5000,
      method: 'PUT',
      forward: [['X-A', 'a']],
    }),
    callback: callbackTo(FAILURE_URL),
    labels: ['red'],
    orderKey: 'k',
    redaction: { body: true, allHeaders: false, headers: [] },
    deduplication: { id: 'once' },
  }).message,
  state: 'failed',
  retried: 2,
  attempts: 3,
  hops: 1,
};

const again = () => retriedMessage(DEAD, LATER, countingIds());

test('a dead letter is sent again as it was, as a new message that is due at once', () => {
  const { id, createdAt, dueAt, sourceMessageId, deduplication, ...same } = again();
  assert.deepEqual([createdAt, dueAt, sourceMessageId, deduplication], [LATER, LATER, DEAD.id, null]);
  assert.equal(id, 'msg_1');
  for (const name of Object.keys(same) as (keyof typeof same)[]) assert.deepEqual(same[name], DEAD[name], name);
  assert.ok(!('state' in same));
});

test('it has passed through the service as often as the dead letter, or as the request that asked for it', () => {
  assert.equal(again().hops, 1);
  assert.equal(retriedMessage(DEAD, LATER, countingIds(), 4).hops, 4);
});

function changed(headers: readonly (readonly [string, string])[]) {
  const given = parsePublishSettings(headers, RULES);
  if ('problem' in given) throw new Error(given.problem.message);
  return retryWithChanges(again(), planned({ ...given, destination: request().destination })[0]!, given);
}

test('without changes it keeps every setting', () => {
  const { method, retriesMax, retryDelay, retryJitter, timeoutMs, ...kept } = changed([]);
  const { callback, failureCallback, labels, orderKey } = kept;
  assert.deepEqual([method, retriesMax, retryDelay, retryJitter, timeoutMs], ['PUT', 2, '1000', 10, 5000]);
  assert.deepEqual([callback, failureCallback, labels, orderKey], [DEAD.callback, null, ['red'], 'k']);
  assert.equal(changed([]).deduplication, null);
});

test('each setting that is given replaces the one it had', () => {
  assert.equal(changed([['Service-Method', 'PATCH']]).method, 'PATCH');
  assert.equal(changed([['Service-Retries', '0']]).retriesMax, 0);
  assert.equal(changed([['Service-Retry-Delay', '7']]).retryDelay, '7');
  assert.equal(changed([['Service-Retry-Jitter', '50%']]).retryJitter, 50);
  assert.equal(changed([['Service-Timeout', '9s']]).timeoutMs, 9000);
  assert.equal(changed([['Service-Callback', 'https://n.example/']]).callback?.url, 'https://n.example/');
  assert.equal(
    changed([['Service-Failure-Callback', 'https://n.example/']]).failureCallback?.url,
    'https://n.example/',
  );
  assert.deepEqual(changed([['Service-Label', 'blue']]).labels, ['blue']);
  assert.notEqual(changed([['Service-Deduplication-Id', 'x']]).deduplication, null);
});

test('its redaction can only be widened', () => {
  assert.deepEqual(changed([]).redaction, { body: true, allHeaders: false, headers: [] });
  assert.deepEqual(changed([['Service-Redact-Fields', 'header[X-A]']]).redaction, {
    body: true,
    allHeaders: false,
    headers: ['x-a'],
  });
});

test('a forwarded header replaces the one of the same name, in any case of letters, and the others stay', () => {
  const { headers } = changed([
    ['Service-Forward-x-A', 'b'],
    ['Service-Forward-X-C', 'c'],
  ]);
  assert.deepEqual(headers, [
    ['x-A', 'b'],
    ['X-C', 'c'],
  ]);
  assert.deepEqual(changed([['Service-Forward-X-C', 'c']]).headers, [
    ['X-A', 'a'],
    ['X-C', 'c'],
  ]);
});
