import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LABELS_MAX, parseLabels } from '../../../src/rules/publish/labels.ts';

test('labels are a list, in order, without blanks around them, empty ones and duplicates', () => {
  const table: [string, string[]][] = [
    ['a', ['a']],
    [' b , a,, b ,', ['b', 'a']],
    ['team/x, user:42, k=v, two words, A, a', ['team/x', 'user:42', 'k=v', 'two words', 'A', 'a']],
    ['', []],
    [' , ', []],
    ['x'.repeat(128), ['x'.repeat(128)]],
  ];
  for (const [text, labels] of table) assert.deepEqual(parseLabels(text), labels, text);
});

test('a problem names the label', () => {
  const table: [string, RegExp][] = [
    [`a,${'x'.repeat(129)}`, /^"x{40}"… has 129 characters; the limit is 128$/],
    ['a,\xe4', /^"\xe4" has a character that is not printable ASCII$/],
    ['a\nb', /^"a\\nb" has a character/],
    ['1,2,3,4,5,6,7,8,9,10,11', /^has too many labels; the limit is 10$/],
  ];
  for (const [text, problem] of table) {
    const parsed = parseLabels(text);
    assert.match('problem' in parsed ? parsed.problem : 'accepted', problem, text);
  }
  assert.deepEqual(parseLabels('1,2,3,4,5,6,7,8,9,10,1,2'), ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10']);
});

test('labels that were read are read again as the same', () => {
  const unit = fc.constantFrom(...'ab ,:/\xe4\n');
  fc.assert(
    fc.property(fc.string({ unit }), (text) => {
      const labels = parseLabels(text);
      if ('problem' in labels) return;
      assert.ok(labels.length <= LABELS_MAX);
      assert.deepEqual(parseLabels(labels.join(', ')), labels);
    }),
    { numRuns: 1_000 },
  );
});
