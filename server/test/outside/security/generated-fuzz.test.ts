// Every parameter and field of every operation in the OpenAPI document, with hostile values, against a real process. In
// the end it is the same process, no answer was a fault, its memory is bounded, and others are delivered to.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROBLEMS } from '../../../src/rules/requests/problem.ts';
import { lengthOf } from '../../support/campaign.ts';
import { startChild } from '../isolation/child.ts';
import { chosen, type Document, type GeneratedCall, generatedCalls } from './generated-calls.ts';

/** Another day, other orders: the seed is in the message of a failure. */
const SEED = Number(process.env.POSTRIDER_FUZZ_SEED ?? 20260115);
const CALLS_MAX = lengthOf({ short: 800, rest: 400, whole: 2000 });
const AT_ONCE = 8;
const RESIDENT_BYTES_MAX = 700 * 1024 * 1024;
/** They end the test or the access to it rather than the service. */
const LEFT_OUT = /\/v2\/events\/stream|\/v2\/keys\/rotate|\/tokens\/\{tokenId\}/;

test('hostile values in every place of every operation are taken or refused, never a fault', async (t) => {
  const child = await startChild(t, [], { NODE_OPTIONS: '--max-old-space-size=512' });
  const other = await child.account('other');
  const document = (await child.call('GET', '/openapi.json')).json<Document>();
  const paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => !LEFT_OUT.test(path)));
  const all = generatedCalls({ paths }, 'http://127.0.0.1:1/');
  const operations = new Set(
    all.map(({ method, what, path }) => `${method} ${path.split('/').slice(0, 3).join('/')} ${what}`),
  );
  assert.ok(operations.size > 200, `only ${operations.size} places were found`);
  // What ended the process once is always among them.
  const inherited = all.filter(({ path, what }) => path.includes('=constructor') && what.startsWith('query'));
  assert.ok(inherited.some(({ path }) => path.includes('order=constructor')));
  const calls = [...inherited, ...chosen(all, SEED, CALLS_MAX)];
  const known = new Set<string>(Object.keys(PROBLEMS));

  async function judge(call: GeneratedCall): Promise<void> {
    const { method, path, headers, body, what } = call;
    const place = `seed ${SEED}: ${method} ${path.slice(0, 120)}, ${what}`;
    const answer = await child
      .call(method, path, child.token, { headers, ...(body !== undefined && { body }) })
      .catch((error: Error) => assert.fail(`${place}: no answer, ${error.message}`));
    assert.ok(answer.status < 500 || answer.status === 503, `${place}: ${answer.status} ${answer.text.slice(0, 300)}`);
    if (answer.status < 400) return;
    const refused = answer.json<{ code?: string } | unknown[]>();
    if (!Array.isArray(refused)) assert.ok(known.has(refused.code ?? ''), `${place}: ${answer.text.slice(0, 300)}`);
  }

  const rest = calls.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const call of rest) await judge(call);
    }),
  );
  assert.ok(child.isRunning);
  assert.doesNotMatch(child.process.stderr, /"fault"/);
  await child.delivers(other);
  assert.ok(child.residentBytes() < RESIDENT_BYTES_MAX, `${child.residentBytes()} bytes resident`);
});
