// Acks: an attempt that was answered with 202 stays open, by its ack it ends once, and only the attempt it belongs to.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  type FinalWord,
  outcomeOfWord,
  outcomeWithoutAck,
  PROGRESS_EVENT_EVERY_MS,
  type ProgressWord,
} from '../../src/rules/acks/ack.ts';
import type { Claim, Message, NewMessage, Settlement } from '../../src/rules/delivery/message.ts';
import { decideSettlement } from '../../src/rules/delivery/settle.ts';
import { eachMax } from '../../src/rules/limits/budgets.ts';
import {
  ACCOUNT,
  answered,
  KEYS,
  message,
  messages,
  NOW,
  newId,
  OK,
  OTHER_ACCOUNT,
  queued,
  RETENTION,
  SECOND,
} from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

const MINUTE = 60 * SECOND;
const AWAIT: Partial<NewMessage> = { awaitAckMs: 10 * MINUTE };
const ACCEPTED = answered(202);
const WORD: ProgressWord = { kind: 'progress', extendByMs: null, progress: null, note: null };
const context = { headerPrefix: 'Service-', retentionMs: RETENTION, newId, awaitAckMsMax: 60 * MINUTE };
const keyOf = ({ accountId, id }: Pick<Message, 'accountId' | 'id'>) => ({ accountId, messageId: id });

function settledWith(claim: Claim, at: number): Settlement {
  return decideSettlement(claim, { outcome: ACCEPTED, startedAt: at - 5, endedAt: at }, context);
}

/** Accepted by `node`, claimed and answered with 202. */
async function awaiting(node: Node, sent: NewMessage): Promise<Claim> {
  await node.store.accept([sent], NOW);
  const claim = await node.claimOne(NOW);
  assert.deepEqual(await node.store.settle([settledWith(claim, NOW)], NOW), ['settled']);
  return claim;
}

/** The settlement that any node makes of what a receiver has reported. */
async function settlementOfWord(node: Node, sent: NewMessage, word: FinalWord | null, at: number): Promise<Settlement> {
  const { store } = node;
  const open = (await store.openAttempt(sent.accountId, sent.id))!;
  const { message: found } = (await store.getMessage(sent.accountId, sent.id))!;
  const claim: Claim = { lease: open.lease, message: found, tier: 'free', signingKey: '' };
  const outcome = word ? outcomeOfWord(word, open.ack) : outcomeWithoutAck(open.ack!, false);
  const end = { outcome, startedAt: NOW, endedAt: at, ...(word?.kind === 'ok' && { isAcked: true as const }) };
  return decideSettlement(claim, end, { ...context, ...(!word && { ackDueBy: at }) });
}

export function acksConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('acks', () => {
    test('a message that awaits its ack is claimed by no node, and has no record of its attempt yet', async ({ a }) => {
      const sent = message(AWAIT);
      const { lease } = await awaiting(a, sent);
      const open = (await a.store.openAttempt(ACCOUNT, sent.id))!;
      assert.deepEqual([open.attempt, open.isCancelRequested], [1, false]);
      assert.deepEqual(
        [open.ack!.isAwaiting, open.ack!.deadlineAt, open.ack!.latestAt, open.ack!.status, [...open.ack!.body]],
        [true, NOW + 10 * MINUTE, NOW + 60 * MINUTE, 202, [1, 2]],
      );
      const stored = (await a.store.getMessage(ACCOUNT, sent.id))!;
      assert.deepEqual([stored.message.state, stored.attempts], ['claimed', []]);
      assert.deepEqual(await a.claims(NOW + 60 * MINUTE), []);
      assert.deepEqual(await a.store.strayClaims(10), []);
      assert.equal(await a.store.openAttempt(OTHER_ACCOUNT, sent.id), null);
      // Its settlement again, whose reply was lost, changes nothing.
      assert.deepEqual(await a.store.settle([settledWith(await claimOf(a, sent, lease), NOW)], NOW), ['lost']);
    });

    test('no settlement that was decided before the 202 was written ends the attempt', async ({ a }) => {
      const sent = message(AWAIT);
      const { lease } = await awaiting(a, sent);
      const before = await claimOf(a, sent, lease);
      // Another node took its own for dead, and read its claims just before the 202 was written.
      const outcome = { kind: 'interrupted', cause: 'crash', reason: 'the node is gone' } as const;
      const takenOver = decideSettlement(before, { outcome, startedAt: NOW, endedAt: NOW + 1 }, context);
      assert.deepEqual(await a.store.settle([takenOver], NOW + 1), ['lost']);
      await a.store.cancel(ACCOUNT, [sent.id], NOW + 1, NOW + RETENTION);
      assert.deepEqual(await a.store.settle([settledWith(before, NOW)], NOW + 1), ['lost']);
      assert.equal((await a.store.openAttempt(ACCOUNT, sent.id))!.ack!.isAwaiting, true);
    });

    test.onTwo(
      'of an ack at one node and a deadline at the other, one ends the attempt',
      async ({ a, b, letTimePass }) => {
        for (let round = 0; round < 5; round += 1) {
          const sent = message(AWAIT);
          await awaiting(a, sent);
          await letTimePass(MINUTE);
          const at = NOW + 10 * MINUTE;
          assert.deepEqual((await b.store.dueAcks(at, 10)).due, [keyOf(sent)]);
          const [ok, none] = [
            await settlementOfWord(a, sent, { kind: 'ok' }, at),
            await settlementOfWord(b, sent, null, at),
          ];
          const results = await Promise.all([a.store.settle([ok], at), b.store.settle([none], at)]);
          assert.deepEqual(results.flat().toSorted(), ['lost', 'settled']);
          const { message: after, attempts } = (await a.store.getMessage(ACCOUNT, sent.id))!;
          assert.equal(attempts.length, 1);
          assert.equal(after.state, results[0]![0] === 'settled' ? 'delivered' : 'pending');
          assert.deepEqual((await b.store.dueAcks(at, 10)).due, []);
          assert.equal(await b.store.openAttempt(ACCOUNT, sent.id), null);
          await a.store.cancel(ACCOUNT, [sent.id], at, at + RETENTION);
        }
      },
    );

    test.onTwo('an extension that was written first keeps the attempt open', async ({ a, b }) => {
      for (let round = 0; round < 5; round += 1) {
        const sent = message(AWAIT);
        await awaiting(a, sent);
        const at = NOW + 10 * MINUTE;
        const late = await settlementOfWord(b, sent, null, at);
        const [[result], noted] = await Promise.all([
          b.store.settle([late], at),
          a.store.noteProgress(keyOf(sent), 1, { ...WORD, extendByMs: MINUTE }, 0, at - 1),
        ]);
        const isOpen = (await a.store.openAttempt(ACCOUNT, sent.id)) !== null;
        assert.deepEqual([noted !== null, result], isOpen ? [true, 'lost'] : [false, 'settled']);
        await a.store.cancel(ACCOUNT, [sent.id], at, at + RETENTION);
        for (const { messageId } of (await a.store.dueAcks(at, 10)).due) {
          assert.equal(messageId, sent.id);
          assert.deepEqual(await a.store.settle([await settlementOfWord(a, sent, null, at)], at), ['cancelled']);
        }
      }
    });

    test('an ack is for one attempt: a word for another changes nothing', async ({ a }) => {
      const sent = message(AWAIT);
      await awaiting(a, sent);
      const failed = await settlementOfWord(a, sent, { kind: 'failed', error: 'x', retry: true }, NOW + 1);
      assert.deepEqual(await a.store.settle([failed], NOW + 1), ['settled']);
      assert.equal(await a.store.noteProgress(keyOf(sent), 1, WORD, 0, NOW + 1), null);
      const due = failed.next.state === 'pending' ? failed.next.dueAt : 0;
      const second = await a.claimOne(due);
      assert.equal(await a.store.noteProgress(keyOf(sent), 1, WORD, due + MINUTE, due), null);
      assert.equal(await a.store.noteProgress({ ...keyOf(sent), accountId: OTHER_ACCOUNT }, 2, WORD, 0, due), null);
      assert.deepEqual(await a.store.settle([failed], due), ['lost']);
      // Before the response, progress and an extension are kept for the 202.
      const early = await a.store.noteProgress(
        keyOf(sent),
        2,
        { ...WORD, progress: 0.25, note: 'early', extendByMs: 30 * MINUTE },
        due + 60 * MINUTE,
        due,
      );
      assert.deepEqual([early!.isAwaiting, early!.progress, early!.note], [false, 0.25, 'early']);
      assert.deepEqual((await a.store.dueAcks(due + 60 * MINUTE, 10)).due, []);
      await a.store.settle([settledWith(second, due)], due);
      const { ack } = (await a.store.openAttempt(ACCOUNT, sent.id))!;
      assert.deepEqual([ack!.progress, ack!.note, ack!.deadlineAt], [0.25, 'early', due + 30 * MINUTE]);
    });

    test('what was reported before a response that is no 202 goes with the attempt', async ({ a }) => {
      const sent = message(AWAIT);
      await a.store.accept([sent], NOW);
      const claim = await a.claimOne(NOW);
      await a.store.noteProgress(keyOf(sent), 1, { ...WORD, progress: 1 }, NOW + MINUTE, NOW);
      const ended = decideSettlement(claim, { outcome: OK, startedAt: NOW, endedAt: NOW }, context);
      assert.deepEqual(await a.store.settle([ended], NOW), ['settled']);
      assert.equal(await a.stateOf(sent), 'delivered');
      assert.deepEqual(await a.store.dueAcks(NOW + RETENTION, 10), { due: [], nextAt: null, lastInTurn: null });
    });

    test('a cancel makes the ack due at once, and the message ends as cancelled', async ({ a }) => {
      const sent = message(AWAIT);
      await awaiting(a, sent);
      const { requested } = await a.store.cancel(ACCOUNT, [sent.id], NOW + 1, NOW + RETENTION);
      assert.deepEqual(requested, [sent.id]);
      assert.deepEqual(await a.store.confirmCancels(ACCOUNT, [sent.id], 10), []);
      assert.equal(await a.store.noteProgress(keyOf(sent), 1, WORD, 0, NOW + 1), null);
      assert.deepEqual((await a.store.dueAcks(NOW + 1, 10)).due, [keyOf(sent)]);
      const end = await settlementOfWord(a, sent, null, NOW + 2);
      assert.deepEqual(await a.store.settle([end], NOW + 2), ['cancelled']);
      assert.equal(await a.stateOf(sent), 'cancelled');
      assert.deepEqual((await a.store.dueAcks(NOW + 2, 10)).due, []);
    });

    test('a cancel that came before the 202 ends the message with it', async ({ a }) => {
      const sent = message(AWAIT);
      await a.store.accept([sent], NOW);
      const claim = await a.claimOne(NOW);
      await a.store.noteProgress(keyOf(sent), 1, WORD, NOW + MINUTE, NOW);
      await a.store.cancel(ACCOUNT, [sent.id], NOW, NOW + RETENTION);
      assert.deepEqual(await a.store.settle([settledWith(claim, NOW + 1)], NOW + 1), ['cancelled']);
      assert.equal(await a.stateOf(sent), 'cancelled');
      assert.deepEqual(await a.store.dueAcks(NOW + RETENTION, 10), { due: [], nextAt: null, lastInTurn: null });
    });

    test('the attempt of a lost node is no orphan, and holds its queue until its ack', async ({
      a,
      open,
      letTimePass,
    }) => {
      const [first, second] = [queued(AWAIT), queued(AWAIT)];
      await a.store.accept([first, second], NOW);
      const claim = await a.claimOne(NOW);
      await a.store.settle([settledWith(claim, NOW)], NOW);
      await letTimePass(10 * MINUTE);
      const b = await open('nod_b');
      assert.deepEqual(await b.store.orphanedClaims('nod_b'), []);
      assert.deepEqual(await b.claims(NOW + MINUTE), []);
      const ok = await settlementOfWord(b, first, { kind: 'ok' }, NOW + MINUTE);
      assert.deepEqual(await b.store.settle([ok], NOW + MINUTE), ['settled']);
      assert.deepEqual(await b.claimedIds(NOW + MINUTE), [second.id]);
    });

    test('the response is counted as stored once, while the ack is awaited and after it', async ({ a }) => {
      const sent = message(AWAIT);
      await a.store.accept([sent], NOW);
      const before = await a.store.storedBytes(ACCOUNT);
      await a.store.settle([settledWith(await a.claimOne(NOW), NOW)], NOW);
      const during = await a.store.storedBytes(ACCOUNT);
      assert.ok(during > before);
      await a.store.settle([await settlementOfWord(a, sent, { kind: 'ok' }, NOW + 1)], NOW + 1);
      assert.equal(await a.store.storedBytes(ACCOUNT), during);
      assert.equal(await a.store.recountStored(ACCOUNT), 0);
    });

    test('events of progress are bounded in time and in number', async ({ a }) => {
      const sent = message({ ...AWAIT, awaitAckMs: 60 * MINUTE });
      await awaiting(a, sent);
      const most = eachMax('progressEvents');
      for (let at = NOW; at < NOW + (most + 2) * PROGRESS_EVENT_EVERY_MS; at += PROGRESS_EVENT_EVERY_MS / 2) {
        assert.ok(await a.store.noteProgress(keyOf(sent), 1, { ...WORD, progress: 0.5 }, 0, at));
      }
      const page = { limit: 1000, cursor: null, order: 'oldestFirst', withBodies: false } as const;
      const { events } = await a.store.listEvents(ACCOUNT, { messages: { messageIds: [sent.id] } }, page);
      const progress = events.filter(({ state }) => state === 'PROGRESS');
      assert.equal(progress.length, most);
      assert.ok(progress.every((event) => event.progress === 0.5));
    });

    test('the earliest deadlines come first, of all accounts', async ({ a }) => {
      const sent = [...messages(2, AWAIT), message({ accountId: OTHER_ACCOUNT, awaitAckMs: MINUTE })];
      for (const each of sent) await awaiting(a, each);
      assert.deepEqual(await a.store.dueAcks(NOW, 10), { due: [], nextAt: NOW + MINUTE, lastInTurn: null });
      const { due } = await a.store.dueAcks(NOW + 10 * MINUTE, 3);
      assert.deepEqual([due[0], due.length], [keyOf(sent[2]!), 3]);
    });

    test('if more acks are due than one step ends, accounts take turns, and others go on at their next step', async ({
      a,
    }) => {
      const accounts = ['acc_x', 'acc_y', 'acc_z', 'acc_zz'];
      for (const id of accounts) await a.store.createAccount({ id, name: id, tier: 'free', createdAt: NOW }, KEYS);
      const others = accounts.slice(0, 3).map((accountId) => message({ accountId, awaitAckMs: 11 * MINUTE }));
      for (const each of [...messages(8, AWAIT), ...others]) await awaiting(a, each);
      const late = message({ accountId: 'acc_zz', awaitAckMs: 60 * MINUTE });
      await awaiting(a, late);
      const seen = new Set<string>();
      let after = '';
      for (let step = 0; step < 4; step += 1) {
        const { due, lastInTurn } = await a.store.dueAcks(NOW + 30 * MINUTE, 4, after);
        assert.equal(due.length, 4);
        for (const { messageId } of due) seen.add(messageId);
        after = lastInTurn ?? '';
      }
      assert.deepEqual(
        others.filter(({ id }) => !seen.has(id)),
        [],
      );
      assert.ok(!seen.has(late.id));
    });

    test.onTwo('the key of the service is the same for all nodes', async ({ a, b }) => {
      const [one, other] = await Promise.all([a.store.serviceKey('k', 'one'), b.store.serviceKey('k', 'other')]);
      assert.equal(one, other);
      assert.equal(await a.store.serviceKey('k', 'third'), one);
    });
  });
}

async function claimOf({ store }: Node, { accountId, id }: NewMessage, lease: string): Promise<Claim> {
  return { lease, message: (await store.getMessage(accountId, id))!.message, tier: 'free', signingKey: '' };
}
