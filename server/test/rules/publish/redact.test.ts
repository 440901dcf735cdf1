import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Redaction } from '../../../src/rules/delivery/message.ts';
import { BUDGETS, eachMax } from '../../../src/rules/limits/budgets.ts';
import { combinedRedaction, parseRedaction, redactBody, redactHeaders } from '../../../src/rules/publish/redact.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

test('fields are a list of body, headers and single headers, in any case', () => {
  const table: [string, Redaction][] = [
    ['body', { body: true, allHeaders: false, headers: [] }],
    ['header', { body: false, allHeaders: true, headers: [] }],
    ['Headers', { body: false, allHeaders: true, headers: [] }],
    ['header[Authorization]', { body: false, allHeaders: false, headers: ['authorization'] }],
    ['headers[X-A], header[x-a],header[ X-B ]', { body: false, allHeaders: false, headers: ['x-a', 'x-b'] }],
    [' BODY ,, header[A],header', { body: true, allHeaders: true, headers: ['a'] }],
  ];
  for (const [text, expected] of table) assert.deepEqual(parseRedaction(text), expected, text);
});

test('a problem names the field', () => {
  const table: [string, string][] = [
    ['', 'is empty; give one or more of body, headers, header[Name], separated by commas'],
    [' , ', 'is empty; give one or more of body, headers, header[Name], separated by commas'],
    ['body, url', '"url" is not one of body, headers, header[Name]'],
    ['header[]', '"header[]" is not one of body, headers, header[Name]'],
    ['header[a b]', '"header[a b]" is not one of body, headers, header[Name]'],
    ['header[a', '"header[a" is not one of body, headers, header[Name]'],
    ['body[a]', '"body[a]" is not one of body, headers, header[Name]'],
  ];
  for (const [text, problem] of table) assert.deepEqual(parseRedaction(text), { problem }, text);
});

test('a redacted body is shown as its hash', () => {
  const redaction: Redaction = { body: true, allHeaders: false, headers: [] };
  const shown = redactBody(redaction, new TextEncoder().encode('abc'), sha256);
  assert.equal(new TextDecoder().decode(shown), `REDACTED:${ABC}`);
  assert.match(new TextDecoder().decode(redactBody(redaction, new Uint8Array(), sha256)), /^REDACTED:e3b0c442/);
});

test('redacted headers keep name and place, and their value is shown as its hash', () => {
  const headers = [
    ['X-A', 'abc'],
    ['Content-Type', 'abc'],
    ['x-a', 'abc'],
    ['X-B', '\xe4'],
  ] as const;
  const hidden = `REDACTED:${ABC}`;
  assert.deepEqual(redactHeaders({ body: true, allHeaders: false, headers: ['x-a'] }, headers, sha256), [
    ['X-A', hidden],
    ['Content-Type', 'abc'],
    ['x-a', hidden],
    ['X-B', '\xe4'],
  ]);
  const all = redactHeaders({ body: false, allHeaders: true, headers: [] }, headers, sha256);
  assert.deepEqual(all.slice(0, 2), [
    ['X-A', hidden],
    ['Content-Type', hidden],
  ]);
  assert.equal(all[3]![1], `REDACTED:${sha256(Uint8Array.of(0xe4))}`);
});

test('fields that are not named are shown unchanged', () => {
  const name = fc.constantFrom('X-A', 'X-B', 'x-c');
  fc.assert(
    fc.property(fc.uint8Array(), fc.array(fc.tuple(name, fc.string())), (body, headers) => {
      const redaction: Redaction = { body: false, allHeaders: false, headers: ['x-b'] };
      assert.equal(redactBody(redaction, body, sha256), body);
      const shown = redactHeaders(redaction, headers, sha256);
      for (const [index, [shownName, value]] of shown.entries()) {
        assert.equal(shownName, headers[index]![0]);
        assert.equal(value.startsWith('REDACTED:'), shownName === 'X-B');
        if (shownName !== 'X-B') assert.equal(value, headers[index]![1]);
      }
    }),
  );
});

test('two redactions together hide whatever one of them hides, and never more names than one may have', () => {
  const name = fc.integer({ min: 0, max: 100 }).map((n) => `x-${n}`);
  const redaction = fc.option(
    fc.record({
      body: fc.boolean(),
      allHeaders: fc.boolean(),
      headers: fc.uniqueArray(name, { maxLength: BUDGETS.redactionNames.each! }),
    }),
  );
  const hides = (one: Redaction | null, header: string) =>
    one !== null && (one.allHeaders || one.headers.includes(header));
  fc.assert(
    fc.property(redaction, redaction, name, (one, other, header) => {
      const both = combinedRedaction(one, other);
      assert.equal(both?.body ?? false, (one?.body || other?.body) ?? false);
      if (hides(one, header) || hides(other, header)) assert.ok(hides(both, header));
      assert.ok((both?.headers.length ?? 0) <= BUDGETS.redactionNames.each!);
    }),
  );
  const one: Redaction = { body: false, allHeaders: false, headers: ['x-a'] };
  assert.deepEqual(combinedRedaction(one, { ...one, headers: ['x-b'] })?.headers, ['x-a', 'x-b']);
  assert.equal(combinedRedaction(null, null), null);
});

test('as many names as allowed stay names; one more is refused, and joined it hides all headers', () => {
  const max = eachMax('redactionNames');
  const names = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => `header[x-${from + index}]`).join(',');
  const all = parseRedaction(names(0, max));
  assert.ok(!('problem' in all) && all.headers.length === max);
  assert.ok('problem' in parseRedaction(names(0, max + 1)));
  const [half, other, more] = [names(0, max - 1), names(max - 1, 1), names(max, 1)].map((text) => {
    const parsed = parseRedaction(text);
    assert.ok(!('problem' in parsed));
    return parsed;
  });
  const exact = combinedRedaction(half!, other!)!;
  assert.deepEqual([exact.allHeaders, exact.headers.length], [false, max]);
  assert.deepEqual(combinedRedaction(exact, more!), { body: false, allHeaders: true, headers: [] });
});
