// Schedules as the store keeps them: saved whole, due in time, and each tick taken by one.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Schedule } from '../../src/rules/schedules/schedule.ts';
import type { DueLimits } from '../../src/store/ports/upkeep-store.ts';
import { countStates } from '../support/count-states.ts';
import { ACCOUNT, DAY, message, messages, NOW, OTHER_ACCOUNT, SECOND } from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';

/** More than any of these tests has. */
export const DUE: DueLimits = { schedules: 10, bytes: 1_000_000, after: '' };

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
    overlap: 'allow',
    jitterMs: 0,
    isPaused: false,
    nextAt: NOW + 60 * SECOND,
    lastAt: null,
    lastMessageIds: [],
    skippedCount: 0,
    skippedAt: null,
    createdAt: NOW,
    version: 0,
    ...some,
  };
}

export function schedulesConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('schedules', () => {
    test.onTwo('are read back as they were saved, and replaced whole', async ({ a, b }) => {
      const one = schedule();
      await a.store.saveSchedule(one);
      assert.deepEqual(await b.store.getSchedule(ACCOUNT, one.id), one);
      const other = schedule({ cron: '0 * * * *', headers: [], queueName: 'q', nextAt: null, body: new Uint8Array(0) });
      await b.store.saveSchedule(other);
      assert.deepEqual(await a.store.getSchedule(ACCOUNT, one.id), { ...other, version: 1 });
      assert.deepEqual((await a.store.listSchedules(ACCOUNT)).entries, [{ ...other, version: 1 }]);
      assert.equal(await a.store.countSchedules(ACCOUNT, 9), 1);
    });

    test('belong to one account, also under the same id', async ({ a }) => {
      await a.store.saveSchedule(schedule());
      assert.equal(await a.store.getSchedule(OTHER_ACCOUNT, 'scd_1'), null);
      assert.equal(await a.store.deleteSchedule(OTHER_ACCOUNT, 'scd_1'), false);
      assert.equal(await a.store.pauseSchedule(OTHER_ACCOUNT, 'scd_1', true, NOW), null);
      await a.store.saveSchedule(schedule({ accountId: OTHER_ACCOUNT, cron: '1 1 1 1 1' }));
      assert.equal((await a.store.getSchedule(ACCOUNT, 'scd_1'))!.cron, '* * * * *');
      assert.equal(await a.store.deleteSchedule(ACCOUNT, 'scd_1'), true);
      assert.equal(await a.store.deleteSchedule(ACCOUNT, 'scd_1'), false);
      assert.equal(await a.store.countSchedules(OTHER_ACCOUNT, 9), 1);
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
      const due = async (now: number, schedules: number) =>
        (await a.store.dueSchedules(now, { ...DUE, schedules })).due.map(({ id }) => id);
      assert.deepEqual(await due(NOW, 10), []);
      assert.deepEqual(await due(NOW + 3, 10), ['a', 'b', 'c']);
      assert.deepEqual(await due(NOW + 3, 2), ['a', 'b']);
    });

    test('many schedules of one account do not delay those of another', async ({ a }) => {
      for (let index = 0; index < 30; index += 1) {
        await a.store.saveSchedule(schedule({ id: `a${index}`, nextAt: NOW }));
        await a.store.saveSchedule(schedule({ id: `b${index}`, nextAt: NOW - 1 }));
      }
      await a.store.saveSchedule(schedule({ id: 'lone', accountId: OTHER_ACCOUNT, nextAt: NOW }));
      const { due } = await a.store.dueSchedules(NOW, DUE);
      assert.deepEqual([...new Set(due.map(({ accountId }) => accountId))].toSorted(), [ACCOUNT, OTHER_ACCOUNT]);
    });

    test('the accounts take turns, also where bodies are large; one that is too large comes alone', async ({ a }) => {
      const body = new Uint8Array(1000);
      for (const id of ['a1', 'a2', 'a3']) await a.store.saveSchedule(schedule({ id, body, nextAt: NOW }));
      await a.store.saveSchedule(schedule({ id: 'b1', accountId: OTHER_ACCOUNT, nextAt: NOW }));
      const due = async (bytes: number, after: string) =>
        (await a.store.dueSchedules(NOW, { ...DUE, bytes, after })).due.map(({ id }) => id);
      assert.deepEqual(await due(2500, ''), ['a1', 'b1', 'a2']);
      assert.deepEqual(await due(500, ''), ['a1']);
      assert.deepEqual(await due(500, ACCOUNT), ['b1']);
      const [headers, lastMessageIds] = [[['x', 'y'.repeat(9000)] as const], ['z'.repeat(9000)]];
      await a.store.saveSchedule(schedule({ id: 'a4', nextAt: NOW - 1, headers }));
      await a.store.saveSchedule(schedule({ id: 'a5', nextAt: NOW - 2, lastMessageIds }));
      assert.deepEqual(await due(12_000, ''), ['a5', 'b1', 'a1', 'a2'], 'headers and ids count too');
    });

    test.onTwo('several ticks are taken together, each with its own messages', async ({ a, b }) => {
      const both = [schedule({ nextAt: NOW }), schedule({ id: 'scd_2', accountId: OTHER_ACCOUNT, nextAt: NOW })];
      for (const one of both) await a.store.saveSchedule(one);
      const made = both.map(({ accountId }) => messages(2, { accountId, kind: 'schedule' }));
      const ticks = both.map((one, index) => ({ schedule: one, messages: made[index]!, nextAt: NOW + SECOND }));
      const moved = { schedule: schedule({ id: 'scd_3', nextAt: NOW }), messages: messages(1), nextAt: null };
      assert.deepEqual(await b.store.fireSchedules([...ticks, moved], NOW), [2, 2, null]);
      for (const [index, { accountId, id }] of both.entries()) {
        const { nextAt, lastMessageIds } = (await a.store.getSchedule(accountId, id))!;
        assert.equal(nextAt, NOW + SECOND);
        assert.deepEqual(
          lastMessageIds,
          made[index]!.map((each) => each.id),
        );
      }
      assert.equal((await countStates(a.store)).pending, 4);
    });

    test.onTwo('a claim says when the next is due, on every node', async ({ a, b }) => {
      const nextOf = async (node: typeof a) => (await node.claimDue(NOW)).nextScheduleAt;
      assert.deepEqual([await nextOf(a), await nextOf(b)], [null, null]);
      await a.store.saveSchedule(schedule({ nextAt: NOW + 5 }));
      assert.deepEqual([await nextOf(a), await nextOf(b)], [NOW + 5, NOW + 5]);
      await b.store.saveSchedule(schedule({ id: 'sooner', nextAt: NOW + 3 }));
      assert.deepEqual([await nextOf(a), await nextOf(b)], [NOW + 3, NOW + 3]);
    });

    test('a node without a free slot learns when the next is due, too', async ({ a }) => {
      await a.store.saveSchedule(schedule({ nextAt: NOW }));
      await a.store.dueSchedules(NOW, DUE);
      await a.store.fireSchedules([{ schedule: schedule({ nextAt: NOW }), messages: [], nextAt: NOW + 7 }], NOW);
      await a.store.dueSchedules(NOW, DUE);
      assert.equal((await a.claimDue(NOW, { slots: 0 })).nextScheduleAt, NOW + 7);
    });

    test('a tick over the daily quota makes nothing, and the schedule goes on', async ({ a }) => {
      const one = schedule({ nextAt: NOW });
      await a.store.saveSchedule(one);
      const tick = {
        schedule: one,
        messages: messages(3, { kind: 'schedule', scheduleId: one.id }),
        nextAt: NOW + SECOND,
      };
      assert.deepEqual(await a.store.fireSchedules([{ ...tick, dayMax: 2 }], NOW), ['overQuota']);
      const { nextAt, lastMessageIds } = (await a.store.getSchedule(ACCOUNT, one.id))!;
      assert.deepEqual({ nextAt, lastMessageIds }, { nextAt: NOW + SECOND, lastMessageIds: [] });
      assert.equal((await countStates(a.store)).pending, 0);
      const next = { ...tick, schedule: { ...one, nextAt: NOW + SECOND }, nextAt: NOW + 2 * SECOND, dayMax: 3 };
      assert.deepEqual(await a.store.fireSchedules([next], NOW + SECOND), [3]);
    });

    test.onTwo('a tick is processed once, with its messages, by the first node', async ({ a, b }) => {
      const one = schedule({ nextAt: NOW });
      await a.store.saveSchedule(one);
      const ticks = [a, b, a, b].map(({ store }) => {
        const made = messages(2, { kind: 'schedule', scheduleId: one.id });
        return store
          .fireSchedules([{ schedule: one, messages: made, nextAt: NOW + 60 * SECOND }], NOW + 1)
          .then(([isFired]) => ({ isFired, ids: made.map(({ id }) => id) }));
      });
      const fired = (await Promise.all(ticks)).filter(({ isFired }) => isFired);
      assert.equal(fired.length, 1);
      const { nextAt, lastAt, lastMessageIds } = (await a.store.getSchedule(ACCOUNT, one.id))!;
      assert.deepEqual(
        { nextAt, lastAt, lastMessageIds },
        { nextAt: NOW + 60 * SECOND, lastAt: NOW + 1, lastMessageIds: fired[0]!.ids },
      );
      assert.deepEqual(await b.claimedIds(NOW + 1), fired[0]!.ids);
      assert.deepEqual((await a.store.usage(ACCOUNT, '2026-01-01', '2026-01-01')).entries, [
        { day: '2026-01-01', kind: 'schedule', count: 2 },
      ]);
    });

    test('a tick of a schedule that was paused, moved or deleted meanwhile is not taken', async ({ a }) => {
      const one = schedule({ nextAt: NOW });
      const fire = () => a.store.fireSchedules([{ schedule: one, messages: [message()], nextAt: NOW + SECOND }], NOW);
      await a.store.saveSchedule(one);
      await a.store.pauseSchedule(ACCOUNT, one.id, true, NOW);
      assert.deepEqual(await fire(), [null]);
      await a.store.pauseSchedule(ACCOUNT, one.id, false, NOW);
      assert.deepEqual(await fire(), [null]);
      await a.store.deleteSchedule(ACCOUNT, one.id);
      assert.deepEqual(await fire(), [null]);
      assert.equal((await countStates(a.store)).pending, 0);
    });

    test('paused, it is never due; resumed, it is due at its next time', async ({ a }) => {
      await a.store.saveSchedule(schedule({ nextAt: NOW }));
      await a.store.pauseSchedule(ACCOUNT, 'scd_1', true, NOW);
      assert.deepEqual((await a.store.dueSchedules(NOW + DAY, DUE)).due, []);
      assert.equal((await a.store.getSchedule(ACCOUNT, 'scd_1'))!.isPaused, true);
      assert.deepEqual(await a.store.pauseSchedule(ACCOUNT, 'scd_1', false, NOW + DAY - 1), { nextAt: NOW + DAY });
      assert.deepEqual((await a.store.dueSchedules(NOW + DAY - 1, DUE)).due, []);
      assert.equal((await a.store.dueSchedules(NOW + DAY, DUE)).due.length, 1);
    });

    test('a tick without messages is a tick', async ({ a }) => {
      const one = schedule({ nextAt: NOW });
      await a.store.saveSchedule(one);
      assert.deepEqual(await a.store.fireSchedules([{ schedule: one, messages: [], nextAt: NOW + 5 }], NOW), [0]);
      assert.deepEqual((await a.store.dueSchedules(NOW, DUE)).due, []);
    });

    test('a tick that made only a duplicate names the message that stands for it', async ({ a }) => {
      const standing = message({ deduplication: { key: 'k', expiresAt: NOW + DAY } });
      await a.store.accept([standing], NOW);
      const one = schedule({ nextAt: NOW });
      await a.store.saveSchedule(one);
      const made = [message({ deduplication: standing.deduplication })];
      await a.store.fireSchedules([{ schedule: one, messages: made, nextAt: null }], NOW);
      assert.deepEqual((await a.store.getSchedule(ACCOUNT, one.id))!.lastMessageIds, [standing.id]);
    });
  });
}
