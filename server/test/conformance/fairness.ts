// Fairness: the free slots are shared over the accounts and, within each, over its hosts.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Claim } from '../../src/rules/delivery/message.ts';
import { eachMax } from '../../src/rules/limits/budgets.ts';
import { flowing } from './flow-control.ts';
import { ACCOUNT, message, messages, NOW, OK, OTHER_ACCOUNT, settlementOf } from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

export function fairnessConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('fairness', () => {
    test('an account with few messages is not held up by one with many', async ({ a }) => {
      await a.store.accept(messages(1000), NOW - 1);
      await a.store.accept(messages(3, { accountId: OTHER_ACCOUNT }), NOW);
      const claims = await a.claims(NOW, { slots: 10 });
      assert.equal(claims.length, 10);
      assert.equal(countOf(claims, OTHER_ACCOUNT), 3);
    });

    test('nor by one with very many hosts', async ({ a }) => {
      const many = Array.from({ length: 300 }, (_, index) => message({ host: `h${index}.example:443` }));
      await a.store.accept(many, NOW - 1);
      await a.store.accept(messages(3, { accountId: OTHER_ACCOUNT }), NOW);
      const claims = await a.claims(NOW, { slots: 10 });
      assert.equal(claims.length, 10);
      assert.equal(countOf(claims, OTHER_ACCOUNT), 3);
    });

    test('nor by one with very many messages that are due earlier', async ({ a }) => {
      const due = NOW + 1000;
      await a.store.accept(messages(3 * eachMax('dueMessages'), { dueAt: due }), NOW);
      await a.store.accept(messages(3, { accountId: OTHER_ACCOUNT, dueAt: due + 1 }), NOW);
      const claims = await a.claims(due + 1, { slots: 10 });
      assert.equal(claims.length, 10);
      assert.equal(countOf(claims, OTHER_ACCOUNT), 3);
    });

    test('nor by one with very many queues whose messages are due earlier', async ({ a }) => {
      const due = NOW + 1000;
      const queues = Array.from({ length: 6 * eachMax('dueQueues') }, (_, index) =>
        message({ queueName: `q${index}`, dueAt: due }),
      );
      await a.store.accept(queues, NOW);
      await a.store.accept(messages(3, { accountId: OTHER_ACCOUNT, queueName: 'own', dueAt: due + 1 }), NOW);
      const claims = await a.claims(due + 1, { slots: 10 });
      assert.equal(claims.length, 10);
      assert.equal(countOf(claims, OTHER_ACCOUNT), 1, 'the first of its queue');
      await assertAllStart(a, due + 1, queues.length + 3, claims);
    });

    test('nor by one with very many flow keys whose messages are due earlier', async ({ a }) => {
      const due = NOW + 1000;
      const keys = Array.from({ length: 6 * eachMax('dueFlowKeys') }, (_, index) =>
        flowing({ parallelism: 1 }, { dueAt: due }, `k${index}`),
      );
      await a.store.accept(keys, NOW);
      await a.store.accept(
        Array.from({ length: 3 }, () => flowing({ parallelism: 1 }, { accountId: OTHER_ACCOUNT, dueAt: due + 1 })),
        NOW,
      );
      const claims = await a.claims(due + 1, { slots: 10 });
      assert.equal(claims.length, 10);
      assert.equal(countOf(claims, OTHER_ACCOUNT), 1, 'the first of its key');
      await assertAllStart(a, due + 1, keys.length + 3, claims);
    });

    test('of a request to many queues or flow keys, a few start at once and all with the next claims, on another node too', async ({
      a,
      open,
    }) => {
      const many = 3 * eachMax('linesAtOnce');
      const keys = Array.from({ length: many }, (_, index) => flowing({ parallelism: 1 }, {}, `k${index}`));
      const queues = Array.from({ length: many }, (_, index) => message({ queueName: `q${index}` }));
      await a.store.accept(keys, NOW);
      const shown = await Promise.all(keys.map(({ flow }) => a.store.getFlowKey(ACCOUNT, flow!.key)));
      assert.equal(shown.filter((key) => key!.active === 1).length, eachMax('linesAtOnce'));
      assert.equal(shown.filter((key) => key!.waiting === 1).length, many - eachMax('linesAtOnce'));
      await a.store.accept(queues, NOW);
      const late = Array.from({ length: many }, (_, index) =>
        message({ queueName: `late${index}`, dueAt: NOW + 1000 }),
      );
      await a.store.accept(late, NOW);
      const b = await open('nod_b');
      await assertAllStart(b, NOW, 2 * many);
      const { nextDueAt } = await b.claimDue(NOW);
      assert.equal(nextDueAt, NOW + 1000, 'the others are looked at when they are due');
      await assertAllStart(b, NOW + 1000, many);
    });

    test('limits that one account says for very many flow keys do not hold up those of another', async ({ a }) => {
      const judged = eachMax('flowKeysChecked');
      const say = (accountId: string, count: number, parallelism: number) =>
        a.store.accept(
          Array.from({ length: count }, (_, index) => flowing({ parallelism }, { accountId }, `k${index}`)),
          NOW,
        );
      await say(ACCOUNT, 6 * judged, 1);
      await say(OTHER_ACCOUNT, judged + 1, 1);
      for (let left = 7 * judged + 1; left > 0; ) left -= (await a.claims(NOW)).length;
      await say(ACCOUNT, 6 * judged, 2);
      await say(OTHER_ACCOUNT, judged + 1, 2);
      assert.equal(countOf(await a.claims(NOW), OTHER_ACCOUNT), judged + 1);
    });

    test('what is accepted for an account with very many messages and flow keys waits for its turn', async ({ a }) => {
      let written = 0;
      const many = Array.from({ length: 12 }, (_, request) =>
        a.store.accept(
          Array.from({ length: 400 }, (_, index) => flowing({ parallelism: 1 }, {}, `k${request}-${index}`)),
          NOW,
        ),
      );
      for (const each of many) each.then(() => (written += 1));
      await a.store.accept([flowing({ parallelism: 1 }, { accountId: OTHER_ACCOUNT })], NOW);
      assert.ok(written <= 3, `${written} of ${many.length} requests were written before that of the other account`);
      await Promise.all(many);
    });

    test('two accounts with many messages get the same number of slots', async ({ a }) => {
      await a.store.accept(
        [...messages(200), ...messages(200, { accountId: OTHER_ACCOUNT, host: 'b.example:443' })],
        NOW,
      );
      const claims = await a.claims(NOW, { slots: 50 });
      assert.equal(countOf(claims, ACCOUNT), 25);
      assert.equal(countOf(claims, OTHER_ACCOUNT), 25);
    });

    test('within an account, a host with few is not held up by one with many', async ({ a }) => {
      await a.store.accept(messages(1000), NOW - 1);
      await a.store.accept(messages(2, { host: 'quiet.example:443' }), NOW);
      const claims = await a.claims(NOW, { slots: 10 });
      assert.equal(claims.length, 10);
      assert.equal(claims.filter((claim) => claim.message.host === 'quiet.example:443').length, 2);
    });

    test('a host at its cap does not hold back others, and its slots are used by them', async ({ a }) => {
      await a.store.accept(messages(50, { host: 'a-slow.example:443', dueAt: NOW - 1 }), NOW);
      await a.store.accept(messages(50, { host: 'z-quick.example:443' }), NOW);
      const claims = await a.claims(NOW, { slots: 20, hostMax: 100, hostsBusy: [['a-slow.example:443', 100]] });
      assert.equal(claims.length, 20);
      assert.ok(claims.every((claim) => claim.message.host === 'z-quick.example:443'));
    });

    test('an account at its cap does not hold back others', async ({ a }) => {
      const many = Array.from({ length: 40 }, (_, index) => message({ host: `h${index}.example:443` }));
      await a.store.accept([...many, ...messages(10, { accountId: OTHER_ACCOUNT })], NOW);
      const claims = await a.claims(NOW, { slots: 10, accountMax: 20, accountsBusy: [[ACCOUNT, 20, 0]] });
      assert.equal(countOf(claims, OTHER_ACCOUNT), 10);
    });

    test('with one slot at a time, accounts and hosts take turns', async ({ a }) => {
      const backlogs = [
        { accountId: ACCOUNT, host: 'a:80' },
        { accountId: ACCOUNT, host: 'b:80' },
        { accountId: OTHER_ACCOUNT, host: 'a:80' },
        { accountId: OTHER_ACCOUNT, host: 'c:80' },
      ];
      await a.store.accept(
        backlogs.flatMap((backlog) => messages(5, backlog)),
        NOW,
      );
      const served: string[] = [];
      for (let turn = 0; turn < 8; turn += 1) {
        const claim = (await a.claims(NOW, { slots: 1 }))[0]!;
        served.push(`${claim.message.accountId} ${claim.message.host}`);
      }
      for (const { accountId, host } of backlogs) {
        assert.equal(served.filter((backlog) => backlog === `${accountId} ${host}`).length, 2, served.join(', '));
      }
    });

    test('slots that one account cannot use go to others', async ({ a }) => {
      await a.store.accept(
        [
          ...messages(1, { host: 'a:80' }),
          ...messages(30, { host: 'b:80' }),
          ...messages(1, { accountId: OTHER_ACCOUNT, host: 'c:80' }),
        ],
        NOW,
      );
      assert.equal((await a.claims(NOW, { slots: 20 })).length, 20);
      assert.equal((await a.claims(NOW, { slots: 20 })).length, 12);
    });
  });
}

/** Claims and settles until all have started. `first` are claimed already. */
async function assertAllStart(node: Node, now: number, count: number, first: readonly Claim[] = []): Promise<void> {
  let claims = first;
  let started = 0;
  for (let idle = 0; started + claims.length < count && idle < 5; ) {
    started += claims.length;
    idle = claims.length === 0 ? idle + 1 : 0;
    await node.store.settle(
      claims.map((claim) => settlementOf(claim, OK, now)),
      now,
    );
    claims = await node.claims(now);
  }
  assert.equal(started + claims.length, count);
}

function countOf(claims: readonly Claim[], accountId: string): number {
  return claims.filter((claim) => claim.message.accountId === accountId).length;
}
