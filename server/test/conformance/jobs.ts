// Bulk operations as the store keeps them: what they are for, how far they are, whether they run.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Job } from '../../src/domain/job.ts';
import { ACCOUNT, message, NOW, OTHER_ACCOUNT, SECOND } from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';

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

  describe('bulk operations', () => {
    test('are read back as they were made, by their account', async ({ a, b }) => {
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

    test('go on from where they are, and what is done adds up', async ({ a, b }) => {
      await a.store.createJob(job());
      await a.store.advanceJob(ACCOUNT, 'job_1', { done: 2, atSeq: 70, now: NOW + 1 });
      await b.store.advanceJob(ACCOUNT, 'job_1', { done: 1, atSeq: 40, now: NOW + 2 });
      assert.deepEqual(await a.store.runningJobs(), [job({ done: 3, atSeq: 40, updatedAt: NOW + 2 })]);
    });

    test('are done when nothing is left, and then run no more', async ({ a }) => {
      await a.store.createJob(job());
      await a.store.createJob(job({ id: 'job_2', accountId: OTHER_ACCOUNT }));
      await a.store.advanceJob(ACCOUNT, 'job_1', { done: 2, atSeq: 70, now: NOW });
      await a.store.advanceJob(ACCOUNT, 'job_1', { done: 1, atSeq: null, now: NOW });
      const { state, done, atSeq } = (await a.store.getJob(ACCOUNT, 'job_1'))!;
      assert.deepEqual({ state, done, atSeq }, { state: 'done', done: 3, atSeq: 70 });
      assert.deepEqual(
        (await a.store.runningJobs()).map(({ id }) => id),
        ['job_2'],
      );
      assert.equal(await a.store.stopJob(ACCOUNT, 'job_1', NOW), false);
    });

    test('stopped, they stay so; what was under way is still counted', async ({ a }) => {
      await a.store.createJob(job());
      assert.equal(await a.store.stopJob(ACCOUNT, 'job_1', NOW), true);
      assert.equal(await a.store.stopJob(ACCOUNT, 'job_1', NOW), false);
      await a.store.advanceJob(ACCOUNT, 'job_1', { done: 2, atSeq: null, now: NOW });
      const { state, done } = (await a.store.getJob(ACCOUNT, 'job_1'))!;
      assert.deepEqual({ state, done }, { state: 'stopped', done: 2 });
      assert.deepEqual(await a.store.runningJobs(), []);
    });
  });
}
