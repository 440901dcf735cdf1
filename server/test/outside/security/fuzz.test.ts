// A few thousand requests that are nearly right: put together from good and bad parts, or good ones with some bytes
// changed. Whatever they are, the answer is never a 5xx, and every refusal has the one shape and a known code.

import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import fc from 'fast-check';
import { PROBLEMS, type ProblemCode } from '../../../src/rules/requests/problem.ts';
import { lengthOf } from '../../support/campaign.ts';
import { type Answered, exchange } from '../../support/client.ts';
import { type Rider, sharedRider } from '../../support/harness.ts';

const RUNS = lengthOf({ short: 300, rest: 150, whole: 1000 });

const OWN_HEADERS = [
  'Service-Method',
  'Service-Retries',
  'Service-Delay',
  'Service-Not-Before',
  'Service-Timeout',
  'Service-Retry-Delay',
  'Service-Callback',
  'Service-Callback-Retries',
  'Service-Callback-Forward-X',
  'Service-Failure-Callback',
  'Service-Failure-Callback-Delay',
  'Service-Forward-X',
  'Service-Forward-Host',
  'Service-Forward-Content-Type',
  'service-forward-',
  'Service-Hops',
  'Content-Type',
  'traceparent',
];

const VALUES = [
  '',
  '0',
  '3',
  '-1',
  '1e9',
  '999999999',
  '5s',
  '1d10h',
  '10x',
  'PUT',
  'get',
  'null',
  'retried * 1000',
  'pow(2, retried',
  '1/0',
  'http://127.0.0.1:1/',
  'https://[::1]:1/a?b',
  'http://user@x/',
  'application/json',
  '\u00e9\u00ff',
];

const DESTINATIONS = [
  'http://127.0.0.1:1/',
  'https://[::1]:1/a%2Fb?x=//',
  'http:/127.0.0.1:1',
  'https%3A%2F%2F127.0.0.1%3A1%2F',
  'https%3A%2F%2F%zz',
  'HTTP://127.1:1',
  'http://0x7f.1:1/',
  'http://127.0.0.1:99999/',
  'http://[::1',
  'http://@/',
  'http://',
  'topic',
  'no-topic',
  '..',
  '%2e%2e%2fbatch',
  '',
];

const printable = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) });
const destination = fc.oneof(fc.constantFrom(...DESTINATIONS), printable);
const headerValue = fc.oneof(fc.constantFrom(...VALUES), printable);

/** The one shape of a refusal; a batch that is refused whole has it in each slot. */
function requireKnownAnswer(answer: Answered | null, what: string): void {
  assert.ok(answer, `no answer to ${what}`);
  // A damaged head may name another transfer coding, or another version.
  const isFault = answer.status >= 500 && answer.status !== 501 && answer.status !== 505;
  assert.ok(!isFault, `${answer.status} ${answer.text} to ${what}`);
  assert.match(answer.headers['content-type'] ?? '', /^application\/json/, what);
  const body = answer.json<unknown>();
  if (answer.status < 300) return;
  const refusals = Array.isArray(body) ? body : [body];
  for (const refused of refusals as { error: string; code: ProblemCode }[]) {
    assert.deepEqual(Object.keys(refused), ['error', 'code'], `${answer.text} to ${what}`);
    assert.ok(refused.error.length > 0);
    assert.ok(Object.hasOwn(PROBLEMS, refused.code), refused.code);
    if (!Array.isArray(body)) assert.equal(PROBLEMS[refused.code][0], answer.status, answer.text);
  }
}

suite('nearly right requests', () => {
  // In `serve` every destination above is refused by the egress guard: nothing leaves this machine.
  const shared = sharedRider({ command: 'serve' });
  let rider: Rider;

  before(async () => {
    rider = shared();
    await rider.manage('POST', '/v2/topics/topic/endpoints', { endpoints: [{ url: 'http://127.0.0.1:1/' }] });
  });

  test('to enqueue and publish are taken or refused, never a fault', async () => {
    const headers = fc.uniqueArray(fc.tuple(fc.constantFrom(...OWN_HEADERS), headerValue), {
      selector: ([name]) => name,
      maxLength: 4,
    });
    const start = fc.constantFrom(
      '/v2/enqueue/q/',
      '/v2/enqueue/a%20b/',
      '/v2/enqueue//',
      '/v2/enqueue/',
      '/v2/publish/',
    );
    const property = fc.asyncProperty(start, destination, headers, async (path, to, given) => {
      const options = { headers: Object.fromEntries(given), body: 'x' };
      requireKnownAnswer(await rider.call('POST', path + to, options), JSON.stringify({ path, to, given }));
    });
    await fc.assert(property, { numRuns: RUNS });
  });

  test('to batch are taken or refused, never a fault', async () => {
    const value = fc.oneof(headerValue, fc.constant(null), fc.integer(), fc.array(headerValue, { maxLength: 2 }));
    const element = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record(
          {
            destination: fc.oneof(destination, fc.string(), fc.constant(null)),
            headers: fc.oneof(
              fc.dictionary(fc.oneof(fc.constantFrom(...OWN_HEADERS), fc.string()), value),
              fc.string(),
            ),
            body: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
            bodyBase64: fc.oneof(fc.base64String(), fc.string()),
            queue: fc.oneof(fc.constantFrom('q', '', 'a b'), fc.jsonValue()),
          },
          { requiredKeys: ['destination'] },
        ),
      },
      { weight: 1, arbitrary: fc.jsonValue() },
    );
    const property = fc.asyncProperty(fc.array(element, { maxLength: 4 }), async (elements) => {
      requireKnownAnswer(await rider.batch(elements), JSON.stringify(elements));
    });
    await fc.assert(property, { numRuns: RUNS / 2 });
  });

  test('of JSON with some bytes changed are taken or refused, never a fault', async () => {
    const good = JSON.stringify([
      { destination: 'http://127.0.0.1:1/', headers: { 'Service-Delay': '5s', 'Service-Forward-X': ['a', 'b'] } },
      { destination: 'topic', body: 'text', queue: 'q' },
    ]);
    const property = fc.asyncProperty(changesTo(good), async (body) => {
      requireKnownAnswer(await rider.call('POST', '/v2/batch', { body }), JSON.stringify(body.toString('latin1')));
    });
    await fc.assert(property, { numRuns: RUNS / 2 });
  });

  test('of HTTP with some bytes of the head changed are answered, never with a fault', async () => {
    const head =
      `POST /v2/enqueue/q/http://127.0.0.1:1/a%2Fb?x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${rider.token}\r\n` +
      'Service-Retries: 3\r\nService-Forward-X-Tag: some value\r\nContent-Type: text/plain';
    // Behind it so much that every length that is still believed is there.
    const rest = Buffer.from(`\r\nContent-Length: 2\r\n\r\nok${'\r\n'.repeat(2000)}`);
    const property = fc.asyncProperty(changesTo(head), async (changed) => {
      const answer = await exchange(rider.url, Buffer.concat([changed, rest]));
      requireKnownAnswer(answer, JSON.stringify(changed.toString('latin1')));
    });
    await fc.assert(property, { numRuns: RUNS });
  });

  test('leave the service as well as it was', async () => {
    assert.equal((await rider.call('GET', '/readyz')).status, 200);
  });
});

/** The text with one to four bytes replaced, put in or left out. */
function changesTo(text: string): fc.Arbitrary<Buffer> {
  const original = Buffer.from(text, 'latin1');
  const byte = fc.oneof(fc.constantFrom(0, 9, 10, 13, 32, 34, 37, 47, 58, 91, 123), fc.integer({ min: 0, max: 255 }));
  const change = fc.record({ at: fc.nat(original.length - 1), how: fc.constantFrom('put', 'insert', 'drop'), byte });
  return fc.array(change, { minLength: 1, maxLength: 4 }).map((changes) => {
    const bytes = [...original];
    for (const { at, how, byte: value } of changes) {
      if (how === 'drop') bytes.splice(at, 1);
      else bytes.splice(at, how === 'put' ? 1 : 0, value);
    }
    return Buffer.from(bytes);
  });
}
