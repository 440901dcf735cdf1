import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  parseAwaitAck,
  parseCallbackUrl,
  parseCount,
  parseDeduplicationId,
  parseDelayExpression,
  parseDuration,
  parseFlag,
  parseFlowKey,
  parseFlowLimits,
  parseLabelList,
  parseMethod,
  parseOrderKey,
  parseRedactFields,
  parseText,
  parseTimeout,
} from '../../../src/rules/publish/setting-values.ts';

const problemOf = (parsed: object) => ('problem' in parsed ? parsed.problem : `accepted: ${JSON.stringify(parsed)}`);

test('a method is one of five, in any case of letters', () => {
  assert.deepEqual(parseMethod('put'), { value: 'PUT' });
  assert.deepEqual(parseMethod('GET'), { value: 'GET' });
  assert.equal(problemOf(parseMethod('HEAD')), 'must be one of GET, POST, PUT, PATCH, DELETE');
});

test('a count is a whole number, and one that is too large to be exact is the largest exact one', () => {
  assert.deepEqual(parseCount('0'), { value: 0 });
  assert.deepEqual(parseCount('007'), { value: 7 });
  assert.deepEqual(parseCount('9'.repeat(30)), { value: Number.MAX_SAFE_INTEGER });
  for (const text of ['-1', '1.5', 'x', '1e3', '0x1'])
    assert.equal(problemOf(parseCount(text)), 'must be a whole number, 0 or more');
});

test('a flag is true or false, in any case of letters', () => {
  assert.deepEqual(['true', 'TRUE', 'false', 'False'].map(parseFlag), [
    { value: true },
    { value: true },
    { value: false },
    { value: false },
  ]);
  for (const text of ['yes', '1', 'truefalse']) assert.equal(problemOf(parseFlag(text)), 'must be true or false');
});

test('a delay may be 0, a timeout may not', () => {
  assert.deepEqual(parseDuration('90s'), { value: 90_000 });
  assert.deepEqual(parseDuration('0'), { value: 0 });
  assert.match(problemOf(parseDuration('soon')) as string, /must be a duration such as/);
  assert.deepEqual(parseTimeout('250ms'), { value: 250 });
  for (const text of ['0', '0s', 'soon'])
    assert.match(problemOf(parseTimeout(text)) as string, /must be a duration over 0/);
});

test('an ack is awaited for at least a second', () => {
  assert.deepEqual(parseAwaitAck('1s'), { value: 1000 });
  for (const text of ['0', '999ms', 'soon'])
    assert.equal(problemOf(parseAwaitAck(text)), 'must be a duration of at least 1s, such as 30m');
});

test('an expression for the delay is kept as it was written, if it can be computed', () => {
  assert.deepEqual(parseDelayExpression('1000 * (1 + retried)'), { value: '1000 * (1 + retried)' });
  assert.notEqual(problemOf(parseDelayExpression('1000 *')), undefined);
  assert.ok('problem' in parseDelayExpression('1000 *'));
});

test('keys and ids have their own rules', () => {
  assert.deepEqual(parseFlowKey('shop'), { value: 'shop' });
  assert.match(problemOf(parseFlowKey('ä')) as string, /^must be 1 to 256 printable ASCII/);
  assert.deepEqual(parseOrderKey('x'.repeat(256)), { value: 'x'.repeat(256) });
  assert.equal(problemOf(parseOrderKey('x'.repeat(257))), 'must have at most 256 characters');
  assert.deepEqual(parseDeduplicationId('order 7'), { value: 'order 7' });
  assert.equal(problemOf(parseDeduplicationId('a:b')), 'must not contain ":"');
  assert.deepEqual(parseText(' as it is '), { value: ' as it is ' });
});

test('what a parser refuses is refused with its reason, and what it accepts is the value', () => {
  assert.deepEqual(parseLabelList('a, b'), { value: ['a', 'b'] });
  assert.ok('problem' in parseCallbackUrl('ftp://a.b/'));
  assert.deepEqual(parseFlowLimits('rate=3'), { value: { parallelism: null, rate: 3, periodMs: 1000 } });
  assert.ok('problem' in parseFlowLimits('rate=0'));
  assert.deepEqual(parseRedactFields('body'), { value: { body: true, allHeaders: false, headers: [] } });
  assert.ok('problem' in parseRedactFields('everything'));
});
