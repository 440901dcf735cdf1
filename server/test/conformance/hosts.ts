// Hosts: what nodes have measured of them is added up, bounded and forgotten, and the messages that wait are counted.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { HEALTH_KEPT_MS, type HostHealth, mergeHealth } from '../../src/rules/hosts/host-health.ts';
import type { HostNews } from '../../src/rules/hosts/parking.ts';
import { FIRST_PART } from '../../src/store/ports/list-piece.ts';
import { WALK_START } from '../../src/store/ports/upkeep-store.ts';
import { ACCOUNT, DAY, message, messages, NOW, OTHER_ACCOUNT, SECOND } from './given.ts';
import { type HarnessFactory, idsOf, storeTests } from './harness.ts';

const HOST = 'a.example:443';

function healthAt(at: number, some: Partial<HostHealth> = {}): HostHealth {
  return {
    spans: [{ at, attempts: 2, delivered: 1, durations: { 6: 1, 12: 1 } }],
    lastAttemptAt: at,
    lastAnswerAt: at,
    failingSince: null,
    lastFailure: null,
    ...some,
  };
}

const PARKS = { host: HOST, outage: 'park' } as const;

/** News of one node: so many failures in a row. */
function failures(count: number, some: Partial<HostNews> = {}): HostNews {
  return {
    accountId: ACCOUNT,
    host: HOST,
    answers: 0,
    answeredAttemptAt: null,
    failures: count,
    failingSince: NOW,
    hasFailedProbe: false,
    at: NOW,
    messageId: 'msg_unknown',
    ...some,
  };
}

export function hostsConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('hosts', () => {
    test.onTwo('what two nodes have measured at once is added up', async ({ a, b }) => {
      const [one, other] = [healthAt(NOW), healthAt(NOW, { failingSince: NOW + 5, lastAttemptAt: NOW + 5 })];
      await Promise.all(
        [a, b].map(({ store }, index) =>
          store.addHostHealth([{ accountId: ACCOUNT, host: HOST, health: index === 0 ? one : other }], 10),
        ),
      );
      const found = await a.store.getHost(ACCOUNT, HOST);
      assert.deepEqual(found, { accountId: ACCOUNT, host: HOST, health: mergeHealth(one, other), parking: null });
      assert.equal(await a.store.getHost(OTHER_ACCOUNT, HOST), null);
      assert.equal(await a.store.getHost(ACCOUNT, 'b.example:443'), null);
    });

    test('an account gets no further host than it may have; those that it has are still measured', async ({ a }) => {
      const hosts = ['c:443', 'a:443', 'b:443'].map((host) => ({ accountId: ACCOUNT, host, health: healthAt(NOW) }));
      const three = { ...hosts[0]!, health: healthAt(NOW, { spans: [{ ...healthAt(NOW).spans[0]!, attempts: 3 }] }) };
      assert.equal(await a.store.addHostHealth(hosts, 2), 2);
      assert.equal(await a.store.addHostHealth([three, ...hosts], 2), 5, 'attempts that are left out');
      const { entries, hasMore } = await a.store.listHosts(ACCOUNT);
      assert.deepEqual(
        entries.map(({ host, health }) => [host, health.spans[0]!.attempts]),
        [
          ['a:443', 4],
          ['b:443', 4],
        ],
      );
      assert.equal(hasMore, false);
      const part = await a.store.listHosts(ACCOUNT, { ...FIRST_PART, after: 'a:443', limit: 1 });
      assert.deepEqual(
        part.entries.map(({ host }) => host),
        ['b:443'],
      );
    });

    test('a host without an attempt for a week is forgotten', async ({ a }) => {
      const old = { accountId: ACCOUNT, host: 'old:443', health: healthAt(NOW) };
      const fresh = { accountId: ACCOUNT, host: 'fresh:443', health: healthAt(NOW + HEALTH_KEPT_MS) };
      await a.store.addHostHealth([old, fresh], 10);
      const { deleted, after } = await a.store.deleteIdleHosts(NOW + HEALTH_KEPT_MS, WALK_START, 10);
      assert.deepEqual([deleted, after], [1, null]);
      assert.deepEqual(
        (await a.store.listHosts(ACCOUNT)).entries.map(({ host }) => host),
        ['fresh:443'],
      );
    });

    test('the messages that wait are counted by host, in pieces, without those under way', async ({ a }) => {
      const later = { dueAt: NOW + 1000 };
      await a.store.accept([message({ host: HOST }), message({ host: HOST, ...later })], NOW);
      await a.store.accept([message({ host: 'b:443', ...later }), message({ accountId: OTHER_ACCOUNT })], NOW);
      assert.equal((await a.claims(NOW)).length, 2);
      const first = await a.store.waitingByHost(ACCOUNT, 0, 2);
      assert.deepEqual(first.counts, [{ host: HOST, waiting: 1 }]);
      const rest = await a.store.waitingByHost(ACCOUNT, first.nextSeq!, 2);
      assert.deepEqual(rest, { counts: [{ host: 'b:443', waiting: 1 }], nextSeq: null });
    });

    test.onTwo('the failures of two nodes park a host, once; one message has the event', async ({ a, b }) => {
      const sent = message(PARKS);
      await a.store.accept([sent], NOW);
      const news = failures(5, { messageId: sent.id });
      const both = await Promise.all([a, b].map(({ store }) => store.noteHosts([news], 9, 9)));
      const parked = both.flat().filter((each) => each?.parkedAt === NOW);
      assert.equal(parked.length, 1);
      assert.equal((await b.store.noteHosts([news], 9, 9))[0]!.parkedAt, NOW);
      const list = await b.store.listParked(9);
      assert.deepEqual(
        list.map(({ accountId, host, parking, owner }) => [accountId, host, parking.probeAt, owner]),
        [[ACCOUNT, HOST, NOW + 5 * SECOND, null]],
      );
      assert.deepEqual((await a.store.getHost(ACCOUNT, HOST))!.parking, list[0]!.parking);
      assert.equal(await a.store.getHost(OTHER_ACCOUNT, HOST), null);
      const { events } = await a.store.listEvents(
        ACCOUNT,
        { messages: {}, states: ['PARKED'] },
        { limit: 9, cursor: null, order: 'oldestFirst', withBodies: false },
      );
      assert.deepEqual(
        events.map((event) => [event.message.id, event.at]),
        [[sent.id, NOW]],
      );
      await a.store.noteHosts([failures(0, { answers: 1, answeredAttemptAt: NOW, at: NOW + 1 })], 9, 9);
      assert.equal((await a.store.getHost(ACCOUNT, HOST))!.parking!.step, 1);
    });

    test.onTwo('one node at a time owns a parked host, and another one after its time', async ({ a, b }) => {
      await a.store.noteHosts([failures(10)], 9, 9);
      const owner = async () => (await a.store.listParked(9)).map((each) => [each.owner, each.ownedUntil]);
      await Promise.all([a.store.ownParked('nod_a', NOW, NOW + 10), b.store.ownParked('nod_b', NOW, NOW + 10)]);
      const [[first]] = (await owner()) as [[string, number]];
      const other = first === 'nod_a' ? 'nod_b' : 'nod_a';
      await b.store.ownParked(other, NOW + 9, NOW + 20);
      assert.deepEqual(await owner(), [[first, NOW + 10]]);
      await b.store.ownParked(first, NOW + 9, NOW + 20);
      assert.deepEqual(await owner(), [[first, NOW + 20]]);
      await b.store.ownParked(other, NOW + 20, NOW + 30);
      assert.deepEqual(await owner(), [[other, NOW + 30]]);
    });

    test.onTwo(
      'a node whose probe failed loses the host, and takes it again only if no other node does',
      async ({ a, b }) => {
        await a.store.noteHosts([failures(10)], 9, 9);
        const owner = async () => (await a.store.listParked(9))[0]!.owner;
        const own = (node: string, now: number) => b.store.ownParked(node, now, now + 15 * SECOND);
        await own('nod_a', NOW);
        await a.store.noteHosts([failures(1, { hasFailedProbe: true, at: NOW + 5 * SECOND })], 9, 9);
        await own('nod_a', NOW + 6 * SECOND);
        await own('nod_b', NOW + 7 * SECOND);
        assert.equal(await owner(), 'nod_b');
        await a.store.noteHosts([failures(1, { hasFailedProbe: true, at: NOW + 10 * SECOND })], 9, 9);
        await own('nod_b', NOW + 12 * SECOND);
        assert.equal((await a.store.listParked(9))[0]!.ownedUntil, NOW + 10 * SECOND);
        await own('nod_b', NOW + 13 * SECOND);
        assert.deepEqual([await owner(), (await a.store.listParked(9))[0]!.ownedUntil], ['nod_b', NOW + 28 * SECOND]);
      },
    );

    test('an account gets no further parked host than it may have', async ({ a }) => {
      const [one, two] = [failures(10), failures(10, { host: 'b:443' })];
      await a.store.noteHosts([one, two], 1, 9);
      assert.equal((await a.store.listParked(9)).length, 1);
      assert.equal(await a.store.parkHost(ACCOUNT, 'c:443', NOW, 1, 9), 'full');
      assert.equal(await a.store.parkHost(OTHER_ACCOUNT, 'c:443', NOW, 1, 9), 'parked');
      assert.equal(await a.store.parkHost(OTHER_ACCOUNT, 'd:443', NOW, 9, 1), 'full');
    });

    test('by hand: a host is parked without probes, and resumed; one that is not there is not', async ({ a }) => {
      assert.equal(await a.store.resumeHost(ACCOUNT, HOST, NOW), false);
      assert.equal(await a.store.parkHost(ACCOUNT, HOST, NOW, 9, 9), 'parked');
      const { parkedAt, probeAt, isByHand } = (await a.store.getHost(ACCOUNT, HOST))!.parking!;
      assert.deepEqual([parkedAt, probeAt, isByHand], [NOW, null, true]);
      assert.equal(await a.store.resumeHost(ACCOUNT, HOST, NOW + 1), true);
      const [opening] = await a.store.listParked(9);
      assert.equal(opening!.parking.step, 1);
      await a.store.endOpening([{ ...opening!, parking: { ...opening!.parking, answered: 1 } }]);
      assert.equal((await a.store.listParked(9)).length, 1);
      await a.store.endOpening([opening!]);
      assert.deepEqual(await a.store.listParked(9), []);
    });

    test('by hand: the first message that is due and parks has the events; without one there are none', async ({
      a,
    }) => {
      const eventsOf = async () => {
        const { events } = await a.store.listEvents(
          ACCOUNT,
          { messages: {}, states: ['PARKED', 'RESUMED'] },
          { limit: 9, cursor: null, order: 'oldestFirst', withBodies: false },
        );
        return events.map((event) => [event.message.id, event.state, event.at]);
      };
      const delayed = message({ ...PARKS, dueAt: NOW + DAY });
      await a.store.accept([delayed, message({ host: HOST }), message({ ...PARKS, accountId: OTHER_ACCOUNT })], NOW);
      await a.store.parkHost(ACCOUNT, HOST, NOW, 9, 9);
      await a.store.resumeHost(ACCOUNT, HOST, NOW);
      assert.deepEqual(await eventsOf(), []);
      const [low, high] = [message(PARKS), message({ ...PARKS, priority: 9 })] as const;
      await a.store.accept([low, high], NOW);
      await a.store.parkHost(ACCOUNT, HOST, NOW + 1, 9, 9);
      await a.store.parkHost(ACCOUNT, HOST, NOW + 2, 9, 9);
      await a.store.resumeHost(ACCOUNT, HOST, NOW + 3);
      assert.deepEqual(await eventsOf(), [
        [high.id, 'PARKED', NOW + 1],
        [high.id, 'RESUMED', NOW + 3],
      ]);
    });

    test('the probe is the first in the order of priorities, and waiting counts in it', async ({ a }) => {
      const MINUTE = 60 * SECOND;
      const [older, high, old, low] = [
        message({ ...PARKS, priority: 0, dueAt: NOW - 7 * MINUTE }),
        message({ ...PARKS, priority: 9 }),
        message({ ...PARKS, dueAt: NOW - MINUTE }),
        message({ ...PARKS, priority: 0, dueAt: NOW - MINUTE }),
      ] as const;
      await a.store.accept([low, old, high, older], NOW);
      const probes: string[] = [];
      for (let count = 0; count < 4; count += 1) {
        probes.push(...idsOf(await a.claims(NOW, { parked: [[ACCOUNT, HOST, 1]] })));
      }
      assert.deepEqual(
        probes,
        [high, older, old, low].map(({ id }) => id),
      );
    });

    test('messages that park wait for a parked host, others do not, and as many start as the host may get', async ({
      a,
    }) => {
      const parking = messages(3, PARKS);
      const retrying = message({ host: HOST, outage: 'retry' });
      const plain = message({ host: HOST });
      const elsewhere = message({ host: 'b.example:443', outage: 'park' });
      await a.store.accept([...parking, retrying, plain, elsewhere], NOW);
      const closed = { parked: [[ACCOUNT, HOST, 0]] } as const;
      assert.deepEqual(
        new Set(idsOf(await a.claims(NOW, closed))),
        new Set([retrying, plain, elsewhere].map(({ id }) => id)),
      );
      assert.deepEqual(idsOf(await a.claims(NOW, closed)), []);
      assert.deepEqual(idsOf(await a.claims(NOW, { parked: [[ACCOUNT, HOST, 1]] })), [parking[0]!.id]);
      assert.deepEqual(idsOf(await a.claims(NOW, { parked: [[ACCOUNT, HOST, 2]] })), [parking[1]!.id, parking[2]!.id]);
    });

    test('accounts with nothing but parked messages take the turn of no other account, however few slots are free', async ({
      a,
    }) => {
      const accounts = Array.from({ length: 40 }, (_, index) => `${ACCOUNT}_${index}`);
      await a.store.accept([message()], NOW);
      assert.equal((await a.claims(NOW, { slots: 1 })).length, 1);
      for (const accountId of accounts) await a.store.accept([message({ ...PARKS, accountId })], NOW);
      const others = messages(2, { accountId: OTHER_ACCOUNT, host: 'b.example:443', createdAt: NOW, dueAt: NOW + 1 });
      await a.store.accept(others, NOW);
      const closed = { slots: 1, parked: accounts.map((accountId) => [accountId, HOST, 0] as const) };
      const claimed = [...idsOf(await a.claims(NOW + 1, closed)), ...idsOf(await a.claims(NOW + 1, closed))];
      assert.deepEqual(new Set(claimed), new Set(others.map(({ id }) => id)));
    });

    test('a host that failures have parked is forgotten like others, and parks no message any more', async ({ a }) => {
      await a.store.noteHosts([failures(10)], 9, 9);
      const forget = async (now: number) => (await a.store.deleteIdleHosts(now, WALK_START, 10)).deleted;
      assert.equal(await forget(NOW + HEALTH_KEPT_MS - 1), 0);
      assert.equal(await forget(NOW + HEALTH_KEPT_MS), 1);
      assert.deepEqual(await a.store.listParked(9), []);
    });

    test('a host that a person has parked is forgotten only when it is not parked any more', async ({ a }) => {
      await a.store.parkHost(ACCOUNT, HOST, NOW, 9, 9);
      const forget = async () => (await a.store.deleteIdleHosts(NOW + 2 * HEALTH_KEPT_MS, WALK_START, 10)).deleted;
      assert.equal(await forget(), 0);
      await a.store.resumeHost(ACCOUNT, HOST, NOW);
      await a.store.resumeHost(ACCOUNT, HOST, NOW);
      assert.equal(await forget(), 1);
    });
  });
}
