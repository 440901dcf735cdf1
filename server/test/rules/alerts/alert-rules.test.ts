// The limits of what the rule of an alert may say.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAlert } from '../../../src/rules/alerts/alert-rules.ts';

const TARGET = { url: 'https://b.example/alert' };

/** What is wrong with the alert; empty if nothing is. */
function problems(rule: object, target: object = TARGET): readonly string[] {
  const found = readAlert({ rule, target }, { freeBytes: 1000 });
  return 'problems' in found ? found.problems : [];
}

test('a number or a duration may be its least and its most, and nothing beyond', () => {
  for (const [rule, field, right, wrong] of [
    [{ type: 'messageFailed' }, 'count', [1, 1000], [0, 1001, 1.5, '1']],
    [{ type: 'messageFailed' }, 'window', ['1m', '1d'], ['59999ms', '1d1ms']],
    [{ type: 'queueStalled' }, 'olderThan', ['10s', 10, '7d'], ['9999ms', '7d1ms', true, ['10s']]],
    [{ type: 'failureRate' }, 'share', [0.001, 1], [0, -1, 1.1, '0.5']],
  ] as const) {
    for (const value of right) assert.deepEqual(problems({ ...rule, [field]: value }), [], `${field} ${value}`);
    for (const value of wrong) assert.equal(problems({ ...rule, [field]: value }).length, 1, `${field} ${value}`);
  }
});

test('a label is one label', () => {
  const labelled = (label: unknown) => problems({ type: 'messageFailed', label }).length;
  assert.equal(labelled('red'), 0);
  for (const label of ['red, blue', 'red,', ' red', 'a'.repeat(1000), 7])
    assert.equal(labelled(label), 1, String(label));
});

test('a target without a URL that can be called, or with another format, is refused', () => {
  assert.deepEqual(problems({ type: 'quotaNear' }, { url: 7 }), ['target.url: must be a URL']);
  assert.match(problems({ type: 'quotaNear' }, { url: 'ftp://x' })[0]!, /^target.url: /);
  assert.match(
    problems({ type: 'quotaNear' }, { ...TARGET, format: 'xml' })[0]!,
    /^target.format: must be one of json, slack/,
  );
});

test('a field that is like none of the rule is answered with the list of fields', () => {
  assert.deepEqual(problems({ type: 'scheduleFailed', zebra: 1 }), [
    'rule.zebra: there is no such field, the fields are type, schedule',
  ]);
});
