// Finding messages: which ones a filter means, in which order, page by page, and how many there are.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { debounceKey } from '../../src/rules/publish/debounce.ts';
import type { MessageFilter } from '../../src/rules/reads/message-filter.ts';
import { countMatching } from '../../src/store/ports/count-in-pieces.ts';
import type { PageRequest } from '../../src/store/ports/message-store.ts';
import {
  ACCOUNT,
  ERROR,
  message,
  messages,
  NOW,
  OK,
  OTHER_ACCOUNT,
  REFUSED,
  RETENTION,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

const PAGE: PageRequest = { limit: 100, cursor: null, order: 'oldestFirst', withBodies: false };

async function found(node: Node, filter: MessageFilter, some: Partial<PageRequest> = {}): Promise<string[]> {
  const { messages: all } = await node.store.searchMessages(ACCOUNT, filter, { ...PAGE, ...some });
  return all.map(({ id }) => id);
}

/** All pages, one after the other. */
async function paged(node: Node, filter: MessageFilter, some: Partial<PageRequest>): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: number | null = null, pages = 0; ; pages += 1) {
    assert.ok(pages < 1000, 'the pages have no end');
    const page = await node.store.searchMessages(ACCOUNT, filter, { ...PAGE, ...some, cursor });
    ids.push(...page.messages.map(({ id }) => id));
    cursor = page.cursor;
    if (cursor === null) return ids;
  }
}

export function searchConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('searching messages', () => {
    test('by each thing a message has', async ({ a }) => {
      const rich = message({
        url: 'https://b.example:8443/in/box?x=1',
        host: 'b.example:8443',
        topicName: 'news',
        scheduleId: 'scd_1',
        labels: ['red', 'blue'],
        callerIp: '192.0.2.7',
        createdAt: NOW + 10,
        flow: { key: 'f', limits: { parallelism: 1, rate: null, periodMs: 1000 } },
        debounce: { key: debounceKey('cart', 'https://b.example:8443/'), latestAt: NOW, count: 1 },
        body: new TextEncoder().encode('Hello World'),
      });
      const inQueue = message({ queueName: 'mail' });
      await a.store.accept([message(), rich, inQueue, message({ accountId: OTHER_ACCOUNT, labels: ['red'] })], NOW);
      const by: readonly MessageFilter[] = [
        { messageIds: [rich.id] },
        { urls: ['https://b.example:8443/in/box?x=1'] },
        { hosts: ['b.example:8443'] },
        { hosts: ['b.example'] },
        { paths: ['/in/box'] },
        { topicNames: ['news'] },
        { scheduleIds: ['scd_1'] },
        { labels: ['red'] },
        { labels: ['blue'] },
        { flowKeys: ['f'] },
        { debounceKeys: ['cart'] },
        { debounceKeys: ['none', 'cart'], states: ['CREATED'] },
        { callerIps: ['192.0.2.7'] },
        { fromAt: NOW + 1 },
        { text: 'hello w' },
        { text: 'NEWS' },
        { hosts: ['b.example'], labels: ['blue'], topicNames: ['news'] },
      ];
      for (const filter of by) assert.deepEqual(await found(a, filter), [rich.id], JSON.stringify(filter));
      assert.deepEqual(await found(a, { queueNames: ['mail'] }), [inQueue.id]);
      for (const filter of by) assert.equal((await countMatching(a.store, ACCOUNT, filter, 10)).count, 1);
      assert.equal((await found(a, { toAt: NOW })).length, 2);
      assert.equal((await found(a, {})).length, 3);
      assert.deepEqual(await found(a, { labels: ['red'], queueNames: ['mail'] }), []);
      assert.deepEqual(await found(a, { messageIds: ['msg_none'] }), []);
      assert.deepEqual(await found(a, { messageIds: [] }), []);
    });

    test('values of one key are alternatives, keys are conditions', async ({ a }) => {
      const of = (queueName: string | null, labels: string[]) => message({ queueName, labels });
      const [one, two, three, four] = [of('q', ['x']), of('r', ['x', 'y']), of('q', ['y']), of(null, ['z'])] as const;
      await a.store.accept([one, two, three, four], NOW);
      const ids = (...some: NewMessage[]) => some.map(({ id }) => id);
      assert.deepEqual(await found(a, { labels: ['x', 'y'] }), ids(one, two, three));
      assert.deepEqual(await found(a, { labels: ['y', 'x', 'y', 'none'] }), ids(one, two, three));
      assert.deepEqual(await found(a, { queueNames: ['q', 'r'] }), ids(one, two, three));
      assert.deepEqual(await found(a, { queueNames: ['q'], labels: ['x', 'z'] }), ids(one));
      assert.deepEqual(await found(a, { messageIds: ids(four, one), labels: ['z'] }), ids(four));
      assert.deepEqual(await found(a, { hosts: ['a.example', 'a.example:443'] }), ids(one, two, three, four));
    });

    test('a host without a port is that host on every port, and no longer name', async ({ a }) => {
      const hosts = [
        'a.example:443',
        'a.example:80',
        'a.example.net:443',
        'b.a.example:443',
        '[::1]:80',
        'a.example:8443',
      ];
      const all = hosts.map((host) => message({ host }));
      await a.store.accept(all, NOW);
      const at = (...indexes: number[]) => indexes.map((index) => all[index]!.id);
      assert.deepEqual(await found(a, { hosts: ['a.example'] }), at(0, 1, 5));
      assert.deepEqual(await found(a, { hosts: ['[::1]', 'a.example:80'] }), at(1, 4));
    });

    test('by state, through the life of a message', async ({ a }) => {
      const all = ['delivered', 'failed', 'retry', 'active', 'cancelled', 'created'].map((path) =>
        message({ url: `https://a.example/${path}` }),
      );
      const [delivered, failed, retry, active, cancelled, created] = all as [
        NewMessage,
        NewMessage,
        NewMessage,
        NewMessage,
        NewMessage,
        NewMessage,
      ];
      await a.store.accept(all.slice(0, 4), NOW);
      const claims = await a.claims(NOW, { slots: 4 });
      const outcomes = [OK, REFUSED, ERROR];
      await a.store.settle(
        claims.slice(0, 3).map((claim, at) => settlementOf(claim, outcomes[at]!, NOW)),
        NOW,
      );
      await a.store.accept([cancelled, created], NOW);
      await a.store.cancel(ACCOUNT, [cancelled.id], NOW, NOW + RETENTION);
      assert.deepEqual(await found(a, { states: ['DELIVERED'] }), [delivered.id]);
      assert.deepEqual(await found(a, { states: ['FAILED'] }), [failed.id]);
      assert.deepEqual(await found(a, { states: ['RETRY'] }), [retry.id]);
      assert.deepEqual(await found(a, { states: ['ACTIVE'] }), [active.id]);
      assert.deepEqual(await found(a, { states: ['CANCELLED'] }), [cancelled.id]);
      assert.deepEqual(await found(a, { states: ['CREATED'] }), [created.id]);
      assert.deepEqual(await found(a, { states: ['CANCELLED', 'FAILED'] }), [failed.id, cancelled.id]);
      assert.deepEqual(await found(a, { states: ['ACTIVE', 'DELIVERED'] }), [delivered.id, active.id]);
      assert.deepEqual(await found(a, { statuses: [489, 500] }), [failed.id, retry.id]);
      assert.deepEqual(await found(a, { states: ['FAILED'], statuses: [500] }), []);
    });

    test('newest first is oldest first turned round', async ({ a }) => {
      await a.store.accept(messages(7, { labels: ['x'] }), NOW);
      for (const filter of [{}, { labels: ['x'] }, { states: ['CREATED'] }, { hosts: ['a.example'] }] as const) {
        const forward = await found(a, filter);
        assert.equal(forward.length, 7);
        assert.deepEqual(await found(a, filter, { order: 'newestFirst' }), forward.toReversed());
      }
    });

    test('the pages together are every message once, in both orders and with any number of values', async ({ a }) => {
      const all = Array.from({ length: 60 }, (_, index) =>
        message({
          queueName: index % 2 ? `q${index % 3}` : null,
          labels: [`l${index % 2}`, `l${index % 5}`, 'all'],
          host: `h${index % 4}.example:${80 + (index % 2)}`,
        }),
      );
      await a.store.accept(all, NOW);
      const filters: MessageFilter[] = [
        {},
        { labels: ['all', 'l0', 'l1'] },
        { labels: ['l0', 'l3', 'l4'], queueNames: ['q0', 'q1', 'q2'] },
        { queueNames: ['q0', 'q2'] },
        { hosts: ['h1.example', 'h2.example'] },
        { messageIds: all.slice(3, 40).map(({ id }) => id) },
        { states: ['CREATED', 'FAILED'] },
      ];
      for (const filter of filters) {
        const whole = await found(a, filter);
        assert.equal(whole.length, (await countMatching(a.store, ACCOUNT, filter, 1000)).count);
        for (const limit of [1, 7, whole.length, 100]) {
          assert.deepEqual(await paged(a, filter, { limit }), whole);
          assert.deepEqual(await paged(a, filter, { limit, order: 'newestFirst' }), whole.toReversed());
        }
      }
    });

    test('the last page says so, also when it is full', async ({ a }) => {
      await a.store.accept(messages(4), NOW);
      const first = await a.store.searchMessages(ACCOUNT, {}, { ...PAGE, limit: 2 });
      assert.notEqual(first.cursor, null);
      const last = await a.store.searchMessages(ACCOUNT, {}, { ...PAGE, limit: 2, cursor: first.cursor });
      assert.equal(last.messages.length, 2);
      assert.equal(last.cursor, null);
    });

    test('messages accepted while a reader pages are seen once or not at all', async ({ a }) => {
      const before = messages(4);
      await a.store.accept(before, NOW);
      const page = await a.store.searchMessages(ACCOUNT, {}, { ...PAGE, limit: 2, order: 'newestFirst' });
      await a.store.accept(messages(2), NOW);
      const rest = await found(a, {}, { cursor: page.cursor, order: 'newestFirst' });
      assert.deepEqual([...page.messages.map(({ id }) => id), ...rest], before.map(({ id }) => id).toReversed());
    });

    test('bodies are returned only on request, also when the text was found in one', async ({ a }) => {
      await a.store.accept([message({ body: new TextEncoder().encode('needle') })], NOW);
      const bodies = async (withBodies: boolean) =>
        (await a.store.searchMessages(ACCOUNT, { text: 'needle' }, { ...PAGE, withBodies })).messages.map(
          ({ body }) => body.length,
        );
      assert.deepEqual(await bodies(true), [6]);
      assert.deepEqual(await bodies(false), [0]);
    });

    test('a page of large bodies is short, and the next goes on', async ({ a }) => {
      const large = messages(5, { body: new Uint8Array(12 * 1024 * 1024) });
      for (const each of large) await a.store.accept([each], NOW);
      const page = await a.store.searchMessages(ACCOUNT, {}, { ...PAGE, withBodies: true });
      assert.ok(page.messages.length < 5 && page.cursor !== null);
      assert.deepEqual(
        await paged(a, {}, { withBodies: true }),
        large.map(({ id }) => id),
      );
    });

    test('counting stops at the given limit', async ({ a }) => {
      await a.store.accept(messages(5), NOW);
      assert.deepEqual(await countMatching(a.store, ACCOUNT, {}, 3), { count: 3, isCut: true });
      assert.deepEqual(await countMatching(a.store, ACCOUNT, {}, 5), { count: 5, isCut: false });
      assert.deepEqual(await countMatching(a.store, ACCOUNT, {}, 6), { count: 5, isCut: false });
      assert.equal((await countMatching(a.store, OTHER_ACCOUNT, {}, 6)).count, 0);
    });
  });
}
