// Edits of a topic's endpoints: lists in, lists out, order kept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Endpoint,
  type EndpointSelector,
  withEndpoints,
  withoutEndpoints,
} from '../../../src/rules/publish/topic.ts';

const named = (name: string, url: string): Endpoint => ({ name, url });
const unnamed = (url: string): Endpoint => ({ name: null, url });

const endpoints: fc.Arbitrary<Endpoint> = fc
  .tuple(
    fc.option(fc.constantFrom('x', 'y', 'z')),
    fc.constantFrom('https://a.example/', 'https://b.example/', 'https://c.example/'),
  )
  .map(([name, url]) => ({ name, url }));
const lists = fc.array(endpoints, { maxLength: 6 });
/** Lists as they come to be: by adding to nothing. */
const topics = fc.array(lists, { maxLength: 4 }).map((added) => added.reduce<Endpoint[]>(withEndpoints, []));
const selectors: fc.Arbitrary<EndpointSelector> = fc.oneof(
  fc.constantFrom('x', 'y', 'z').map((name) => ({ name })),
  fc.constantFrom('https://a.example/', 'https://b.example/').map((url) => ({ url })),
);

test('endpoints are added at the end, in the order given', () => {
  const list = withEndpoints(
    [named('x', 'https://a.example/')],
    [unnamed('https://c.example/'), named('y', 'https://b.example/')],
  );
  assert.deepEqual(
    list.map(({ url }) => url),
    ['https://a.example/', 'https://c.example/', 'https://b.example/'],
  );
});

/** The rule, in words that walk through the list for each endpoint. */
function addedOneByOne(existing: readonly Endpoint[], added: readonly Endpoint[]): Endpoint[] {
  const result = existing.map((old) => added.findLast(({ name }) => name !== null && name === old.name) ?? old);
  for (const endpoint of added) {
    const named = endpoint.name === null ? -1 : result.findIndex(({ name }) => name === endpoint.name);
    const isSame = ({ name, url }: Endpoint) => (name === null || endpoint.name === null) && url === endpoint.url;
    const at = named >= 0 ? named : result.findIndex(isSame);
    if (at < 0) result.push(endpoint);
    else result[at] = { name: endpoint.name ?? result[at]!.name, url: endpoint.url };
  }
  return result;
}

test('for any lists: what is found by an index is what a walk through the list finds', () => {
  fc.assert(
    fc.property(lists, lists, (existing, added) => {
      assert.deepEqual(withEndpoints(existing, added), addedOneByOne(existing, added));
    }),
    { numRuns: 2000 },
  );
});

test('one with a name that is there changes its URL in place', () => {
  const before = [named('x', 'https://a.example/'), named('y', 'https://b.example/')];
  assert.deepEqual(withEndpoints(before, [named('x', 'https://c.example/')]), [
    named('x', 'https://c.example/'),
    named('y', 'https://b.example/'),
  ]);
});

test('one without a name is the same as the one with its URL, and keeps that name', () => {
  const before = [named('x', 'https://a.example/')];
  assert.deepEqual(withEndpoints(before, [unnamed('https://a.example/')]), before);
});

test('an unnamed one can be given a name later', () => {
  assert.deepEqual(withEndpoints([unnamed('https://a.example/')], [named('x', 'https://a.example/')]), [
    named('x', 'https://a.example/'),
  ]);
});

test('two names may share a URL', () => {
  const both = [named('x', 'https://a.example/'), named('y', 'https://a.example/')];
  assert.deepEqual(withEndpoints([], both), both);
});

test('a name moved to the URL of an unnamed one does not stand twice', () => {
  const before = [unnamed('https://a.example/'), named('x', 'https://b.example/')];
  assert.deepEqual(withEndpoints(before, [named('x', 'https://a.example/')]), [
    unnamed('https://a.example/'),
    named('x', 'https://a.example/'),
  ]);
});

test('adding twice is the same as adding once, if the request does not contradict itself', () => {
  const isClear = (added: readonly Endpoint[]) => {
    const names = added.flatMap(({ name }) => name ?? []);
    return new Set(names).size === names.length;
  };
  fc.assert(
    fc.property(topics, lists.filter(isClear), (topic, added) => {
      const once = withEndpoints(topic, added);
      assert.deepEqual(withEndpoints(once, added), once);
    }),
    { numRuns: 1000 },
  );
});

test('an unnamed endpoint is added also when the name that has its URL moves on in the same request', () => {
  const before = [named('x', 'https://b.example/')];
  for (const added of [
    [unnamed('https://b.example/'), named('x', 'https://a.example/')],
    [named('x', 'https://a.example/'), unnamed('https://b.example/')],
  ]) {
    assert.deepEqual(withEndpoints(before, added), [named('x', 'https://a.example/'), unnamed('https://b.example/')]);
  }
});

test('no name is ever in the list twice', () => {
  fc.assert(
    fc.property(topics, (topic) => {
      const names = topic.flatMap(({ name }) => name ?? []);
      assert.equal(new Set(names).size, names.length);
    }),
  );
});

test('every endpoint that was added last under its name or URL can be found again', () => {
  fc.assert(
    fc.property(topics, endpoints, (topic, added) => {
      const list = withEndpoints(topic, [added]);
      assert.ok(list.some(({ name, url }) => url === added.url && (added.name === null || name === added.name)));
      assert.ok(list.length <= topic.length + 1);
    }),
  );
});

test('an endpoint is removed by its name or by its URL; the others stay in order', () => {
  const list = [named('x', 'https://a.example/'), unnamed('https://b.example/'), named('y', 'https://c.example/')];
  assert.deepEqual(withoutEndpoints(list, [{ name: 'x' }]), list.slice(1));
  assert.deepEqual(withoutEndpoints(list, [{ url: 'https://b.example/' }]), [list[0], list[2]]);
  assert.deepEqual(withoutEndpoints(list, [{ name: 'x' }, { url: 'https://c.example/' }]), [list[1]]);
});

test('removing is the same the second time, and removes nothing that was not picked', () => {
  fc.assert(
    fc.property(topics, fc.array(selectors, { maxLength: 3 }), (topic, removed) => {
      const left = withoutEndpoints(topic, removed);
      assert.deepEqual(withoutEndpoints(left, removed), left);
      const isPicked = (endpoint: Endpoint) =>
        removed.some((selector) =>
          'name' in selector ? selector.name === endpoint.name : selector.url === endpoint.url,
        );
      assert.deepEqual(
        left,
        topic.filter((endpoint) => !isPicked(endpoint)),
      );
    }),
  );
});

test('edits leave the list they are given alone', () => {
  const before = Object.freeze([Object.freeze(named('x', 'https://a.example/'))]);
  withEndpoints(before, [named('x', 'https://b.example/'), unnamed('https://c.example/')]);
  withoutEndpoints(before, [{ name: 'x' }]);
  assert.deepEqual(before, [named('x', 'https://a.example/')]);
});
