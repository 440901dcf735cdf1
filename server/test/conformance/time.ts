// What the store keeps of the time, and schedules that are moved because the clock was set back.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { ACCOUNT, message, NOW, OTHER_ACCOUNT, SECOND } from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';
import { schedule } from './schedules.ts';

const FIRST = { accountId: '', id: '' };
const KEPT = { wallAt: NOW + 7, trustedAt: NOW + 8, orderAt: NOW + 9, doubtedMs: 10 };

export function timeConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('the time', () => {
    test.onTwo('is stored with a heartbeat, which returns the time stored before', async ({ a, b }) => {
      assert.equal((await a.store.storedTime()).kept, null);
      assert.equal((await a.store.heartbeat(a.name, SECOND)).kept, null);
      assert.equal((await a.store.heartbeat(a.name, SECOND, KEPT)).kept, null);
      const later = { ...KEPT, wallAt: NOW + SECOND, doubtedMs: 0 };
      assert.deepEqual((await b.store.heartbeat(b.name, SECOND, later)).kept, KEPT);
      assert.deepEqual(
        (await a.store.heartbeat(a.name, SECOND)).kept,
        later,
        'a sign of life without a time keeps none',
      );
      assert.deepEqual((await b.store.storedTime()).kept, later);
    });

    test.onTwo('of the newest place in a line is known to a start', async ({ a, b }) => {
      assert.ok(((await a.store.storedTime()).newestAt ?? 0) === 0);
      const now = NOW + 5 * SECOND;
      await a.store.accept([message({ queueName: 'q', createdAt: now, dueAt: now })], now);
      await a.store.accept([message({ queueName: 'q', createdAt: now, dueAt: now + 1000 * SECOND })], now);
      assert.equal((await b.store.storedTime()).newestAt, now, 'one that is due later does not stand there');
    });
  });

  describe('scheduleTimes and setScheduleTimes', () => {
    test.onTwo('list all that will run, in pieces', async ({ a, b }) => {
      await a.store.saveSchedule(schedule({ id: 'scd_1' }));
      await a.store.saveSchedule(schedule({ id: 'scd_2', isPaused: true, nextAt: null }));
      await a.store.saveSchedule(schedule({ id: 'scd_3', accountId: OTHER_ACCOUNT }));
      const first = await b.store.scheduleTimes(FIRST, 1);
      const second = await b.store.scheduleTimes(first[0]!, 5);
      assert.deepEqual(
        [...first, ...second].map(({ id }) => id),
        ['scd_1', 'scd_3'],
      );
      const { cron, createdAt, nextAt } = schedule();
      assert.deepEqual(first, [{ accountId: ACCOUNT, id: 'scd_1', cron, createdAt, nextAt }]);
    });

    test.onTwo('move only schedules that have not changed since they were read', async ({ a, b }) => {
      for (const id of ['moved', 'taken', 'paused', 'changed']) await a.store.saveSchedule(schedule({ id }));
      const times = await a.store.scheduleTimes(FIRST, 10);
      const taken = { schedule: schedule({ id: 'taken' }), messages: [], nextAt: NOW + 120 * SECOND };
      assert.deepEqual(await b.store.fireSchedules([taken], NOW), [0]);
      await b.store.pauseSchedule(ACCOUNT, 'paused', true, NOW);
      await b.store.saveSchedule(schedule({ id: 'changed', cron: '0 0 1 1 *' }));
      await a.store.setScheduleTimes(times.map((each) => ({ schedule: each, nextAt: NOW + SECOND })));
      const nextAt = async (id: string) => (await b.store.getSchedule(ACCOUNT, id))!.nextAt;
      assert.equal(await nextAt('moved'), NOW + SECOND);
      assert.equal(await nextAt('taken'), NOW + 120 * SECOND);
      assert.equal(await nextAt('paused'), null);
      assert.equal(await nextAt('changed'), schedule().nextAt);
    });
  });
}
