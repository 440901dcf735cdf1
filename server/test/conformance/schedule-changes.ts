// Schedules that skip ticks while a message is open, and schedules that are changed: they keep their history.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import type { Schedule } from '../../src/rules/schedules/schedule.ts';
import { countStates } from '../support/count-states.ts';
import { ACCOUNT, DAY, message, messages, NOW, OK, OTHER_ACCOUNT, REFUSED, SECOND, settlementOf } from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';
import { DUE, schedule } from './schedules.ts';

const MINUTE = 60 * SECOND;

/** Runs the tick that is stored as the next one, with one minute to the one after it. */
async function tick(node: Node, made: readonly NewMessage[], id = 'scd_1') {
  const one = (await node.store.getSchedule(ACCOUNT, id))!;
  const [result] = await node.store.fireSchedules(
    [{ schedule: one, messages: made, nextAt: one.nextAt! + MINUTE }],
    one.nextAt!,
  );
  return result;
}

const skipping = (some: Partial<Schedule> = {}) => schedule({ overlap: 'skip', nextAt: NOW, ...some });
const made = (some: Partial<NewMessage> = {}) => message({ kind: 'schedule', scheduleId: 'scd_1', ...some });

async function end(node: Node, outcome = OK, now = NOW): Promise<void> {
  const settlements = (await node.claims(now)).map((claim) => settlementOf(claim, outcome, now + 1));
  await node.store.settle(settlements, now + 1);
}

export function scheduleChangesConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('schedules that skip', () => {
    test.onTwo('make no message while the last one is open, and count what they skip', async ({ a, b }) => {
      await a.store.saveSchedule(skipping());
      const first = made();
      assert.equal(await tick(a, [first]), 1);
      assert.equal(await tick(b, [made()]), 'skipped');
      assert.equal(await tick(a, [made()]), 'skipped');
      const { nextAt, lastAt, lastMessageIds, skippedCount, skippedAt } = (await b.store.getSchedule(
        ACCOUNT,
        'scd_1',
      ))!;
      assert.deepEqual(
        { nextAt, lastAt, lastMessageIds, skippedCount, skippedAt },
        {
          nextAt: NOW + 3 * MINUTE,
          lastAt: NOW,
          lastMessageIds: [first.id],
          skippedCount: 2,
          skippedAt: NOW + 2 * MINUTE,
        },
      );
      assert.equal((await countStates(a.store)).pending, 1);
      await end(a);
      assert.equal(await tick(b, [made()]), 1);
      assert.equal((await a.store.getSchedule(ACCOUNT, 'scd_1'))!.skippedCount, 2);
    });

    test('wait for all messages of a tick, however these end', async ({ a }) => {
      await a.store.saveSchedule(skipping());
      const [one, two, three] = [made(), made(), made({ dueAt: NOW + DAY })];
      assert.equal(await tick(a, [one, two, three]), 3);
      await end(a, REFUSED);
      assert.equal(await a.stateOf(one), 'failed');
      assert.equal(await tick(a, [made()]), 'skipped', 'the third is delayed');
      await a.store.cancel(ACCOUNT, [three.id], NOW, NOW + DAY);
      assert.equal(await tick(a, [made()]), 1);
    });

    test('count a message as open while its attempt runs', async ({ a }) => {
      await a.store.saveSchedule(skipping());
      await tick(a, [made()]);
      const claim = await a.claimOne(NOW);
      assert.equal(await tick(a, [made()]), 'skipped');
      await a.store.settle([settlementOf(claim, OK, NOW + 1)], NOW + 1);
      assert.equal(await tick(a, [made()]), 1);
    });

    test('wait for the message that stands for a duplicate', async ({ a }) => {
      const deduplication = { key: 'k', expiresAt: NOW + DAY };
      await a.store.accept([message({ deduplication })], NOW);
      await a.store.saveSchedule(skipping());
      assert.equal(await tick(a, [made({ deduplication })]), 0);
      assert.equal(await tick(a, [made()]), 'skipped');
    });

    test('do not wait for messages that are not of their last tick', async ({ a }) => {
      await a.store.saveSchedule(skipping());
      await a.store.accept([made()], NOW);
      await a.store.saveSchedule(skipping({ id: 'other' }));
      assert.equal(await tick(a, [made({ scheduleId: 'other' })], 'other'), 1);
      assert.equal(await tick(a, [made()]), 1);
    });

    test('a schedule that allows an overlap makes its messages beside open ones', async ({ a }) => {
      await a.store.saveSchedule(schedule({ nextAt: NOW }));
      assert.deepEqual([await tick(a, [made()]), await tick(a, [made()])], [1, 1]);
      assert.equal((await a.store.getSchedule(ACCOUNT, 'scd_1'))!.skippedAt, null);
    });

    test.onTwo(
      'are due with the word that the tick would be skipped; what is not planned is not made',
      async ({ a, b }) => {
        const open = made();
        await a.store.accept([open], NOW);
        for (const overlap of ['allow', 'skip'] as const) {
          await a.store.saveSchedule(schedule({ id: overlap, overlap, nextAt: NOW, lastMessageIds: [open.id] }));
        }
        await a.store.saveSchedule(skipping({ id: 'skip-free' }));
        const due = async () =>
          (await b.store.dueSchedules(NOW, DUE)).due.map(({ id, isSkipped }) => [id, isSkipped ?? false]);
        assert.deepEqual(await due(), [
          ['allow', false],
          ['skip', true],
          ['skip-free', false],
        ]);
        const unplanned = ['skip', 'skip-free'].map((id) => ({
          schedule: skipping({ id }),
          messages: [],
          isUnplanned: true as const,
          nextAt: NOW + MINUTE,
        }));
        assert.deepEqual(await a.store.fireSchedules(unplanned, NOW), ['skipped', null]);
        assert.deepEqual(await due(), [
          ['allow', false],
          ['skip-free', false],
        ]);
      },
    );

    test.onTwo('a tick is skipped once, by whichever node, and beside ticks that run', async ({ a, b }) => {
      const two = skipping({ id: 'scd_2' });
      await a.store.saveSchedule(skipping());
      await a.store.saveSchedule(two);
      await tick(a, [made()]);
      const one = (await a.store.getSchedule(ACCOUNT, 'scd_1'))!;
      const race = [a, b, a, b].map(({ store }) =>
        store.fireSchedules(
          [
            { schedule: one, messages: [made()], nextAt: NOW + DAY },
            { schedule: two, messages: messages(2), nextAt: NOW + DAY },
          ],
          NOW + MINUTE,
        ),
      );
      const results = await Promise.all(race);
      const of = (index: number) => results.map((each) => each[index]).filter((each) => each !== null);
      assert.deepEqual([of(0), of(1)], [['skipped'], [2]]);
      assert.equal((await b.store.getSchedule(ACCOUNT, 'scd_1'))!.skippedCount, 1);
      assert.equal((await countStates(a.store)).pending, 3);
    });

    test('a tick that was moved, paused or deleted meanwhile is not counted as skipped', async ({ a }) => {
      await a.store.saveSchedule(skipping());
      await tick(a, [made()]);
      const one = (await a.store.getSchedule(ACCOUNT, 'scd_1'))!;
      const fire = () =>
        a.store.fireSchedules([{ schedule: one, messages: [made()], nextAt: NOW + DAY }], NOW + MINUTE);
      await a.store.pauseSchedule(ACCOUNT, one.id, true, NOW);
      assert.deepEqual(await fire(), [null]);
      await a.store.pauseSchedule(ACCOUNT, one.id, false, NOW);
      assert.deepEqual(await fire(), [null]);
      assert.equal((await a.store.getSchedule(ACCOUNT, 'scd_1'))!.skippedCount, 0);
      await a.store.deleteSchedule(ACCOUNT, one.id);
      assert.deepEqual(await fire(), [null]);
    });
  });

  describe('schedules that are changed', () => {
    test.onTwo('keep their history, and what is new counts', async ({ a, b }) => {
      await a.store.saveSchedule(skipping({ jitterMs: 5 * SECOND }));
      const first = made();
      await tick(a, [first]);
      await tick(a, [made()]);
      const changed = schedule({
        cron: '@every 10s',
        destination: 'https://b.example/',
        queueName: 'q',
        headers: [],
        body: new Uint8Array([9]),
        jitterMs: 7,
        nextAt: NOW + DAY,
        createdAt: NOW + 5,
      });
      await b.store.saveSchedule(changed);
      const kept = { createdAt: NOW, lastAt: NOW, lastMessageIds: [first.id], skippedCount: 1 };
      assert.deepEqual(await a.store.getSchedule(ACCOUNT, 'scd_1'), {
        ...changed,
        ...kept,
        skippedAt: NOW + MINUTE,
        version: 1,
      });
      assert.deepEqual((await a.store.listSchedules(ACCOUNT)).entries[0]!.skippedCount, 1);
    });

    test('keep a tick that is due or has just run, unless their times are new or they were paused', async ({ a }) => {
      const next = async () => (await a.store.getSchedule(ACCOUNT, 'scd_1'))!.nextAt;
      await a.store.saveSchedule(schedule({ nextAt: NOW }));
      await a.store.saveSchedule(schedule({ nextAt: NOW + MINUTE, headers: [] }));
      assert.equal(await next(), NOW);
      await tick(a, []);
      await a.store.saveSchedule(schedule({ nextAt: NOW, headers: [] }));
      assert.equal(await next(), NOW + MINUTE);
      await a.store.saveSchedule(schedule({ nextAt: NOW + 7, cron: '@every 7s' }));
      assert.equal(await next(), NOW + 7);
      await a.store.pauseSchedule(ACCOUNT, 'scd_1', true, NOW);
      await a.store.saveSchedule(schedule({ nextAt: NOW + 14, cron: '@every 7s' }));
      assert.equal(await next(), NOW + 14);
    });

    test.onTwo('are not changed by who has read an older version', async ({ a, b }) => {
      const one = schedule();
      await a.store.saveSchedule(one);
      const read = async () => (await a.store.getSchedule(ACCOUNT, one.id))!;
      const change = schedule({ cron: '0 0 1 1 *', nextAt: NOW + DAY });
      let seen: Schedule = await read();
      const tried = () => b.store.saveSchedule(change, seen);
      const isRefusedAfter = async (changed: Promise<unknown>) => {
        await changed;
        assert.equal(await tried(), false);
        seen = await read();
        assert.equal(seen.cron, one.cron);
      };
      await isRefusedAfter(a.store.saveSchedule({ ...one, body: new Uint8Array([3]) }));
      await isRefusedAfter(a.store.saveSchedule({ ...one, overlap: 'skip' }, seen));
      await isRefusedAfter(a.store.pauseSchedule(ACCOUNT, one.id, true, NOW));
      await isRefusedAfter(a.store.pauseSchedule(ACCOUNT, one.id, false, NOW));
      await a.store.pauseSchedule(ACCOUNT, one.id, false, NOW + DAY);
      await tick(a, []);
      assert.equal(await tried(), true, 'neither a tick nor a resume without a pause is a change');
      assert.equal((await read()).cron, '0 0 1 1 *');
      await a.store.deleteSchedule(ACCOUNT, one.id);
      assert.equal(await tried(), false);
      assert.equal(await a.store.getSchedule(ACCOUNT, one.id), null);
      await a.store.saveSchedule(schedule({ createdAt: NOW + 1 }));
      seen = one;
      assert.equal(await tried(), false, 'it was created again under the same id');
    });

    for (const [what, change] of [
      ['other content', { body: new Uint8Array([9]), destination: 'https://new.example/' }],
      ['other times, of which the next is the same', { cron: '0 12 * * *' }],
    ] as const) {
      test.onTwo(`a tick that was planned before makes nothing: ${what}`, async ({ a, b }) => {
        const open = message();
        await a.store.accept([open], NOW);
        for (const overlap of ['allow', 'skip'] as const) {
          await a.store.saveSchedule(schedule({ id: overlap, overlap, nextAt: NOW, lastMessageIds: [open.id] }));
        }
        const { due } = await a.store.dueSchedules(NOW, DUE);
        const fire = (schedules: readonly Schedule[], nextAt: number) =>
          a.store.fireSchedules(
            schedules.map((each) => ({ schedule: each, messages: [made({ scheduleId: each.id })], nextAt })),
            NOW,
          );
        for (const each of due) assert.equal(await b.store.saveSchedule({ ...each, ...change }, each), true);
        assert.deepEqual(await fire(due, NOW + MINUTE), [null, null]);
        const { due: changed } = await a.store.dueSchedules(NOW, DUE);
        assert.deepEqual(
          changed.map(({ nextAt, version, lastAt, skippedCount }) => ({ nextAt, version, lastAt, skippedCount })),
          due.map(() => ({ nextAt: NOW, version: 1, lastAt: null, skippedCount: 0 })),
        );
        assert.deepEqual(await fire(changed, NOW + DAY), [1, 'skipped']);
      });
    }

    test('a tick of a schedule that was deleted and created again makes nothing', async ({ a }) => {
      const one = schedule({ nextAt: NOW });
      await a.store.saveSchedule(one);
      await a.store.deleteSchedule(ACCOUNT, one.id);
      await a.store.saveSchedule({ ...one, createdAt: NOW + 1, body: new Uint8Array([9]) });
      const ticks = [{ schedule: one, messages: [made()], nextAt: NOW + MINUTE }];
      assert.deepEqual(await a.store.fireSchedules(ticks, NOW), [null]);
    });

    test.onTwo('are resumed once, at the next of the times that they have by then', async ({ a, b }) => {
      await a.store.saveSchedule(schedule({ cron: '0 0 1 1 *', isPaused: true, nextAt: null }));
      const read = async () => (await a.store.getSchedule(ACCOUNT, 'scd_1'))!;
      assert.equal(await a.store.saveSchedule({ ...(await read()), cron: '@every 7s' }, await read()), true);
      const resumed = { nextAt: NOW + 7 * SECOND };
      assert.deepEqual(await b.store.pauseSchedule(ACCOUNT, 'scd_1', false, NOW + SECOND), resumed);
      assert.deepEqual((await read()).nextAt, resumed.nextAt);
      assert.equal(await tick(a, [made()]), 1);
      const after = await read();
      assert.deepEqual(await b.store.pauseSchedule(ACCOUNT, 'scd_1', false, NOW + SECOND), { nextAt: after.nextAt });
      assert.deepEqual(await read(), after, 'the tick is not made again');
    });
  });

  describe('schedules at many different times', () => {
    test('an account that is behind by many seconds does not delay another one', async ({ a }) => {
      for (let index = 0; index < 30; index += 1) {
        await a.store.saveSchedule(schedule({ id: `a${index}`, cron: '@every 1s', nextAt: NOW - index * SECOND }));
      }
      await a.store.saveSchedule(schedule({ id: 'lone', accountId: OTHER_ACCOUNT, nextAt: NOW }));
      const { due } = await a.store.dueSchedules(NOW, DUE);
      assert.ok(due.some(({ id }) => id === 'lone'));
      assert.equal(due.length, DUE.schedules);
    });
  });
}
