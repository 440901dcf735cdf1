import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  contentKey,
  type DeduplicatedContent,
  deduplicationIdProblem,
} from '../../../src/rules/publish/deduplication.ts';

test('an id is what a header can carry, without a colon', () => {
  for (const id of ['a', 'order 42', 'a/b?c', '\xe4', 'x'.repeat(256)])
    assert.equal(deduplicationIdProblem(id), null, id);
  const table: [string, RegExp][] = [
    ['', /is empty/],
    ['a:b', /must not contain ":"/],
    ['x'.repeat(257), /has 257 characters; the limit is 256/],
    ['a\nb', /control character/],
    ['a\tb', /control character/],
    ['a\x7f', /control character/],
    ['\u0100', /outside Latin-1/],
  ];
  for (const [id, problem] of table) assert.match(deduplicationIdProblem(id) ?? '', problem, JSON.stringify(id));
});

const content: DeduplicatedContent = {
  destination: 'https://a.b/c',
  body: Uint8Array.of(1, 2, 3),
  contentType: 'text/plain',
  headers: [
    ['X-A', '1'],
    ['X-B', '2'],
  ],
};
const keyOf = (change: Partial<DeduplicatedContent>) =>
  Buffer.from(contentKey({ ...content, ...change })).toString('hex');

test('content is the same whatever the order of its headers and the case of their names', () => {
  const reordered = [
    ['x-b', '2'],
    ['x-a', '1'],
  ] as const;
  assert.equal(keyOf({}), keyOf({ headers: reordered }));
});

test('a key is the same in every version: nodes of two versions share the window', () => {
  const headers: DeduplicatedContent['headers'] = [
    ['b', '2'],
    ['A', '1'],
    ['c', '3'],
    ['b', '1'],
  ];
  const { destination, body, contentType } = content;
  const part = (bytes: Uint8Array) => [...[0, 0, 0, bytes.length], ...bytes];
  const text = (value: string) => part(Buffer.from(value, 'utf16le'));
  const sorted = ['a', '1', 'b', '2', 'b', '1', 'c', '3'];
  assert.deepEqual(
    [...contentKey({ ...content, headers })],
    [...text(destination), ...part(body), ...text(contentType!), ...sorted.flatMap(text)],
  );
});

test('each part makes a difference', () => {
  const changes: Partial<DeduplicatedContent>[] = [
    {},
    { destination: 'https://a.b/C' },
    { body: Uint8Array.of(1, 2) },
    { body: new Uint8Array() },
    { contentType: null },
    { contentType: '' },
    { contentType: 'text/Plain' },
    { headers: [] },
    { headers: [['X-A', '1']] },
    { headers: [['X-A', '1X-B2']] },
    {
      headers: [
        ['X-A', '2'],
        ['X-B', '1'],
      ],
    },
    {
      headers: [
        ['X-A', '1'],
        ['X-A', '2'],
      ],
    },
    {
      headers: [
        ['X-A', '2'],
        ['X-A', '1'],
      ],
    },
    { contentType: null, headers: [['X-A', '1'], ['text/plain', 'X-B'], ...content.headers] },
  ];
  assert.equal(new Set(changes.map(keyOf)).size, changes.length);
});

test('keys are equal exactly when the contents are', () => {
  // Few characters and short texts, so that equal contents and shifted boundaries do come up.
  const text = fc.string({ unit: fc.constantFrom('a', 'A', '\ud800', '\udfff', '\0'), maxLength: 2 });
  const any = fc.record({
    destination: text,
    body: fc.uint8Array({ max: 1, maxLength: 2 }),
    contentType: fc.option(text),
    headers: fc.array(fc.tuple(fc.constantFrom('a', 'A', 'b'), text), { maxLength: 2 }),
  });
  /** The values of each name in their order, the names sorted: what the key promises to keep. */
  const meaning = ({ destination, body, contentType, headers }: DeduplicatedContent) => {
    const byName = (wanted: string) =>
      headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
    return JSON.stringify([destination, [...body], contentType, byName('a'), byName('b')]);
  };
  const meanings = new Map<string, string>();
  fc.assert(
    fc.property(any, (each) => {
      const key = keyOf(each);
      const known = meanings.get(key);
      if (known !== undefined) assert.equal(meaning(each), known);
      meanings.set(key, meaning(each));
    }),
    { numRuns: 5_000 },
  );
  assert.equal(new Set(meanings.values()).size, meanings.size);
});
