// Messages with a debounce key: a new one takes the place of the one that waits, and of all of them exactly one waits.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { versionOf } from '../../src/rules/delivery/change.ts';
import type { Message, NewMessage } from '../../src/rules/delivery/message.ts';
import { eachMax } from '../../src/rules/limits/budgets.ts';
import { debounceKey } from '../../src/rules/publish/debounce.ts';
import { SHARED_BODY_BYTES_MIN } from '../../src/store/shared/shared-bodies.ts';
import { NO_CHANGE } from './change.ts';
import { flowing } from './flow-control.ts';
import { ACCOUNT, ERROR, message, NOW, OK, OTHER_ACCOUNT, QUEUE, RETENTION, SECOND, settlementOf } from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

const WINDOW = 5 * SECOND;
const MAX = 60 * SECOND;

interface Wanted extends Partial<NewMessage> {
  readonly key?: string;
  readonly at?: number;
  readonly maxMs?: number;
}

/** A publish with a debounce key. */
function debounced({ key = 'cart', at = NOW, maxMs = MAX, ...some }: Wanted = {}): NewMessage {
  const debounce = { key, latestAt: at + maxMs, count: 1 };
  return message({ createdAt: at, dueAt: at + WINDOW, debounce, ...some });
}

const bytes = (length: number, value = 97) => new Uint8Array(length).fill(value);

export function debounceConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);
  const publish = async (node: Node, one: NewMessage) => {
    const { debounced: results, misplaced = null } = await node.store.accept([one], one.createdAt);
    return misplaced ?? results![0];
  };
  const stored = async (node: Node, id: string) => (await node.store.getMessage(ACCOUNT, id))!.message;
  const waiting = async (node: Node): Promise<readonly Message[]> => {
    const page = { limit: 1000, cursor: null, order: 'oldestFirst', withBodies: true } as const;
    return (await node.store.searchMessages(ACCOUNT, { states: ['CREATED'] }, page)).messages;
  };
  const isCounted = async (node: Node) => assert.equal(await node.store.recountStored(ACCOUNT), 0, 'stored bytes');
  const usedToday = async (node: Node) =>
    (await node.store.usage(ACCOUNT, '2026-01-01', '2026-01-01')).entries.reduce((sum, { count }) => sum + count, 0);
  const updates = async (node: Node, id: string) => {
    const page = { limit: 1000, cursor: null, order: 'oldestFirst', withBodies: false } as const;
    const { events } = await node.store.listEvents(ACCOUNT, { messages: { messageIds: [id] } }, page);
    return events.filter(({ state }) => state === 'UPDATED').map(({ changed, at }) => ({ at, names: changed!.names }));
  };
  const settleAll = async (node: Node, outcome: typeof OK, now: number) => {
    const claims = await node.claims(now);
    await node.store.settle(
      claims.map((claim) => settlementOf(claim, outcome, now)),
      now,
    );
    return claims.map(({ message: { id } }) => id);
  };

  describe('debounce', () => {
    test.onTwo('the newest message takes the place of the one that waits, with its id', async ({ a, b }) => {
      const first = debounced({ body: bytes(10), labels: ['one'], callerIp: '192.0.2.1' });
      assert.deepEqual(await publish(a, first), { messageId: first.id, count: 1 });
      const second = debounced({
        at: NOW + SECOND,
        url: 'https://b.example/other',
        host: 'b.example:443',
        method: 'PUT',
        headers: [['X-New', '1']],
        body: bytes(20, 98),
        retriesMax: 7,
        labels: ['two'],
        priority: 9,
        callerIp: '192.0.2.2',
        topicName: 'news',
        mustStartBefore: NOW + MAX,
        redaction: { body: true, allHeaders: false, headers: [] },
      });
      assert.deepEqual(await publish(b, second), { messageId: first.id, count: 2 });
      assert.equal(await a.store.getMessage(ACCOUNT, second.id), null);
      const after = await stored(a, first.id);
      const { id: _id, createdAt: _createdAt, debounce: _debounce, body, ...rest } = second;
      for (const [name, value] of Object.entries({ ...rest, createdAt: NOW, firstDueAt: NOW + SECOND + WINDOW })) {
        assert.deepEqual(after[name as keyof typeof after], value, name);
      }
      assert.deepEqual(Buffer.from(after.body), Buffer.from(body));
      assert.deepEqual(after.debounce, { key: 'cart', latestAt: NOW + MAX, count: 2 });
      assert.equal(versionOf(after), '0-1');
      const [update] = await updates(a, first.id);
      assert.equal(update!.at, NOW + SECOND);
      assert.deepEqual(update!.names, [
        'nextDeliveryTime',
        'url',
        'body',
        'header',
        'method',
        'maxRetries',
        'labels',
        'redactFields',
        'priority',
        'expiresAt',
        'debounced',
      ]);
      const page = { limit: 10, cursor: null, order: 'oldestFirst', withBodies: false } as const;
      const having = async (label: string) =>
        (await a.store.searchMessages(ACCOUNT, { labels: [label] }, page)).messages.length;
      assert.deepEqual([await having('one'), await having('two')], [0, 1]);
      assert.equal(await usedToday(a), 2, 'both were accepted');
      await isCounted(a);
      assert.deepEqual(await a.claimDue(NOW + WINDOW), {
        claims: [],
        nextDueAt: NOW + SECOND + WINDOW,
        nextScheduleAt: null,
      });
      const { message: claimed } = await a.claimOne(NOW + SECOND + WINDOW);
      assert.deepEqual([claimed.id, claimed.url, claimed.body.length], [first.id, second.url, 20]);
    });

    test('its time is that of the newest, but never later than the latest', async ({ a }) => {
      const first = debounced({ maxMs: 8 * SECOND });
      await publish(a, first);
      for (const [at, maxMs, dueAt] of [
        [1, 8, 6],
        [4, 8, 8],
        [5, 20, 10],
        [7, 7, 7],
        [9, 7, 7],
        [10, 60, 15],
      ] as const) {
        await publish(a, debounced({ at: NOW + at * SECOND, maxMs: maxMs * SECOND }));
        const after = await stored(a, first.id);
        assert.equal(after.dueAt, NOW + dueAt * SECOND, `after ${at} s`);
        assert.equal(after.debounce!.latestAt, NOW + maxMs * SECOND);
      }
      assert.equal((await waiting(a)).length, 1);
    });

    test('messages with another key, of another account or without a key do not take its place', async ({ a }) => {
      const others = [
        debounced(),
        debounced({ key: 'other' }),
        debounced({ key: 'CART' }),
        debounced({ accountId: OTHER_ACCOUNT }),
        message({ dueAt: NOW + WINDOW }),
        debounced({ key: debounceKey('cart', 'https://a.example/') }),
        debounced({ key: debounceKey('cart', 'https://b.example/') }),
      ];
      for (const each of others) await a.store.accept([each], NOW);
      assert.equal((await waiting(a)).length, others.length - 1);
      assert.equal((await a.store.getMessage(OTHER_ACCOUNT, others[3]!.id))!.message.debounce!.count, 1);
    });

    test('while an attempt is under way, and after it, a new message waits itself', async ({ a }) => {
      const first = debounced();
      await publish(a, first);
      const claim = await a.claimOne(NOW + WINDOW);
      const second = debounced({ at: NOW + WINDOW });
      assert.deepEqual(await publish(a, second), { messageId: second.id, count: 1 });
      await a.store.settle([settlementOf(claim, ERROR, NOW + WINDOW)], NOW + WINDOW);
      const third = debounced({ at: NOW + WINDOW + 1 });
      assert.deepEqual(await publish(a, third), { messageId: second.id, count: 2 }, 'not that of a retry');
      const [retried] = [await stored(a, first.id)];
      assert.deepEqual([retried.attempts, retried.debounce!.count], [1, 1]);
      await a.store.cancel(ACCOUNT, [second.id, first.id], NOW + WINDOW, NOW + RETENTION);
      const fourth = debounced({ at: NOW + WINDOW + 2 });
      assert.deepEqual(await publish(a, fourth), { messageId: fourth.id, count: 1 }, 'not that of a cancelled one');
      const later = NOW + 2 * WINDOW + 2;
      assert.deepEqual(await settleAll(a, OK, later), [fourth.id]);
      const fifth = debounced({ at: later });
      assert.deepEqual(await publish(a, fifth), { messageId: fifth.id, count: 1 }, 'not that of a delivered one');
      await isCounted(a);
    });

    test('a claim that was released before its attempt began waits again, and is replaced', async ({ a }) => {
      const first = debounced();
      await publish(a, first);
      const claim = await a.claimOne(NOW + WINDOW);
      await a.store.release([claim.lease], NOW + WINDOW);
      const second = debounced({ at: NOW + WINDOW + 1, body: bytes(3) });
      assert.deepEqual(await publish(a, second), { messageId: first.id, count: 2 });
      const { message: claimed } = await a.claimOne(NOW + 2 * WINDOW + 1);
      assert.equal(claimed.body.length, 3);
      assert.equal((await updates(a, first.id)).length, 1);
    });

    test('given back beside a newer one that waits, it ends, and the newer one stands for both', async ({ a }) => {
      const first = debounced({ queueName: QUEUE });
      await publish(a, first);
      await publish(a, debounced({ at: NOW + 1, queueName: QUEUE }));
      const behind = message({ queueName: QUEUE, dueAt: NOW + 2 * WINDOW });
      await a.store.accept([behind], NOW + 1);
      const now = NOW + 1 + WINDOW;
      const claim = await a.claimOne(now);
      const newer = debounced({ at: now, queueName: QUEUE });
      assert.deepEqual(await publish(a, newer), { messageId: newer.id, count: 1 });
      assert.deepEqual(await a.store.release([claim.lease], now + 1), [first.id]);
      assert.deepEqual(
        (await waiting(a)).map(({ id }) => id),
        [behind.id, newer.id],
      );
      const over = await stored(a, first.id);
      assert.deepEqual([over.state, over.endedAt, over.attempts], ['cancelled', now + 1, 0]);
      const { debounce, dueAt } = await stored(a, newer.id);
      assert.deepEqual(debounce, { key: 'cart', latestAt: now + MAX, count: 3 });
      assert.equal(dueAt, now + WINDOW, 'its time is its own');
      assert.deepEqual(await updates(a, newer.id), [{ at: now + 1, names: ['debounced'] }]);
      assert.deepEqual(await publish(a, debounced({ at: now + 2, queueName: QUEUE })), {
        messageId: newer.id,
        count: 4,
      });
      assert.deepEqual(await settleAll(a, OK, NOW + 2 * WINDOW), [behind.id], 'its place in the queue is free');
      assert.deepEqual(await settleAll(a, OK, now + 2 + WINDOW), [newer.id]);
      await isCounted(a);
    });

    test('of several that are given back, whatever their order, the newest waits', async ({ a }) => {
      const flow = { key: 'shop', limits: { parallelism: 1, rate: null, periodMs: 1000 } };
      for (const isReversed of [false, true]) {
        const key = `given back ${isReversed}`;
        const sent: NewMessage[] = [];
        const leases: string[] = [];
        for (const n of [0, 1, 2]) {
          const one = debounced({ key, at: NOW + n, flow: n === 1 ? flow : null });
          await publish(a, one);
          leases.push((await a.claimOne(NOW + n + WINDOW)).lease);
          sent.push(one);
        }
        const [one, two, three] = sent as [NewMessage, NewMessage, NewMessage];
        const [first, ...rest] = isReversed ? leases.toReversed() : leases;
        assert.deepEqual(await a.store.release([first!], NOW + WINDOW), []);
        assert.deepEqual((await a.store.release(rest, NOW + WINDOW)).toSorted(), [one.id, two.id].toSorted());
        assert.deepEqual(
          (await waiting(a)).map(({ id, debounce }) => [id, debounce!.count]),
          [[three.id, 3]],
        );
        assert.deepEqual(await settleAll(a, OK, NOW + 2 * WINDOW), [three.id]);
      }
      const next = flowing(flow.limits, { dueAt: NOW + 3 * WINDOW, createdAt: NOW + 2 * WINDOW }, 'shop');
      await a.store.accept([next], NOW + 2 * WINDOW);
      assert.deepEqual(await settleAll(a, OK, NOW + 3 * WINDOW), [next.id], 'the place under the flow key is free');
    });

    test('given back, one that has expired, was tried or is to be cancelled does not end for a newer one', async ({
      a,
    }) => {
      const claimed = async (key: string, some: Wanted = {}) => {
        await publish(a, debounced({ key, ...some }));
        return a.claimOne(NOW + WINDOW);
      };
      const expired = await claimed('expired', { mustStartBefore: NOW + WINDOW + 1 });
      const tried = await claimed('tried');
      await a.store.settle([settlementOf(tried, ERROR, NOW + WINDOW)], NOW + WINDOW);
      const again = await a.claimOne(NOW + MAX);
      assert.equal(again.message.id, tried.message.id);
      const cancelled = await claimed('cancelled');
      await a.store.cancel(ACCOUNT, [cancelled.message.id], NOW + WINDOW, NOW + RETENTION);
      const newer = ['expired', 'tried', 'cancelled'].map((key) => debounced({ key, at: NOW + WINDOW }));
      for (const each of newer) await publish(a, each);
      const leases = [expired, again, cancelled].map(({ lease }) => lease);
      assert.deepEqual(await a.store.release(leases, NOW + WINDOW + 1), []);
      const states = await Promise.all([expired, again, cancelled].map(({ message: { id } }) => stored(a, id)));
      assert.deepEqual(
        states.map(({ state }) => state),
        ['pending', 'pending', 'cancelled'],
      );
      for (const { id } of newer) assert.equal((await stored(a, id)).debounce!.count, 1);
    });

    test.onTwo('while claims are given back and publishes come in, no more than one waits', async ({ a, b }) => {
      const key = (n: number) => (n % 2 === 0 ? 'plain' : 'queued');
      let claimed = 0;
      for (let round = 0; round < 12; round += 1) {
        const now = NOW + round * 2 * WINDOW;
        const held = [await a.claims(now, { slots: 1 }), await b.claims(now)];
        claimed += held.flat().length;
        const publishes = Array.from({ length: 8 }, (_, n) => {
          const queueName = key(n) === 'queued' ? QUEUE : null;
          return publish(n % 3 === 0 ? a : b, debounced({ key: key(n), at: now + n, queueName }));
        });
        const releases = [a, b].map((node, index) =>
          node.store.release(
            held[index]!.map(({ lease }) => lease),
            now + 4,
          ),
        );
        await Promise.all([...publishes.slice(0, 4), ...releases, ...publishes.slice(4)]);
        const keys = (await waiting(a)).map(({ debounce }) => debounce!.key);
        assert.deepEqual(keys.toSorted(), ['plain', 'queued'], `round ${round}`);
      }
      assert.equal(claimed, 2 * 11);
      const counts = (await waiting(a)).map(({ debounce }) => debounce!.count);
      assert.deepEqual(counts, [12 * 4, 12 * 4], 'each stands for all of its key');
      await isCounted(a);
    });

    test('a message that has expired is not replaced', async ({ a }) => {
      const first = debounced({ mustStartBefore: NOW + WINDOW + 1 });
      await publish(a, first);
      const second = debounced({ at: NOW + WINDOW + 1 });
      assert.deepEqual(await publish(a, second), { messageId: second.id, count: 1 });
    });

    test('one that was given back is replaced, also if a newer one has expired beside it', async ({ a }) => {
      const first = debounced();
      await publish(a, first);
      const claim = await a.claimOne(NOW + WINDOW);
      const expires = debounced({ at: NOW + WINDOW, mustStartBefore: NOW + 2 * WINDOW + 1 });
      await publish(a, expires);
      const now = NOW + 2 * WINDOW + 1;
      assert.deepEqual(await a.store.release([claim.lease], now), []);
      assert.deepEqual(await publish(a, debounced({ at: now })), { messageId: first.id, count: 2 });
    });

    test('the line of a message that has expired binds no newer one', async ({ a }) => {
      await publish(a, debounced({ queueName: QUEUE, mustStartBefore: NOW + WINDOW + 1 }));
      const second = debounced({ at: NOW + WINDOW + 1 });
      assert.deepEqual(await publish(a, second), { messageId: second.id, count: 1 });
    });

    test('of one request too, all but the first of a key take its place', async ({ a }) => {
      const before = debounced({ key: 'b' });
      await publish(a, before);
      const batch = [
        debounced({ key: 'a', body: bytes(1) }),
        message({ dueAt: NOW + WINDOW }),
        debounced({ key: 'b', body: bytes(2) }),
        debounced({ key: 'a', body: bytes(3) }),
        debounced({ key: 'b', body: bytes(2) }),
        debounced({ key: 'c' }),
      ];
      const { debounced: results, duplicates } = await a.store.accept(batch, NOW);
      assert.deepEqual(
        duplicates,
        batch.map(() => null),
      );
      assert.deepEqual(results, [
        { messageId: batch[0]!.id, count: 1 },
        null,
        { messageId: before.id, count: 2 },
        { messageId: batch[0]!.id, count: 2 },
        { messageId: before.id, count: 3 },
        { messageId: batch[5]!.id, count: 1 },
      ]);
      const byId = new Map((await waiting(a)).map((each) => [each.id, each]));
      assert.equal(byId.size, 4);
      assert.deepEqual([byId.get(batch[0]!.id)!.body.length, byId.get(before.id)!.body.length], [3, 2]);
      assert.deepEqual(
        (await updates(a, before.id)).map(({ names }) => names),
        [['body', 'debounced'], ['debounced']],
      );
      assert.deepEqual(
        (await updates(a, batch[0]!.id)).map(({ names }) => names),
        [['body', 'debounced']],
      );
      assert.equal(await usedToday(a), 7);
      await isCounted(a);
    });

    test('a body that others share, or that has a row of its own, is replaced alone', async ({ a }) => {
      const shared = bytes(SHARED_BODY_BYTES_MIN + 100);
      const [mine, other] = [debounced({ body: shared }), message({ body: shared, dueAt: NOW + WINDOW })];
      await a.store.accept([mine, other], NOW);
      await publish(a, debounced({ body: bytes(200_000, 98) }));
      await isCounted(a);
      await publish(a, debounced({ body: bytes(5, 99) }));
      await isCounted(a);
      const [one, two] = [await stored(a, mine.id), await stored(a, other.id)];
      assert.deepEqual([one.body.length, two.body.length], [5, shared.length]);
      await publish(a, debounced({ body: shared }));
      await isCounted(a);
      assert.equal((await stored(a, mine.id)).body.length, shared.length);
    });

    test('a message cannot take a place in another line, and then nothing is written', async ({ a }) => {
      const limits = { parallelism: 1, rate: null, periodMs: 1000 };
      const inQueue = debounced({ key: 'q', queueName: QUEUE, orderKey: 'x' });
      const underKey = debounced({ key: 'f', flow: { key: 'shop', limits } });
      await a.store.accept([inQueue, underKey], NOW);
      const refused = async (one: NewMessage) => {
        const result = await a.store.accept([message({ dueAt: NOW }), one], NOW);
        assert.deepEqual([result.duplicates, result.isOverQuota], [[], false]);
        return result.misplaced;
      };
      const because = (messageId: string, part: string) => ({ index: 1, messageId, part });
      const q = inQueue.id;
      assert.deepEqual(await refused(debounced({ key: 'q' })), because(q, 'queue'));
      assert.deepEqual(await refused(debounced({ key: 'q', queueName: 'r' })), because(q, 'queue'));
      assert.deepEqual(await refused(debounced({ key: 'q', queueName: QUEUE })), because(q, 'order key'));
      assert.deepEqual(await refused(debounced({ key: 'f' })), because(underKey.id, 'flow key'));
      const elsewhere = { key: 'shop2', limits };
      assert.deepEqual(await refused(debounced({ key: 'f', flow: elsewhere })), because(underKey.id, 'flow key'));
      assert.equal((await waiting(a)).length, 2);
      assert.equal(await usedToday(a), 2);
      assert.equal(await a.store.getQueue(ACCOUNT, 'r'), null);
      const within = [debounced({ key: 'n' }), debounced({ key: 'n', queueName: QUEUE })];
      assert.deepEqual((await a.store.accept(within, NOW)).misplaced, because(within[0]!.id, 'queue'));
      assert.equal((await waiting(a)).length, 2);
    });

    test('in a queue it waits for its new place, and others go before it', async ({ a }) => {
      const first = debounced({ queueName: QUEUE });
      const other = message({ queueName: QUEUE, dueAt: NOW + WINDOW, createdAt: NOW });
      await publish(a, first);
      await a.store.accept([other], NOW);
      await publish(a, debounced({ at: NOW + 1, queueName: QUEUE }));
      assert.deepEqual(await settleAll(a, OK, NOW + WINDOW), [other.id]);
      assert.deepEqual(await settleAll(a, OK, NOW + WINDOW), []);
      assert.deepEqual(await settleAll(a, OK, NOW + WINDOW + 1), [first.id]);
    });

    test('in a queue, a message that has waited as long as it may keeps its place', async ({ a }) => {
      const [head, mine, next] = [
        message({ queueName: QUEUE, dueAt: NOW }),
        debounced({ queueName: QUEUE, maxMs: WINDOW }),
        message({ queueName: QUEUE, dueAt: NOW + WINDOW + 1 }),
      ];
      await a.store.accept([head, mine, next], NOW);
      const claim = await a.claimOne(NOW);
      await publish(a, debounced({ at: NOW + 2 * WINDOW, queueName: QUEUE, maxMs: WINDOW, body: bytes(4) }));
      await a.store.settle([settlementOf(claim, OK, NOW + 2 * WINDOW)], NOW + 2 * WINDOW);
      assert.deepEqual(await settleAll(a, OK, NOW + 2 * WINDOW), [mine.id]);
      assert.deepEqual(await settleAll(a, OK, NOW + 2 * WINDOW), [next.id]);
      assert.equal((await stored(a, mine.id)).body.length, 4);
    });

    test('a queue gives the newest message its expiry and its priority', async ({ a }) => {
      await a.store.saveQueue(ACCOUNT, QUEUE, { expiresMs: 1000, priority: 8 }, NOW);
      const first = debounced({ queueName: QUEUE, mustStartBefore: NOW + MAX });
      await publish(a, first);
      await publish(a, debounced({ at: NOW + 1, queueName: QUEUE }));
      const { mustStartBefore, priority } = await stored(a, first.id);
      assert.deepEqual([mustStartBefore, priority], [NOW + 1 + WINDOW + 1000, 8]);
      const [update] = await updates(a, first.id);
      assert.deepEqual(update!.names, ['nextDeliveryTime', 'expiresAt', 'debounced']);
    });

    test('with an order key, those behind it start meanwhile', async ({ a }) => {
      const first = debounced({ queueName: QUEUE, orderKey: 'x' });
      const behind = message({ queueName: QUEUE, orderKey: 'x', dueAt: NOW + WINDOW });
      await a.store.accept([first, behind], NOW);
      await publish(a, debounced({ at: NOW + 1, queueName: QUEUE, orderKey: 'x' }));
      assert.deepEqual(await settleAll(a, OK, NOW + WINDOW), [behind.id]);
      assert.deepEqual(await settleAll(a, OK, NOW + WINDOW + 1), [first.id]);
    });

    test('under a flow key, the limits of the newest apply and its place becomes free', async ({ a }) => {
      const one = { parallelism: 1, rate: null, periodMs: 1000 };
      const flow = { key: 'shop', limits: one };
      const first = debounced({ flow });
      await publish(a, first);
      // Admitted, but it finds no slot.
      await a.claimDue(NOW + WINDOW, { slots: 0 });
      const other = flowing(one, { dueAt: NOW + WINDOW, createdAt: NOW + WINDOW }, 'shop');
      await a.store.accept([other], NOW + WINDOW);
      await publish(a, debounced({ at: NOW + WINDOW, flow: { key: 'shop', limits: { ...one, parallelism: 2 } } }));
      assert.deepEqual(await settleAll(a, OK, NOW + WINDOW), [other.id]);
      assert.equal((await a.store.getFlowKey(ACCOUNT, 'shop'))!.limits.parallelism, 2);
      assert.deepEqual(await settleAll(a, OK, NOW + 2 * WINDOW), [first.id]);
    });

    test('a change of the one that waits lasts until the next message', async ({ a }) => {
      const first = debounced({ body: bytes(1) });
      await publish(a, first);
      const change = { ...NO_CHANGE, body: bytes(9), dueAt: NOW + MAX, method: 'PUT' as const };
      const outcome = await a.store.changeMessage(ACCOUNT, first.id, change, NOW);
      assert.deepEqual(outcome, { outcome: 'changed', version: '0-1' });
      assert.deepEqual((await stored(a, first.id)).debounce, { key: 'cart', latestAt: NOW + MAX, count: 1 });
      assert.deepEqual(await publish(a, debounced({ at: NOW + 1 })), { messageId: first.id, count: 2 });
      const after = await stored(a, first.id);
      assert.deepEqual([after.method, after.body.length, after.dueAt], ['POST', 0, NOW + 1 + WINDOW]);
      assert.equal(versionOf(after), '0-2');
    });

    test('the daily quota counts every message, and refuses one that would take a place', async ({ a }) => {
      const results: boolean[] = [];
      for (let at = 0; at < 4; at += 1) {
        const { isOverQuota } = await a.store.accept([debounced({ at: NOW + at })], NOW + at, 3);
        results.push(isOverQuota);
      }
      assert.deepEqual(results, [false, false, false, true]);
      const [only] = await waiting(a);
      assert.deepEqual([only!.debounce!.count, only!.dueAt], [3, NOW + 2 + WINDOW]);
    });

    test('after as many events as a message may have from changes, only the count goes on', async ({ a }) => {
      const first = debounced();
      const max = eachMax('messageChanges');
      const all = [first, ...Array.from({ length: max + 4 }, () => debounced())];
      for (let at = 0; at < all.length; at += 100) await a.store.accept(all.slice(at, at + 100), NOW);
      assert.equal((await stored(a, first.id)).debounce!.count, max + 5);
      const page = { limit: 1000, cursor: null, order: 'newestFirst', withBodies: false } as const;
      const filter = { messages: { messageIds: [first.id] }, states: ['UPDATED'] } as const;
      let count = 0;
      for (let cursor: number | null = null; ; ) {
        const { events, ...rest } = await a.store.listEvents(ACCOUNT, filter, { ...page, cursor });
        count += events.length;
        cursor = rest.cursor;
        if (cursor === null) break;
      }
      assert.equal(count, max);
    });

    test.onTwo('of many at once, on any node, exactly one waits and each has a number of its own', async ({ a, b }) => {
      const keys = ['x', 'y', 'z'];
      const all = Array.from({ length: 90 }, (_, n) =>
        debounced({ key: keys[n % 3]!, at: NOW + n, body: bytes(1 + n), queueName: n % 3 === 2 ? QUEUE : null }),
      );
      const results = await Promise.all(all.map((each, n) => publish(n % 2 === 0 ? a : b, each)));
      const shown = await waiting(a);
      assert.deepEqual(shown.map(({ debounce }) => debounce!.key).toSorted(), keys);
      for (const [at, key] of keys.entries()) {
        const one = shown.find(({ debounce }) => debounce!.key === key)!;
        const own = results.filter((_, n) => n % 3 === at) as { messageId: string; count: number }[];
        assert.deepEqual(
          own.map(({ count }) => count).toSorted((x, y) => x - y),
          own.map((_, n) => n + 1),
        );
        assert.ok(own.every(({ messageId }) => messageId === one.id));
        const last = results.findIndex((result, n) => n % 3 === at && (result as { count: number }).count === 30);
        assert.equal(one.body.length, 1 + last, 'the newest is that with the highest number');
      }
      assert.equal(await usedToday(a), all.length);
      await isCounted(a);
    });

    test.onTwo('while claims, changes and cancels go on, none is lost and at most one waits', async ({ a, b }) => {
      const sent = new Map<string, number>();
      const accepted = new Map<string, number>();
      const from = (nodes: readonly Node[], n: number) => nodes[n % nodes.length]!;
      for (let round = 0; round < 12; round += 1) {
        const now = NOW + round * WINDOW;
        const publishes = Array.from({ length: 12 }, async (_, n) => {
          const result = (await publish(from([a, b], n), debounced({ at: now + n }))) as {
            messageId: string;
            count: number;
          };
          const before = accepted.get(result.messageId) ?? 0;
          accepted.set(result.messageId, Math.max(before, result.count));
          return result.messageId;
        });
        const others = [a, b].map(async (node, n) => {
          for (const claim of await node.claims(now + 20 + n)) {
            sent.set(claim.message.id, claim.message.debounce!.count);
            await node.store.settle([settlementOf(claim, OK, now + 20)], now + 20);
          }
        });
        const changes = [...accepted.keys()]
          .slice(-1)
          .map((id) =>
            round % 4 === 3
              ? b.store.cancel(ACCOUNT, [id], now, now + RETENTION)
              : b.store.changeMessage(ACCOUNT, id, { ...NO_CHANGE, timeoutMs: 1000 + round }, now),
          );
        await Promise.all([...publishes, ...others, ...changes]);
        assert.ok((await waiting(a)).length <= 1);
      }
      for (const [id, count] of accepted) {
        const { state, debounce } = await stored(a, id);
        if (state === 'delivered') assert.equal(sent.get(id), count, 'what was sent is the newest that was accepted');
        assert.equal(debounce!.count, count);
      }
      const total = [...accepted.values()].reduce((sum, count) => sum + count, 0);
      assert.equal(total, 12 * 12);
      await isCounted(a);
    });
  });
}
