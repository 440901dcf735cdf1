// Settling: attempt, next state and follow-ups together, once, and only with a lease that stands.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Settlement } from '../../src/rules/delivery/message.ts';
import { countStates } from '../support/count-states.ts';
import {
  ACCOUNT,
  answered,
  callbackTo,
  DRAINED,
  ERROR,
  INTERRUPTED,
  message,
  messages,
  NOW,
  OK,
  OTHER_ACCOUNT,
  REFUSED,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

export function settleConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('settle', () => {
    test('a delivered message has ended, with its attempt on record', async ({ a }) => {
      const sent = message();
      await a.store.accept([sent], NOW);
      const settlement = settlementOf(await a.claimOne(NOW), OK, NOW + 70);
      assert.deepEqual(await a.store.settle([settlement], NOW + 71), ['settled']);
      const stored = (await a.store.getMessage(ACCOUNT, sent.id))!;
      assert.equal(stored.message.state, 'delivered');
      assert.equal(stored.message.endedAt, NOW + 70);
      assert.equal(stored.message.failure, null);
      assert.equal(stored.message.attempts, 1);
      assert.deepEqual(stored.attempts, [
        {
          number: 1,
          startedAt: NOW + 65,
          endedAt: NOW + 70,
          outcome: 'answered',
          status: 200,
          error: null,
          nextAt: null,
          responseHeaders: [['X-Trace', '1']],
          responseBody: new Uint8Array([1, 2]),
          isResponseBodyCut: false,
        },
      ]);
      assert.deepEqual(await a.claimDue(NOW + RETENTION), { claims: [], nextDueAt: null, nextScheduleAt: null });
    });

    test('no response is left out of an attempt that had none', async ({ a }) => {
      const sent = message();
      await a.store.accept([sent], NOW);
      const outcome = { kind: 'unreachable', reason: 'connection refused' } as const;
      await a.store.settle([settlementOf(await a.claimOne(NOW), outcome, NOW + 70)], NOW + 71);
      const [attempt] = (await a.store.getMessage(ACCOUNT, sent.id, 'outline'))!.attempts;
      assert.equal(attempt!.status, null);
      assert.equal(attempt!.isAnswerLeftOut, undefined);
    });

    test('the response to a first attempt is read as it came, wherever it is read, short or long', async ({ a }) => {
      for (const length of [0, 100, 1000]) {
        const sent = message();
        await a.store.accept([sent], NOW);
        const settlement = settlementOf(await a.claimOne(NOW), OK, NOW + 70);
        const responseHeaders = length === 0 ? [] : settlement.attempt.responseHeaders;
        const attempt = { ...settlement.attempt, responseHeaders, responseBody: new Uint8Array(length).fill(7) };
        await a.store.settle([{ ...settlement, attempt }], NOW + 71);
        assert.deepEqual((await a.store.getMessage(ACCOUNT, sent.id))!.attempts, [attempt]);
        assert.deepEqual((await a.store.getMessage(ACCOUNT, sent.id, 'outline'))!.attempts, [
          { ...attempt, responseHeaders: [], responseBody: new Uint8Array(0), isAnswerLeftOut: true },
        ]);
        const only = { messageIds: [sent.id] };
        const page = { limit: 10, cursor: null, order: 'newestFirst', withBodies: false } as const;
        const { events } = await a.store.listEvents(ACCOUNT, { messages: only }, page);
        assert.deepEqual([events[0]!.state, events[0]!.attempt], ['DELIVERED', attempt]);
        const found = await a.store.searchMessages(ACCOUNT, only, { ...page, withLastAttempts: true });
        assert.deepEqual(found.lastAttempts, [attempt]);
      }
    });

    test('a failed message says why', async ({ a }) => {
      const refused = message();
      await a.store.accept([refused], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), REFUSED, NOW)], NOW);
      const stored = (await a.store.getMessage(ACCOUNT, refused.id))!;
      assert.equal(stored.message.state, 'failed');
      assert.equal(stored.message.endedAt, NOW);
      assert.match(stored.message.failure!, /489/);
    });

    test('a retry waits for its time; all attempts are kept, in order', async ({ a }) => {
      const failing = message({ retriesMax: 2, retryDelay: '1000' });
      await a.store.accept([failing], NOW);
      let now = NOW;
      for (const [retried, state] of [
        [1, 'pending'],
        [2, 'pending'],
        [2, 'failed'],
      ] as const) {
        const claim = await a.claimOne(now);
        await a.store.settle([settlementOf(claim, ERROR, now)], now);
        const stored = (await a.store.getMessage(ACCOUNT, failing.id))!.message;
        assert.equal(stored.state, state);
        assert.equal(stored.retried, retried);
        assert.equal(stored.firstDueAt, NOW);
        assert.deepEqual(await a.claimedIds(now + SECOND - 1), []);
        now += SECOND;
      }
      const { attempts, message: ended } = (await a.store.getMessage(ACCOUNT, failing.id))!;
      assert.deepEqual(
        attempts.map(({ number, endedAt }) => [number, endedAt]),
        [
          [1, NOW],
          [2, NOW + SECOND],
          [3, NOW + 2 * SECOND],
        ],
      );
      assert.equal(ended.attempts, 3);
    });

    test('an interrupted attempt is counted by itself and uses no retry', async ({ a }) => {
      const cutOff = message({ retriesMax: 0 });
      await a.store.accept([cutOff], NOW);
      for (const interrupted of [1, 2]) {
        await a.store.settle([settlementOf(await a.claimOne(NOW), INTERRUPTED, NOW)], NOW);
        const { message: stored, attempts } = (await a.store.getMessage(ACCOUNT, cutOff.id))!;
        assert.equal(stored.state, 'pending');
        assert.equal(stored.interrupted, interrupted);
        assert.equal(stored.retried, 0);
        assert.equal(stored.attempts, interrupted);
        assert.equal(attempts.at(-1)!.outcome, 'interrupted');
        assert.equal(attempts.at(-1)!.error, 'the node went away');
      }
    });

    test('settling twice is settled once: the second is lost and changes nothing', async ({ a }) => {
      const sent = message({ callback: callbackTo('https://back.example/') });
      await a.store.accept([sent], NOW);
      const claim = await a.claimOne(NOW);
      const [first, second] = [settlementOf(claim, ERROR, NOW), settlementOf(claim, OK, NOW)];
      assert.deepEqual(await a.store.settle([first], NOW), ['settled']);
      const before = await a.store.getMessage(ACCOUNT, sent.id);
      assert.deepEqual(await a.store.settle([second], NOW), ['lost']);
      assert.deepEqual(await a.store.getMessage(ACCOUNT, sent.id), before);
      assert.equal(await followUpStates(a, second), 'null');
    });

    test('when a call settles a claim twice, the second is lost', async ({ a }) => {
      await a.store.accept([message()], NOW);
      const claim = await a.claimOne(NOW);
      const results = await a.store.settle([settlementOf(claim, OK, NOW), settlementOf(claim, ERROR, NOW)], NOW);
      assert.deepEqual(results, ['settled', 'lost']);
    });

    test.onTwo('when two nodes settle one claim at once, one wins', async ({ a, b }) => {
      const sent = message();
      await a.store.accept([sent], NOW);
      const claim = await a.claimOne(NOW);
      const results = await Promise.all([
        a.store.settle([settlementOf(claim, OK, NOW)], NOW),
        b.store.settle([settlementOf(claim, INTERRUPTED, NOW)], NOW),
      ]);
      assert.deepEqual(results.flat().toSorted(), ['lost', 'settled']);
      assert.equal((await a.store.getMessage(ACCOUNT, sent.id))!.attempts.length, 1);
    });

    test('the lease of an earlier attempt is not valid in a later one', async ({ a }) => {
      await a.store.accept([message()], NOW);
      const old = await a.claimOne(NOW);
      await a.store.settle([settlementOf(old, ERROR, NOW)], NOW);
      const current = await a.claimOne(NOW + SECOND);
      assert.notEqual(current.lease, old.lease);
      assert.deepEqual(await a.store.settle([settlementOf(old, OK, NOW)], NOW), ['lost']);
      assert.deepEqual(await a.store.settle([settlementOf(current, OK, NOW)], NOW), ['settled']);
    });

    test('an attempt that ends after a cancel is recorded and reported, once, and nothing else follows', async ({
      a,
    }) => {
      for (const outcome of [OK, ERROR, REFUSED, DRAINED]) {
        const known = outcome !== DRAINED;
        const sent = message({
          retriesMax: 1,
          callback: callbackTo('https://back.example/'),
          failureCallback: callbackTo('https://bad.example/'),
        });
        await a.store.accept([sent], NOW);
        const settlement = settlementOf(await a.claimOne(NOW), outcome, NOW + 5);
        await a.store.cancel(ACCOUNT, [sent.id], NOW, NOW + RETENTION);
        assert.deepEqual(await a.store.settle([settlement], NOW + 5), ['cancelled']);
        assert.deepEqual(await a.store.settle([settlement], NOW + 5), ['lost'], 'once');
        const stored = (await a.store.getMessage(ACCOUNT, sent.id))!;
        assert.deepEqual(
          [stored.message.state, stored.message.endedAt, stored.message.retried],
          ['cancelled', NOW + 5, 0],
        );
        assert.deepEqual(
          stored.attempts.map(({ number, outcome: how, nextAt }) => [number, how, nextAt]),
          [[1, outcome.kind, null]],
        );
        const made = { limit: 9, cursor: null, order: 'oldestFirst', withBodies: false } as const;
        const { messages: led } = await a.store.searchMessages(ACCOUNT, { sourceMessageIds: [sent.id] }, made);
        assert.deepEqual(
          led.map(({ kind }) => kind),
          known ? ['callback'] : [],
        );
        const told = await a.store.listEvents(ACCOUNT, { messages: { messageIds: [sent.id] } }, made);
        assert.deepEqual(
          told.events.map(({ state }) => state),
          ['CREATED', 'ACTIVE', 'CANCEL_REQUESTED', outcome === OK ? 'DELIVERED' : 'ERROR', 'CANCELLED'],
        );
        await a.store.cancel(
          ACCOUNT,
          led.map(({ id }) => id),
          NOW,
          NOW + RETENTION,
        );
        assert.deepEqual(await a.claimedIds(NOW + RETENTION), [], 'nothing more is tried');
      }
      const [bucket] = await a.store.activity(ACCOUNT, NOW, NOW + SECOND, 60 * SECOND);
      assert.deepEqual([bucket!.activity.delivered, bucket!.activity.failed, bucket!.activity.retried], [0, 0, 0]);
    });

    test('a lease under a foreign account or for another message is lost', async ({ a }) => {
      await a.store.accept([message(), message()], NOW);
      const [one, two] = await a.claims(NOW);
      const settlement = settlementOf(one!, OK, NOW);
      const wrong: Settlement[] = [
        { ...settlement, accountId: OTHER_ACCOUNT },
        { ...settlement, messageId: two!.message.id },
        { ...settlement, lease: `${one!.lease}x` },
      ];
      assert.deepEqual(await a.store.settle(wrong, NOW), ['lost', 'lost', 'lost']);
      assert.deepEqual(await a.store.settle([settlement], NOW), ['settled']);
    });

    test('callbacks are written with the settlement, claimable and counted', async ({ a }) => {
      const sent = message({
        retriesMax: 0,
        callback: callbackTo('https://back.example/each'),
        failureCallback: callbackTo('https://back.example/failed'),
      });
      await a.store.accept([sent], NOW);
      const settlement = settlementOf(await a.claimOne(NOW), ERROR, NOW);
      assert.deepEqual(await a.store.settle([settlement], NOW), ['settled']);
      const claims = await a.claims(NOW);
      assert.deepEqual(
        claims.map((claim) => [claim.message.kind, claim.message.url, claim.message.sourceMessageId]),
        [
          ['callback', 'https://back.example/each', sent.id],
          ['failureCallback', 'https://back.example/failed', sent.id],
        ],
      );
      assert.deepEqual((await a.store.usage(ACCOUNT, '2026-01-01', '2026-01-01')).entries, [
        { day: '2026-01-01', kind: 'callback', count: 1 },
        { day: '2026-01-01', kind: 'failureCallback', count: 1 },
        { day: '2026-01-01', kind: 'publish', count: 1 },
      ]);
    });

    test('if a follow-up cannot be written, its settlement is not written either', async ({ a }) => {
      const existing = message({ dueAt: NOW + 99 });
      const sent = message({ callback: callbackTo('https://back.example/') });
      await a.store.accept([existing, sent], NOW);
      const settlement = settlementOf(await a.claimOne(NOW), OK, NOW);
      const clashing = { ...settlement, followUps: [{ ...settlement.followUps[0]!, id: existing.id }] };
      await assert.rejects(a.store.settle([clashing], NOW));
      assert.equal(await a.stateOf(sent), 'claimed');
      assert.deepEqual((await a.store.getMessage(ACCOUNT, sent.id))!.attempts, []);
      assert.deepEqual(await a.store.settle([settlement], NOW), ['settled']);
    });

    test('many claims are settled in one call, and the results have the same order', async ({ a }) => {
      await a.store.accept(messages(20), NOW);
      const claims = await a.claims(NOW);
      await a.store.cancel(ACCOUNT, [claims[3]!.message.id], NOW, NOW + RETENTION);
      const results = await a.store.settle(
        claims.map((claim, index) => settlementOf(claim, answered(index % 2 === 0 ? 200 : 500), NOW)),
        NOW,
      );
      assert.deepEqual(
        results,
        claims.map((_, index) => (index === 3 ? 'cancelled' : 'settled')),
      );
      assert.deepEqual(await countStates(a.store), {
        pending: 9,
        claimed: 0,
        held: 0,
        delivered: 10,
        failed: 0,
        cancelled: 1,
      });
    });
  });
}

/** The states of a settlement's follow-ups as one text; "null" where none was written. */
async function followUpStates(node: Node, settlement: Settlement): Promise<string> {
  const states = await Promise.all(settlement.followUps.map((followUp) => node.stateOf(followUp)));
  return states.map(String).join(' ');
}
