// Schedules as the store keeps them: saved whole, due in time, and each tick taken by one.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Schedule } from '../../src/domain/schedule.ts';
import { ACCOUNT, DAY, message, messages, NOW, OTHER_ACCOUNT, SECOND } from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';

export function schedule(some: Partial<Schedule> = {}): Schedule {
  return {
    id: 'scd_1',
    accountId: ACCOUNT,
    cron: '* * * * *',
    destination: 'https://a.example/tick',
    queueName: null,
    headers: [['Service-Retries', '0']],
    body: new Uint8Array([1, 2]),
    callerIp: '192.0.2.1',
    isPaused: false,
    nextAt: NOW + 60 * SECOND,
    lastAt: null,
    lastMessageIds: [],
    createdAt: NOW,
    ...some,
  };
}

export function schedulesConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('schedules', () => {
    test('are read back as they were saved, and replaced whole', async ({ a, b }) => {
      const one = schedule();
      await a.store.saveSchedule(one);
      assert.deepEqual(await b.store.getSchedule(ACCOUNT, one.id), one);
      const other = schedule({ cron: '0 * * * *', headers: [], queueName: 'q', nextAt: null, body: new Uint8Array(0) });
      await b.store.saveSchedule(other);
      assert.deepEqual(await a.store.getSchedule(ACCOUNT, one.id), other);
      assert.deepEqual(await a.store.listSchedules(ACCOUNT), [other]);
      assert.equal(await a.store.countSchedules(ACCOUNT), 1);
    });

    test('belong to one account, also under the same id', async ({ a }) => {
      await a.store.saveSchedule(schedule());
      assert.equal(await a.store.getSchedule(OTHER_ACCOUNT, 'scd_1'), null);
      assert.equal(await a.store.deleteSchedule(OTHER_ACCOUNT, 'scd_1'), false);
      assert.equal(await a.store.setScheduleNext(OTHER_ACCOUNT, 'scd_1', null, true), false);
      await a.store.saveSchedule(schedule({ accountId: OTHER_ACCOUNT, cron: '1 1 1 1 1' }));
      assert.equal((await a.store.getSchedule(ACCOUNT, 'scd_1'))!.cron, '* * * * *');
      assert.equal(await a.store.deleteSchedule(ACCOUNT, 'scd_1'), true);
      assert.equal(await a.store.deleteSchedule(ACCOUNT, 'scd_1'), false);
      assert.equal(await a.store.countSchedules(OTHER_ACCOUNT), 1);
    });

    test('are due at their time, earliest first, as many as asked', async ({ a }) => {
      for (const [id, after] of [
        ['c', 3],
        ['a', 1],
        ['b', 2],
        ['d', 9],
      ] as const) {
        await a.store.saveSchedule(schedule({ id, nextAt: NOW + after }));
      }
      await a.store.saveSchedule(schedule({ id: 'never', nextAt: null }));
      const due = async (now: number, limit: number) => (await a.store.dueSchedules(now, limit)).map(({ id }) => id);
      assert.deepEqual(await due(NOW, 10), []);
      assert.deepEqual(await due(NOW + 3, 10), ['a', 'b', 'c']);
      assert.deepEqual(await due(NOW + 3, 2), ['a', 'b']);
    });

    test('a claim says when the next is due, on every node', async ({ a, b }) => {
      const nextOf = async (node: typeof a) => (await node.claimDue(NOW)).nextScheduleAt;
      assert.deepEqual([await nextOf(a), await nextOf(b)], [null, null]);
      await a.store.saveSchedule(schedule({ nextAt: NOW + 5 }));
      assert.deepEqual([await nextOf(a), await nextOf(b)], [NOW + 5, NOW + 5]);
      await b.store.saveSchedule(schedule({ id: 'sooner', nextAt: NOW + 3 }));
      assert.deepEqual([await nextOf(a), await nextOf(b)], [NOW + 3, NOW + 3]);
    });

    test('a node without a free slot learns when the next is due, too', async ({ a }) => {
      await a.store.saveSchedule(schedule({ nextAt: NOW }));
      await a.store.dueSchedules(NOW, 10);
      await a.store.fireSchedule({ schedule: schedule({ nextAt: NOW }), messages: [], nextAt: NOW + 7, now: NOW });
      await a.store.dueSchedules(NOW, 10);
      assert.equal((await a.claimDue(NOW, { slots: 0 })).nextScheduleAt, NOW + 7);
    });

    test('a tick is taken once, with its messages, by whoever comes first', async ({ a, b }) => {
      const one = schedule({ nextAt: NOW });
      await a.store.saveSchedule(one);
      const ticks = [a, b, a, b].map(({ store }) => {
        const made = messages(2, { kind: 'schedule', scheduleId: one.id });
        return store
          .fireSchedule({ schedule: one, messages: made, nextAt: NOW + 60 * SECOND, now: NOW + 1 })
          .then((isFired) => ({ isFired, ids: made.map(({ id }) => id) }));
      });
      const fired = (await Promise.all(ticks)).filter(({ isFired }) => isFired);
      assert.equal(fired.length, 1);
      const { nextAt, lastAt, lastMessageIds } = (await a.store.getSchedule(ACCOUNT, one.id))!;
      assert.deepEqual(
        { nextAt, lastAt, lastMessageIds },
        { nextAt: NOW + 60 * SECOND, lastAt: NOW + 1, lastMessageIds: fired[0]!.ids },
      );
      assert.deepEqual(await b.claimedIds(NOW + 1), fired[0]!.ids);
      assert.deepEqual(await a.store.usage(ACCOUNT, '2026-01-01', '2026-01-01'), [
        { day: '2026-01-01', kind: 'schedule', count: 2 },
      ]);
    });

    test('a tick of a schedule that was paused, moved or deleted meanwhile is not taken', async ({ a }) => {
      const one = schedule({ nextAt: NOW });
      const fire = () => a.store.fireSchedule({ schedule: one, messages: [message()], nextAt: NOW + SECOND, now: NOW });
      await a.store.saveSchedule(one);
      await a.store.setScheduleNext(ACCOUNT, one.id, null, true);
      assert.equal(await fire(), false);
      await a.store.setScheduleNext(ACCOUNT, one.id, NOW + DAY, false);
      assert.equal(await fire(), false);
      await a.store.deleteSchedule(ACCOUNT, one.id);
      assert.equal(await fire(), false);
      assert.equal((await a.store.counts()).pending, 0);
    });

    test('paused, it is never due; resumed, it is due at the time it was given', async ({ a }) => {
      await a.store.saveSchedule(schedule({ nextAt: NOW }));
      await a.store.setScheduleNext(ACCOUNT, 'scd_1', null, true);
      assert.deepEqual(await a.store.dueSchedules(NOW + DAY, 10), []);
      assert.equal((await a.store.getSchedule(ACCOUNT, 'scd_1'))!.isPaused, true);
      await a.store.setScheduleNext(ACCOUNT, 'scd_1', NOW + DAY, false);
      assert.deepEqual(await a.store.dueSchedules(NOW + DAY - 1, 10), []);
      assert.equal((await a.store.dueSchedules(NOW + DAY, 10)).length, 1);
    });

    test('a tick without messages is a tick', async ({ a }) => {
      const one = schedule({ nextAt: NOW });
      await a.store.saveSchedule(one);
      assert.equal(await a.store.fireSchedule({ schedule: one, messages: [], nextAt: NOW + 5, now: NOW }), true);
      assert.deepEqual(await a.store.dueSchedules(NOW, 10), []);
    });

    test('a tick that made only a duplicate names the message that stands for it', async ({ a }) => {
      const standing = message({ deduplication: { key: 'k', expiresAt: NOW + DAY } });
      await a.store.accept([standing], NOW);
      const one = schedule({ nextAt: NOW });
      await a.store.saveSchedule(one);
      const made = [message({ deduplication: standing.deduplication })];
      await a.store.fireSchedule({ schedule: one, messages: made, nextAt: null, now: NOW });
      assert.deepEqual((await a.store.getSchedule(ACCOUNT, one.id))!.lastMessageIds, [standing.id]);
    });
  });
}
