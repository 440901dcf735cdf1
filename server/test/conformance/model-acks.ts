// Acks in random sequences: words of receivers for this attempt or an older one, in time or late, before the response or
// after it, and the end of what was not acknowledged. They go through the code that every node runs over its store.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { AckSecrets } from '../../src/acks/ack-secret.ts';
import { Acks } from '../../src/acks/acks.ts';
import type { AckWord, ProgressWord } from '../../src/rules/acks/ack.ts';
import type { Settlement } from '../../src/rules/delivery/message.ts';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import { ACCOUNT, newId } from './given.ts';
import type { ModelAck, ModelMessage, StoreModel } from './model.ts';
import { type Real, Step } from './model-step.ts';

const TIERS = { ...DEFAULT_TIERS, free: { ...DEFAULT_TIERS.free, awaitAckMsMax: 20_000 } };
const DUE_MAX = 100;

interface Working {
  readonly acks: Acks;
  /** What has ended attempts, in its order. */
  readonly ended: Settlement[];
}

function acksOf(model: StoreModel, real: Real, by: number): Working {
  const ended: Settlement[] = [];
  const acks = new Acks({
    store: real.nodes[by]!.store,
    tiers: TIERS,
    headerPrefix: 'Service-',
    newId,
    now: () => model.now,
    secrets: new AckSecrets(''),
    onEnd: (_kind, settlement) => ended.push(settlement),
    onProgress: () => {},
    onFault: (error) => {
      throw error;
    },
  });
  return { acks, ended };
}

const isGivenOut = ({ awaitAckMs, attempts, state, promisedTo }: ModelMessage) =>
  awaitAckMs !== null && promisedTo === null && (attempts > 0 || state === 'claimed');

/** Whether the attempt is under way and its word counts. */
function counts(message: ModelMessage, attempt: number, now: number): boolean {
  const { state, attempts, isCancelling, ack } = message;
  const isOver = ack?.isAwaiting === true && ack.deadlineAt <= now;
  return state === 'claimed' && attempts + 1 === attempt && !isCancelling && !isOver;
}

/** Whether an attempt that is over has ended as this word would have it. */
function isRepeated({ ends, state }: ModelMessage, attempt: number, word: AckWord): boolean {
  const end = ends[attempt - 1];
  if (end === undefined || word.kind === 'progress') return false;
  // The cancel was first.
  if (state === 'cancelled' && !end.hasNext) return false;
  if (word.kind === 'ok') return end.how === 'ok';
  return end.how === 'rejected' && (word.retry ? end.hasNext || end.isLast : !end.hasNext);
}

function noted(message: ModelMessage, { extendByMs, progress }: ProgressWord, now: number): ModelAck {
  const latestAt = now + TIERS.free.awaitAckMsMax;
  const ack = message.ack ?? { isAwaiting: false, deadlineAt: 0, latestAt, progress: null };
  const wantedAt = extendByMs === null ? 0 : Math.min(now + extendByMs, ack.latestAt);
  return { ...ack, deadlineAt: Math.max(ack.deadlineAt, wantedAt), progress: progress ?? ack.progress };
}

interface Saying {
  readonly by: number;
  readonly which: number;
  /** So many attempts before the newest. */
  readonly back: number;
  readonly word: AckWord;
}

function say({ by, which, back, word }: Saying): Step {
  const givenOut = ({ messages }: StoreModel) => messages.filter(isGivenOut).slice(-4);
  return new Step(
    `ack of message ${which}, ${back} attempts back, at ${by}: ${JSON.stringify(word)}`,
    async (model, real) => {
      const targets = givenOut(model);
      const message = targets[which % targets.length]!;
      const newest = message.attempts + (message.state === 'claimed' ? 1 : 0);
      const attempt = Math.max(1, newest - back);
      const { acks, ended } = acksOf(model, real, by);
      const reply = await acks.receive({ accountId: ACCOUNT, messageId: message.id, attempt }, word);
      const isCounted = counts(message, attempt, model.now);
      const when = message.ack?.isAwaiting ? 'awaited' : 'early';
      assert.equal(reply.kind, replyTo(message, attempt, word, isCounted));
      assert.equal(ended.length, isCounted && word.kind !== 'progress' ? 1 : 0);
      if (reply.kind === 'noted' && word.kind === 'progress') {
        message.ack = noted(message, word, model.now);
        const { isAwaiting, deadlineAt, latestAt, progress } = reply.ack;
        assert.deepEqual({ isAwaiting, deadlineAt, latestAt, progress }, message.ack);
        real.seen.add(`${when} progress`);
        if (deadlineAt === latestAt) real.seen.add(`${when}: extended to its latest`);
        return;
      }
      for (const settlement of ended) {
        real.seen.add(`${when} ${word.kind} → ${settlement.next.state}`);
        model.settled(message, settlement);
      }
      if (!isCounted) real.seen.add(`${message.state === 'claimed' ? 'open' : 'over'}: ${word.kind} → ${reply.kind}`);
    },
    (model) => givenOut(model).length > 0,
  );
}

function replyTo(message: ModelMessage, attempt: number, word: AckWord, isCounted: boolean): string {
  if (isCounted) return word.kind === 'progress' ? 'noted' : 'ended';
  return isRepeated(message, attempt, word) ? 'ended' : 'gone';
}

/** The attempts whose acks are due end, those of cancelled messages at once, and no others. */
function endDue(by: number, isLater: boolean): Step {
  return new Step(`end due acks at ${by}${isLater ? ', when the next is due' : ''}`, async (model, real) => {
    const awaiting = model.messages.filter(({ ack }) => ack?.isAwaiting);
    const firstAt = Math.min(...awaiting.map(({ ack }) => ack!.deadlineAt));
    if (isLater && awaiting.length > 0) model.now = Math.max(model.now, firstAt);
    const due = awaiting.filter(({ ack }) => ack!.deadlineAt <= model.now);
    const { acks, ended } = acksOf(model, real, by);
    const { ended: count, nextAt } = await acks.endDue(model.now, DUE_MAX);
    assert.equal(count, due.length);
    assert.equal(nextAt, awaiting.length === 0 ? null : firstAt);
    for (const message of due) {
      const settlement = ended.find(({ messageId }) => messageId === message.id);
      assert.equal(settlement === undefined, message.isCancelling, 'who is cancelled ends as cancelled');
      const place = message.hasPlace ? ' head' : '';
      real.seen.add(`no ack → ${settlement?.next.state ?? 'cancelled'}${place}`);
      if (settlement) model.settled(message, settlement);
      else model.endCancelled(message, withoutAck(message));
    }
  });
}

function withoutAck({ attempts }: ModelMessage) {
  const attempt = { number: attempts + 1, outcome: 'noAck', status: 202 } as Settlement['attempt'];
  return { attempt, next: { state: 'failed', expiresAt: 0, failure: '' }, interrupted: 0, aloneAtCrash: 0 } as const;
}

const word: fc.Arbitrary<AckWord> = fc.constantFrom<AckWord[]>(
  { kind: 'ok' },
  { kind: 'ok' },
  { kind: 'failed', error: null, retry: true },
  { kind: 'failed', error: null, retry: true },
  { kind: 'failed', error: 'no disk', retry: false },
  { kind: 'progress', extendByMs: null, progress: 0.5, note: null },
  { kind: 'progress', extendByMs: 3000, progress: null, note: null },
  { kind: 'progress', extendByMs: 60_000, progress: 0.75, note: null },
);
const node = fc.nat(1);
const saying = fc.record({ by: node, which: fc.nat(3), back: fc.constantFrom(0, 0, 0, 1), word });

export const ackCommands = [saying.map(say), fc.tuple(node, fc.boolean()).map(([by, isLater]) => endDue(by, isLater))];

export const ACK_EVENTS = [
  'accepted → delivered',
  'accepted → awaiting',
  'requested awaiting',
  'requested awaiting head',
  'awaited ok → delivered',
  'awaited failed → pending',
  'awaited failed → failed',
  'awaited progress',
  'awaited: extended to its latest',
  'early ok → delivered',
  'early failed → pending',
  'early failed → failed',
  'early progress',
  'early: extended to its latest',
  'open: ok → gone',
  'open: progress → gone',
  'over: ok → ended',
  'over: ok → gone',
  'over: failed → ended',
  'over: failed → gone',
  'over: progress → gone',
  'no ack → pending',
  'no ack → pending head',
  'no ack → failed',
  'no ack → failed head',
  'no ack → cancelled',
];
