// Topics: written whole, guarded by their version, found by name and by id.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Topic } from '../../src/rules/publish/topic.ts';
import { ACCOUNT, NOW, OTHER_ACCOUNT } from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';

export function topic(some: Partial<Topic> = {}): Topic {
  return {
    id: 'tpc_1',
    accountId: ACCOUNT,
    name: 'news',
    endpoints: [
      { name: 'b', url: 'https://b.example/' },
      { name: null, url: 'https://a.example/?x=1' },
    ],
    defaults: [],
    createdAt: NOW,
    updatedAt: NOW,
    version: 0,
    ...some,
  };
}

export function topicsConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('topics', () => {
    test.onTwo('a saved topic is found by name and by id, endpoints in order', async ({ a, b }) => {
      assert.equal(await a.store.saveTopic(topic()), 'saved');
      const stored = { ...topic(), version: 1 };
      assert.deepEqual(await a.store.getTopic(ACCOUNT, 'news'), stored);
      assert.deepEqual(await b.store.getTopic(ACCOUNT, 'tpc_1'), stored);
      assert.equal(await a.store.getTopic(ACCOUNT, 'unknown'), null);
    });

    test('a name that looks like another topic’s id wins over it', async ({ a }) => {
      await a.store.saveTopic(topic());
      await a.store.saveTopic(topic({ id: 'tpc_2', name: 'tpc_1' }));
      assert.equal((await a.store.getTopic(ACCOUNT, 'tpc_1'))!.id, 'tpc_2');
    });

    test('every change counts the version up', async ({ a }) => {
      await a.store.saveTopic(topic());
      const first = (await a.store.getTopic(ACCOUNT, 'news'))!;
      const endpoints = [{ name: null, url: 'https://only.example/' }];
      assert.equal(await a.store.saveTopic({ ...first, endpoints, updatedAt: NOW + 5 }), 'saved');
      assert.deepEqual(await a.store.getTopic(ACCOUNT, 'news'), {
        ...first,
        endpoints,
        updatedAt: NOW + 5,
        version: 2,
      });
    });

    test.onTwo('when two editors save the same version, the second must read again', async ({ a, b }) => {
      await a.store.saveTopic(topic());
      const [mine, theirs] = await Promise.all([a.store.getTopic(ACCOUNT, 'news'), b.store.getTopic(ACCOUNT, 'news')]);
      const edit = (base: Topic, url: string): Topic => ({ ...base, endpoints: [{ name: null, url }] });
      const results = await Promise.all([
        a.store.saveTopic(edit(mine!, 'https://mine.example/')),
        b.store.saveTopic(edit(theirs!, 'https://theirs.example/')),
      ]);
      assert.deepEqual(results.toSorted(), ['changed', 'saved']);
      const winner = results[0] === 'saved' ? 'https://mine.example/' : 'https://theirs.example/';
      const current = (await a.store.getTopic(ACCOUNT, 'news'))!;
      assert.deepEqual(current.endpoints, [{ name: null, url: winner }]);
      assert.equal(await b.store.saveTopic(edit(current, 'https://again.example/')), 'saved');
    });

    test.onTwo('when two requests create the same topic at once, one creates it', async ({ a, b }) => {
      const results = await Promise.all([
        a.store.saveTopic(topic({ id: 'tpc_1' })),
        b.store.saveTopic(topic({ id: 'tpc_2' })),
      ]);
      assert.deepEqual(results.toSorted(), ['changed', 'saved']);
      assert.equal((await a.store.listTopics(ACCOUNT)).entries.length, 1);
    });

    test('a topic without endpoints is deleted, if it was not changed meanwhile', async ({ a }) => {
      await a.store.saveTopic(topic());
      const first = (await a.store.getTopic(ACCOUNT, 'news'))!;
      await a.store.saveTopic(first);
      assert.equal(await a.store.saveTopic({ ...first, endpoints: [] }), 'changed');
      assert.equal(await a.store.saveTopic({ ...first, endpoints: [], version: 2 }), 'saved');
      assert.equal(await a.store.getTopic(ACCOUNT, 'news'), null);
      assert.equal(await a.store.saveTopic({ ...first, version: 2 }), 'changed');
      assert.equal(await a.store.saveTopic(topic()), 'saved');
    });

    test('a topic of another account is neither seen nor changed', async ({ a }) => {
      await a.store.saveTopic(topic());
      assert.equal(await a.store.getTopic(OTHER_ACCOUNT, 'news'), null);
      assert.equal(await a.store.getTopic(OTHER_ACCOUNT, 'tpc_1'), null);
      assert.deepEqual((await a.store.listTopics(OTHER_ACCOUNT)).entries, []);
      const stolen = { ...topic(), accountId: OTHER_ACCOUNT, version: 1 };
      assert.equal(await a.store.saveTopic(stolen), 'changed');
      assert.equal(await a.store.saveTopic({ ...stolen, endpoints: [] }), 'changed');
      assert.equal((await a.store.getTopic(ACCOUNT, 'news'))!.version, 1);
      assert.equal(await a.store.saveTopic(topic({ id: 'tpc_2', accountId: OTHER_ACCOUNT })), 'saved');
    });

    test('topics are listed by name', async ({ a }) => {
      for (const name of ['c', 'a', 'b']) await a.store.saveTopic(topic({ id: `tpc_${name}`, name }));
      assert.deepEqual(
        (await a.store.listTopics(ACCOUNT)).entries.map(({ name }) => name),
        ['a', 'b', 'c'],
      );
    });
  });
}
