import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { backoffMs } from '../../../src/rules/delivery/backoff.ts';
import { parseRetryDelay, retryDelayMs } from '../../../src/rules/delivery/retry-delay.ts';

const DAY_MS = 86_400_000;

function evaluated(text: string, retried = 0): number {
  const parsed = parseRetryDelay(text);
  if ('problem' in parsed) assert.fail(`${text}: ${parsed.problem}`);
  return parsed.evaluate(retried);
}

function problemOf(text: string): string {
  const parsed = parseRetryDelay(text);
  if (!('problem' in parsed)) assert.fail(`accepted: ${text}`);
  return parsed.problem;
}

test('arithmetic follows the usual order', () => {
  const table: [string, number][] = [
    ['1', 1],
    ['1.5', 1.5],
    ['1+2*3', 7],
    ['(1+2)*3', 9],
    ['10-3-2', 5],
    ['100/5/2', 10],
    ['2*-3', -6],
    ['-2*3', -6],
    ['--2', 2],
    ['1--2', 3],
    ['-(1+2)', -3],
    [' 1\t+ 2 ', 3],
    ['1/0', Number.POSITIVE_INFINITY],
    ['0/0', Number.NaN],
  ];
  for (const [text, value] of table) assert.equal(evaluated(text), value, text);
});

test('each function does what its name says', () => {
  const table: [string, number][] = [
    ['pow(2, 10)', 1024],
    ['exp(0)', 1],
    ['exp(2)', Math.exp(2)],
    ['sqrt(16)', 4],
    ['abs(-3)', 3],
    ['floor(1.9)', 1],
    ['ceil(1.1)', 2],
    ['round(1.5)', 2],
    ['min(3)', 3],
    ['min(3,1,2)', 1],
    ['max(3)', 3],
    ['max(1, max(5, 2), 3)', 5],
    ['floor ( 1.9 )', 1],
  ];
  for (const [text, value] of table) assert.equal(evaluated(text), value, text);
});

test('"retried" is the number of retries made so far', () => {
  assert.equal(evaluated('1000*(1+retried)', 0), 1_000);
  assert.equal(evaluated('1000*(1+retried)', 4), 5_000);
  assert.equal(evaluated('pow(2,retried)*1000', 3), 8_000);
});

test('a fault is named with its place', () => {
  const table: [string, RegExp][] = [
    ['', /is empty/],
    ['   ', /is empty/],
    ['1+', /expected, not the end at character 3$/],
    ['(1', /"\)" expected, not the end at character 3$/],
    ['1)', /unexpected "\)" at character 2$/],
    ['1 2', /unexpected "2" at character 3$/],
    ['1e3', /unexpected "e" at character 2$/],
    ['.5', /expected, not "\." at character 1$/],
    ['5.', /unexpected "\." at character 2$/],
    ['+1', /expected, not "\+" at character 1$/],
    ['2**3', /expected, not "\*" at character 3$/],
    ['2^3', /unexpected "\^" at character 2$/],
    ['7%2', /unexpected "%" at character 2$/],
    ['1 + foo', /unknown name "foo" .* at character 5$/],
    ['Retried', /unknown name "Retried" .* at character 1$/],
    ['toString()', /unknown name "toString" .* at character 1$/],
    ['__proto__', /unknown name "__proto__" .* at character 1$/],
    ['constructor("x")', /unknown name "constructor" .* at character 1$/],
    ['retried(1)', /unexpected "\(" at character 8$/],
    ['exp', /"\(" expected after "exp", not the end at character 4$/],
    ['exp()', /expected, not "\)" at character 5$/],
    ['1+exp(1,2)', /"exp" takes 1 argument\(s\), not 2 at character 3$/],
    ['pow(2)', /"pow" takes 2 argument\(s\), not 1 at character 1$/],
    ['pow(1,2,3)', /"pow" takes 2 argument\(s\), not 3 at character 1$/],
    ['min()', /expected, not "\)" at character 5$/],
    ['max(1,)', /expected, not "\)" at character 7$/],
    ['max(1 2)', /"," or "\)" expected, not "2" at character 7$/],
    ['1\n+1', /unexpected "\\n" at character 2$/],
    ['1;2', /unexpected ";" at character 2$/],
  ];
  for (const [text, problem] of table) assert.match(problemOf(text), problem, text);
});

test('length and nesting are limited', () => {
  assert.equal(evaluated(`1${'+1'.repeat(127)}`), 128);
  assert.match(problemOf(`11${'+1'.repeat(127)}1`), /257 characters; the limit is 256/);
  assert.equal(evaluated(`${'('.repeat(32)}1${')'.repeat(32)}`), 1);
  assert.match(problemOf(`${'('.repeat(33)}1${')'.repeat(33)}`), /nested more than 32 deep at character 34$/);
  assert.equal(evaluated(`${'-'.repeat(32)}1`), 1);
  assert.match(problemOf(`${'-'.repeat(33)}1`), /nested more than 32 deep/);
  assert.match(problemOf(`${'exp('.repeat(33)}1${')'.repeat(33)}`), /nested more than 32 deep/);
});

test('the wait is rounded up and stays between zero and a day', () => {
  assert.equal(retryDelayMs('1.2', 0), 2);
  assert.equal(retryDelayMs('1000 * (1 + retried)', 2), 3_000);
  assert.equal(retryDelayMs('0', 0), 0);
  assert.equal(retryDelayMs('-5', 0), 0);
  assert.ok(Object.is(retryDelayMs('-0.5', 0), 0));
  assert.ok(Object.is(retryDelayMs('-0', 0), 0));
  assert.equal(retryDelayMs('86400000.5', 0), DAY_MS);
  assert.equal(retryDelayMs('1/0', 0), DAY_MS);
  assert.equal(retryDelayMs('-1/0', 0), 0);
  assert.equal(retryDelayMs('exp(1000 * retried)', 100), DAY_MS);
});

test('a value that is not a number gives the built-in backoff', () => {
  for (const text of ['0/0', 'sqrt(-1)', '1/0-1/0', 'max(1, 0/0)']) assert.equal(retryDelayMs(text, 2), backoffMs(2));
});

test('a stored expression that cannot be read gives the built-in backoff', () => {
  assert.equal(retryDelayMs('2 ** retried', 3), backoffMs(3));
  assert.equal(retryDelayMs('', 0), backoffMs(0));
});

/** An expression as text, with its value computed by JavaScript's own operators. */
const expression: fc.Arbitrary<{ text: string; value: number }> = fc.letrec<{
  any: { text: string; value: number };
  leaf: { text: string; value: number };
}>((tie) => ({
  leaf: fc.oneof(
    fc.nat(100).map((n) => ({ text: String(n), value: n })),
    fc.nat(999).map((n) => ({ text: (n / 100).toFixed(2), value: Number((n / 100).toFixed(2)) })),
    fc.constant({ text: 'retried', value: 3 }),
  ),
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    fc.tuple(tie('any'), fc.constantFrom('+', '-', '*', '/'), tie('any')).map(([a, op, b]) => ({
      text: `(${a.text}) ${op} (${b.text})`,
      value: { '+': a.value + b.value, '-': a.value - b.value, '*': a.value * b.value, '/': a.value / b.value }[op]!,
    })),
    tie('any').map((a) => ({ text: `-(${a.text})`, value: -a.value })),
    tie('any').map((a) => ({ text: `abs(${a.text})`, value: Math.abs(a.value) })),
    fc
      .tuple(tie('any'), tie('any'))
      .map(([a, b]) => ({ text: `max(${a.text},${b.text})`, value: Math.max(a.value, b.value) })),
  ),
})).any;

test('a generated expression has the value JavaScript gives it', () => {
  fc.assert(
    fc.property(expression, ({ text, value }) => {
      fc.pre(text.length <= 256);
      assert.equal(evaluated(text, 3), value);
    }),
    { numRuns: 500 },
  );
});

test('whatever the text, parsing ends without throwing and the wait is a whole number within a day', () => {
  const pieces = [
    '(',
    ')',
    ',',
    '+',
    '-',
    '*',
    '/',
    '1',
    '0',
    '.5',
    '2.5',
    ' ',
    'retried',
    'pow',
    'exp',
    'max',
    'x',
    '😀',
  ];
  const noise = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(noise, fc.nat(200), (text, retried) => {
      const ms = retryDelayMs(text, retried);
      assert.ok(Number.isInteger(ms) && ms >= 0 && ms <= DAY_MS);
      const parsed = parseRetryDelay(text);
      if ('problem' in parsed) assert.notEqual(parsed.problem, '');
    }),
    { numRuns: 2_000 },
  );
});

test('an expression may have 256 characters, and is kept without the blanks around it', () => {
  const parsed = parseRetryDelay(`${' '.repeat(255)}5`);
  assert.equal('problem' in parsed ? parsed.problem : parsed.expression, '5');
  assert.match(problemOf(`${' '.repeat(256)}5`), /has 257 characters; the limit is 256/);
});

test('every argument of a function nests', () => {
  const nested = (times: number) => `${'max(0,'.repeat(times)}1${')'.repeat(times)}`;
  assert.equal(evaluated(nested(31)), 1);
  assert.match(problemOf(nested(33)), /nested more than 32 deep/);
});
