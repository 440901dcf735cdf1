// Deleting an account: everything of it ends at once, its rows go in pieces, and those of others stay.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Token } from '../../src/rules/accounts/account.ts';
import type { Claim } from '../../src/rules/delivery/message.ts';
import type { Topic } from '../../src/rules/publish/topic.ts';
import type { DeletionPiece } from '../../src/store/ports/account-store.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { SHARED_BODY_BYTES_MIN } from '../../src/store/shared/shared-bodies.ts';
import { alert } from './alerts.ts';
import { auditRow } from './audit.ts';
import {
  ACCOUNT,
  answered,
  DAY,
  ERROR,
  KEYS,
  message,
  messages,
  NOW,
  OK,
  OTHER_ACCOUNT,
  REFUSED,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';
import { job } from './jobs.ts';
import { schedule } from './schedules.ts';

const LATER = NOW + DAY;
/** Of the tables, those in which an account that is set up by `fill` has rows. */
const FILLED = [
  'accounts',
  'acks',
  'activity_hours',
  'activity_minutes',
  'alerts',
  'attempts',
  'audit',
  'bodies',
  'deduplication',
  'flow_keys',
  'hosts',
  'jobs',
  'journal',
  'message_labels',
  'messages',
  'queues',
  'schedules',
  'sessions',
  'stored',
  'tokens',
  'topics',
  'usage',
];

function tokenOf(accountId: string, some: Partial<Token> = {}): Token {
  const id = `tok_of_${accountId}`;
  const unused = { revokedAt: null, lastUsedAt: null, expiresAt: null, addresses: [] };
  return { id, accountId, name: 'ci', scopes: ['publish'], createdAt: NOW, ...unused, ...some };
}

const hashOf = (text: string) => new Uint8Array(32).fill(text.charCodeAt(text.length - 1));

function topicOf(accountId: string, name: string): Topic {
  const endpoints = [{ name: null, url: 'https://a.example/' }];
  const id = `tpc_${name}_of_${accountId}`;
  return { id, accountId, name, endpoints, defaults: [], createdAt: NOW, updatedAt: NOW, version: 0 };
}

/** Gives the account rows in every table. Returns the claims of its attempts that are under way. */
async function fill(node: Node, accountId: string): Promise<readonly Claim[]> {
  const { store } = node;
  await store.createToken(tokenOf(accountId), hashOf(accountId));
  const session = { id: `session of ${accountId}`, tokenId: tokenOf(accountId).id, createdAt: NOW };
  await store.createSession({ ...session, expiresAt: LATER + DAY }, 9);
  for (const name of ['one', 'two', 'three']) await store.saveTopic(topicOf(accountId, name));
  await store.saveQueue(accountId, 'set up', { parallelism: 3 }, NOW);
  await store.saveSchedule(schedule({ accountId }));
  await store.saveAlert(alert({ accountId }), 9);
  await store.createJob(job({ accountId }));
  const span = { at: NOW, attempts: 1, delivered: 1, durations: { 6: 1 } };
  const health = { spans: [span], lastAttemptAt: NOW, lastAnswerAt: NOW, failingSince: null, lastFailure: null };
  await store.addHostHealth([{ accountId, host: 'a.example:443', health }], 9);
  await store.saveAudit([auditRow({ id: `aud_of_${accountId}`, accountId })]);

  const body = new Uint8Array(SHARED_BODY_BYTES_MIN);
  const flow = { key: 'key', limits: { parallelism: 1, rate: null, periodMs: SECOND } };
  const deduplication = { key: 'content:x', expiresAt: LATER };
  // An hour earlier, so that its minutes are added to their hour.
  const sent = [
    ...messages(3, { accountId, body, createdAt: NOW - DAY }),
    message({ accountId, labels: ['x', 'y'], deduplication }),
    message({ accountId, awaitAckMs: DAY }),
    message({ accountId, queueName: 'orders' }),
    message({ accountId, queueName: 'orders' }),
  ];
  await store.accept(sent, NOW);
  const awaited = sent[4]!.id;
  const taken = await node.claims(NOW);
  const [first, second, ...others] = taken.filter(({ message: { id } }) => id !== awaited);
  await store.settle([settlementOf(first!, REFUSED, NOW), settlementOf(second!, ERROR, NOW)], NOW);
  const waits = taken.find(({ message: { id } }) => id === awaited)!;
  await store.settle([settlementOf(waits, answered(202), NOW)], NOW);
  await store.accept(messages(3, { accountId, flow, dueAt: LATER }), NOW);
  await store.foldActivity({ minutesFrom: NOW - DAY / 2, hoursFrom: NOW - 2 * DAY }, 99);
  return others;
}

/** A piece of the first account that is being deleted. */
async function pieceOf(store: Store, now: number, limit: number): Promise<DeletionPiece['outcome'] | null> {
  return (await store.deleteAccountPiece('', now, limit))?.outcome ?? null;
}

/** Runs pieces until the account is gone. */
async function deleteWhole(store: Store, now: number, limit = 99): Promise<number> {
  for (let pieces = 1; ; pieces += 1) {
    if ((await pieceOf(store, now, limit)) === 'gone') return pieces;
    assert.ok(pieces < 500, 'the account is not deleted');
  }
}

export function accountDeletionConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('the deletion of an account', () => {
    test.onTwo(
      'takes every row but those of the audit, in small pieces of two nodes, and nothing of others',
      async (nodes) => {
        const { a, b, rowsOf } = nodes;
        await fill(a, ACCOUNT);
        await fill(a, OTHER_ACCOUNT);
        const [before, others] = [await rowsOf(ACCOUNT), await rowsOf(OTHER_ACCOUNT)];
        assert.deepEqual(Object.keys(before).toSorted(), FILLED);
        const stored = await a.store.storedBytes(OTHER_ACCOUNT);
        assert.equal(await a.store.beginDeletion(ACCOUNT, NOW), 'begun');

        const limit = 2;
        let last = before;
        for (let pieces = 0; ; pieces += 1) {
          const { store } = pieces % 2 === 0 ? a : b;
          const result = await pieceOf(store, LATER, limit);
          const now = await rowsOf(ACCOUNT);
          const messagesGone = (last.messages ?? 0) - (now.messages ?? 0);
          assert.ok(messagesGone <= limit, `${messagesGone} messages in one piece`);
          last = now;
          if (result === 'gone') break;
          assert.equal(result, 'more');
          assert.equal(now.accounts, 1, 'the account itself goes last');
        }
        assert.deepEqual(await rowsOf(ACCOUNT), { audit: before.audit });
        assert.equal(await a.store.getAccount(ACCOUNT), null);
        assert.equal(await pieceOf(b.store, LATER, limit), null);

        assert.deepEqual(await rowsOf(OTHER_ACCOUNT), others);
        assert.equal(await a.store.storedBytes(OTHER_ACCOUNT), stored);
        const again = { id: 'acc_again', name: 'one', tier: 'free', createdAt: NOW } as const;
        assert.equal(await a.store.createAccount(again, KEYS), 'created');
      },
    );

    test.onTwo('ends everything of it at once, on every node', async ({ a, b }) => {
      await fill(a, ACCOUNT);
      await a.store.accept(messages(3), NOW);
      const other = message({ accountId: OTHER_ACCOUNT });
      assert.ok(await b.store.findToken(hashOf(ACCOUNT), NOW));
      assert.equal(await a.store.beginDeletion(ACCOUNT, NOW + 5), 'begun');
      assert.equal(await b.store.beginDeletion(ACCOUNT, NOW + 9), 'before');
      const account = (await b.store.getAccount(ACCOUNT))!;
      assert.deepEqual([account.deletingSince, account.suspendedAt], [NOW + 5, NOW + 5]);

      assert.equal(await b.store.findToken(hashOf(ACCOUNT), NOW), null);
      assert.equal(await b.store.findSession(`session of ${ACCOUNT}`, NOW + 5), null);
      const credential = { tokenId: tokenOf(ACCOUNT).id, sessionId: null };
      assert.deepEqual(await b.store.areAdmitted([credential], NOW + 5), [false]);
      assert.equal(await b.store.createToken(tokenOf(ACCOUNT, { id: 'tok_new' }), hashOf('new')), false);
      assert.equal(await b.store.setSuspended(ACCOUNT, null, NOW + 9), false);
      assert.equal(await b.store.setTier(ACCOUNT, 'paid'), false);
      await b.store.accept([other], NOW + 9);
      assert.deepEqual(await b.claimedIds(NOW + 9), [other.id]);
      assert.equal(await a.store.deleteAccountPiece(ACCOUNT, LATER, 9), null, 'none after it is being deleted');
      assert.ok(await a.store.getAccount(OTHER_ACCOUNT));
    });

    test('after a crash, a new node goes on where the other stopped', async ({ a, open, rowsOf }) => {
      await fill(a, ACCOUNT);
      await a.store.beginDeletion(ACCOUNT, NOW);
      for (let pieces = 0; pieces < 3; pieces += 1) {
        assert.equal(await pieceOf(a.store, LATER, 2), 'more');
      }
      const halfway = await rowsOf(ACCOUNT);
      assert.ok(halfway.messages! > 0 && halfway.topics === 3);
      const { store } = await open('nod_c');
      await deleteWhole(store, LATER, 2);
      assert.deepEqual(Object.keys(await rowsOf(ACCOUNT)), ['audit']);
    });

    test('an attempt that ends afterwards finds nothing, and leaves nothing', async ({ a, rowsOf }) => {
      const under = await fill(a, ACCOUNT);
      assert.ok(under.length > 1);
      await a.store.beginDeletion(ACCOUNT, NOW);
      await deleteWhole(a.store, LATER);
      const ends = under.map((claim) => settlementOf(claim, OK, LATER));
      assert.deepEqual(
        await a.store.settle(ends, LATER),
        ends.map(() => 'lost'),
      );
      await a.store.release(
        under.map(({ lease }) => lease),
        LATER,
      );
      const health = { spans: [], lastAttemptAt: LATER, lastAnswerAt: LATER, failingSince: null, lastFailure: null };
      assert.equal(await a.store.addHostHealth([{ accountId: ACCOUNT, host: 'late.example:443', health }], 9), 0);
      const failures = { answers: 0, answeredAttemptAt: null, failures: 10, failingSince: NOW, hasFailedProbe: false };
      const news = { accountId: ACCOUNT, host: 'late.example:443', outage: 'park', at: LATER, messageId: 'm' } as const;
      assert.deepEqual(await a.store.noteHosts([{ ...news, ...failures }], 9, 9), [null]);
      await a.store.foldStored(99);
      assert.deepEqual(Object.keys(await rowsOf(ACCOUNT)), ['audit']);
    });

    test('what a request stores that began before is deleted too: the account waits for it', async ({ a, rowsOf }) => {
      await a.store.beginDeletion(ACCOUNT, NOW);
      assert.equal(await pieceOf(a.store, NOW + SECOND, 9), 'waiting');
      await a.store.accept(messages(2), NOW + SECOND);
      assert.deepEqual(await a.claims(NOW + SECOND), []);
      await a.store.saveTopic(topicOf(ACCOUNT, 'late'));
      await deleteWhole(a.store, LATER);
      assert.deepEqual(await rowsOf(ACCOUNT), {});
    });

    test.onTwo(
      'pieces of two nodes at once do not disturb each other, and a job that runs ends',
      async ({ a, b, rowsOf }) => {
        const sent = messages(40, { dueAt: LATER });
        await a.store.accept(sent, NOW);
        await a.store.createJob(job({ filter: {} }));
        await a.store.beginDeletion(ACCOUNT, NOW);
        const work = { action: 'cancel', messageIds: sent.map(({ id }) => id), expiresAt: LATER } as const;
        const piece = ({ store }: Node) => pieceOf(store, LATER, 3);
        const step = (from: number) => {
          const some = { ...work, messageIds: work.messageIds.slice(from, from + 8) };
          return b.store.runJobStep(ACCOUNT, 'job_1', some, { atSeq: 1, now: NOW });
        };
        for (let round = 0; ; round += 1) {
          const results = await Promise.all([piece(a), piece(b), piece(a), step(39 - round)]);
          if (results.includes('gone')) break;
          assert.ok(round < 200);
        }
        assert.deepEqual(await rowsOf(ACCOUNT), {});
      },
    );

    test.onTwo('the last token with the scope admin stays, also when two accounts go at once', async ({ a, b }) => {
      await a.store.createToken(tokenOf(ACCOUNT, { scopes: ['admin'] }), hashOf(ACCOUNT));
      assert.equal(await a.store.beginDeletion(ACCOUNT, NOW), 'lastAdmin');
      assert.equal(await a.store.beginDeletion('acc_none', NOW), 'unknown');
      const expiring = tokenOf(OTHER_ACCOUNT, { id: 'tok_expiring', scopes: ['admin'], expiresAt: NOW + 9_000_000 });
      await a.store.createToken(expiring, hashOf('expiring'));
      assert.equal(
        await a.store.beginDeletion(ACCOUNT, NOW),
        'lastAdmin',
        'one that expires is not the one that remains',
      );
      await a.store.createToken(tokenOf(OTHER_ACCOUNT, { scopes: ['admin'] }), hashOf(OTHER_ACCOUNT));
      const both = await Promise.all([a.store.beginDeletion(ACCOUNT, NOW), b.store.beginDeletion(OTHER_ACCOUNT, NOW)]);
      assert.deepEqual(both.toSorted(), ['begun', 'lastAdmin']);
    });
  });
}
