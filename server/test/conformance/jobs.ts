// Bulk operations as the store keeps them: what they are for, how far they are, whether they run.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Job } from '../../src/rules/delivery/job.ts';
import { ACCOUNT, DAY, message, messages, NOW, OTHER_ACCOUNT, SECOND } from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

export function job(some: Partial<Job> = {}): Job {
  return {
    id: 'job_1',
    accountId: ACCOUNT,
    action: 'cancel',
    filter: { labels: ['x'], fromAt: 5 },
    perSecond: 10,
    state: 'running',
    matched: 3,
    isMatchedCut: true,
    done: 0,
    atSeq: null,
    createdAt: NOW,
    updatedAt: NOW,
    ...some,
  };
}

export function jobsConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  /** Cancels so many messages as one step of the job. */
  async function step({ store }: Node, done: number, atSeq: number | null, now: number): Promise<void> {
    const open = messages(done, { dueAt: NOW + DAY });
    await store.accept(open, NOW);
    const work = { action: 'cancel', messageIds: open.map(({ id }) => id), expiresAt: NOW + SECOND } as const;
    assert.equal(await store.runJobStep(ACCOUNT, 'job_1', work, { atSeq, now }), done);
  }

  describe('bulk operations', () => {
    test.onTwo('are returned as they were created, for their account only', async ({ a, b }) => {
      await a.store.createJob(job());
      assert.deepEqual(await b.store.getJob(ACCOUNT, 'job_1'), job());
      assert.equal(await b.store.getJob(OTHER_ACCOUNT, 'job_1'), null);
      assert.equal(await b.store.getJob(ACCOUNT, 'job_2'), null);
      assert.equal(await b.store.stopJob(OTHER_ACCOUNT, 'job_1', NOW), false);
    });

    test('a step does its work and notes it together, and does nothing once the job is stopped', async ({ a }) => {
      const open = message({ dueAt: NOW + SECOND });
      const later = message({ dueAt: NOW + SECOND });
      await a.store.accept([open, later], NOW);
      await a.store.createJob(job({ action: 'cancel' }));
      const work = (id: string) => ({
        action: 'cancel' as const,
        messageIds: [id, 'msg_none'],
        expiresAt: NOW + SECOND,
      });
      assert.equal(await a.store.runJobStep(ACCOUNT, 'job_1', work(open.id), { atSeq: 7, now: NOW + 1 }), 1);
      assert.equal((await a.store.getJob(ACCOUNT, 'job_1'))!.done, 1);
      assert.equal((await a.store.getMessage(ACCOUNT, open.id))!.message.state, 'cancelled');
      await a.store.stopJob(ACCOUNT, 'job_1', NOW + 2);
      assert.equal(await a.store.runJobStep(ACCOUNT, 'job_1', work(later.id), { atSeq: 3, now: NOW + 3 }), 0);
      assert.equal((await a.store.getMessage(ACCOUNT, later.id))!.message.state, 'pending');
    });

    test.onTwo('continue from where they were, and their counts add up', async ({ a, b }) => {
      await a.store.createJob(job());
      await step(a, 2, 70, NOW + 1);
      await step(b, 1, 40, NOW + 2);
      assert.deepEqual(await a.store.runningJobs(), [job({ done: 3, atSeq: 40, updatedAt: NOW + 2 })]);
    });

    test('are done when nothing is left, and then run no more', async ({ a }) => {
      await a.store.createJob(job());
      await a.store.createJob(job({ id: 'job_2', accountId: OTHER_ACCOUNT }));
      await step(a, 2, 70, NOW);
      await step(a, 1, null, NOW);
      const { state, done, atSeq } = (await a.store.getJob(ACCOUNT, 'job_1'))!;
      assert.deepEqual({ state, done, atSeq }, { state: 'done', done: 3, atSeq: 70 });
      assert.deepEqual(
        (await a.store.runningJobs()).map(({ id }) => id),
        ['job_2'],
      );
      assert.equal(await a.store.stopJob(ACCOUNT, 'job_1', NOW), false);
    });

    test.onTwo(
      'that can do nothing for now give their turn to others, and continue from where they were',
      async ({ a, b }) => {
        await a.store.createJob(job({ atSeq: 40, done: 2 }));
        await a.store.createJob(job({ id: 'job_2', updatedAt: NOW + 1 }));
        const wait = { action: 'wait' } as const;
        assert.equal(await a.store.runJobStep(ACCOUNT, 'job_1', wait, { atSeq: 40, now: NOW + 2 }), 0);
        assert.equal(await b.store.runJobStep(ACCOUNT, 'job_2', wait, { atSeq: null, now: NOW + 3 }), 0);
        assert.deepEqual(await b.store.runningJobs(), [
          job({ atSeq: 40, done: 2, updatedAt: NOW + 2 }),
          job({ id: 'job_2', updatedAt: NOW + 3 }),
        ]);
      },
    );

    test('stay stopped', async ({ a }) => {
      await a.store.createJob(job());
      assert.equal(await a.store.stopJob(ACCOUNT, 'job_1', NOW), true);
      assert.equal(await a.store.stopJob(ACCOUNT, 'job_1', NOW), false);
      assert.equal((await a.store.getJob(ACCOUNT, 'job_1'))!.state, 'stopped');
      assert.deepEqual(await a.store.runningJobs(), []);
    });
  });
}
