// What can happen to a store, as commands that do it to the real one and to the model and compare the two.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { MessageChange } from '../../src/rules/delivery/change.ts';
import type { Claim, Outcome } from '../../src/rules/delivery/message.ts';
import { decideExpiration } from '../../src/rules/delivery/settle.ts';
import type { QueueChange } from '../../src/rules/lines/queue.ts';
import { NO_CHANGE } from './change.ts';
import {
  ACCOUNT,
  answered,
  DRAINED,
  ERROR,
  INTERRUPTED,
  INTERRUPTED_ALONE,
  message,
  newId,
  OK,
  REFUSED,
  RETENTION,
  settlementOf,
} from './given.ts';
import { isOpen, type ModelMessage, type StoreModel } from './model.ts';
import { ACK_EVENTS, ackCommands } from './model-acks.ts';
import { type Real, Step } from './model-step.ts';

/** How many attempts a node can make at once: few, so that they run out. */
const CAPACITY = 3;
const QUEUES = ['q1', 'q2'];
const OUTCOMES = {
  delivered: OK,
  accepted: answered(202),
  retry: ERROR,
  failed: REFUSED,
  interrupted: INTERRUPTED,
  alone: INTERRUPTED_ALONE,
  drained: DRAINED,
};

interface Draft {
  readonly queue: string | null;
  readonly host: string;
  readonly delayMs: number;
  readonly retriesMax: number;
  readonly priority: number | null;
  readonly expiresMs: number | null;
  readonly parks: boolean;
  readonly awaitAckMs: number | null;
}

function accept(by: number, drafts: readonly Draft[]): Step {
  return new Step(`accept at ${by}: ${JSON.stringify(drafts)}`, async (model, real) => {
    const batch = drafts.map(({ queue, host, delayMs, retriesMax, priority, expiresMs, parks, awaitAckMs }) =>
      message({
        awaitAckMs,
        queueName: queue,
        host,
        dueAt: model.now + delayMs,
        retriesMax,
        outage: parks ? 'park' : null,
        priority: queue === null ? priority : null,
        mustStartBefore: expiresMs === null ? null : model.now + expiresMs,
      }),
    );
    const { store } = real.nodes[by]!;
    await store.accept(batch, model.now);
    const accepted = batch.map((each) => model.accept(each));
    for (const each of accepted) {
      if ((await store.getMessage(ACCOUNT, each.id))!.message.state !== 'claimed') continue;
      assert.ok(
        each.queue === null && each.dueAt <= model.now,
        'only what is due and in no queue may be leased at once',
      );
      Object.assign(each, { state: 'claimed', promisedTo: by });
      model.nodes[by]!.offer -= 1;
      takeRoom(model.nodes[by]!.rooms, each);
      real.seen.add('leased at acceptance');
    }
    assert.ok(model.nodes[by]!.offer >= 0, 'no more may be leased at acceptance than the last claim left free');
  });
}

/** At a parked host, one more of those that park has started. */
function takeRoom(rooms: Map<string, number>, { host, parks }: ModelMessage): void {
  if (!parks || !rooms.has(host)) return;
  const left = rooms.get(host)! - 1;
  assert.ok(left >= 0, `no more may start at ${host}, which is parked`);
  rooms.set(host, left);
}

/** From now on the host is parked, and so many messages that park may start there at each claim; null: it is open. */
function park(host: string, room: number | null): Step {
  return new Step(`${host} is parked with room ${room}`, async (model) => {
    if (room === null) model.rooms.delete(host);
    else model.rooms.set(host, room);
  });
}

function claim(by: number): Step {
  return new Step(`claim by ${by}`, (model, real) => claimDue(model, real, by));
}

async function claimDue(model: StoreModel, real: Real, by: number): Promise<void> {
  const node = model.nodes[by]!;
  const slots = CAPACITY - node.leases.length;
  const promised = model.messages.filter((each) => each.promisedTo === by);
  const claimable = model.claimable();
  const { claims, nextDueAt } = await real.nodes[by]!.claimDue(model.now, {
    slots,
    parked: [...model.rooms].map(([host, room]) => [ACCOUNT, host, room] as const),
  });

  const taken = claims.map((each) => model.messages.find(({ id }) => id === each.message.id)!);
  assert.equal(new Set(taken).size, taken.length, 'nothing is handed out twice');
  for (const each of promised) assert.ok(taken.includes(each), `${each.id} was leased at acceptance: hand it out`);
  const fresh = taken.filter((each) => !promised.includes(each));
  for (const each of fresh) assert.ok(claimable.includes(each), `${each.id} must not start`);
  const startable = model.startable(claimable, promised);
  assert.equal(taken.length, Math.min(slots, promised.length + startable), 'as many as there are slots');
  node.rooms = new Map(model.rooms);
  for (const each of promised)
    if (each.parks && node.rooms.has(each.host)) node.rooms.set(each.host, Math.max(0, node.rooms.get(each.host)! - 1));
  for (const each of fresh) takeRoom(node.rooms, each);
  if (startable < claimable.length) real.seen.add('parked messages wait');
  if (fresh.some(({ parks, host }) => parks && model.rooms.has(host))) real.seen.add('claimed at a parked host');
  for (const left of claimable.filter((each) => !fresh.includes(each))) {
    for (const each of fresh)
      assert.ok(each.host !== left.host || each.parks !== left.parks || isBefore(model, each, left), 'in order');
  }
  for (const [index, { lease, message }] of claims.entries()) {
    requireContent(message, taken[index]!);
    Object.assign(taken[index]!, { state: 'claimed', lease, promisedTo: null });
    real.claims.set(lease, claims[index]!);
    node.leases.push(lease);
  }
  node.offer = slots - taken.length;
  const mayLookForNothing = nextDueAt !== null && nextDueAt > model.now && model.putOff.has(nextDueAt);
  if (node.offer > 0 && !mayLookForNothing) assert.equal(nextDueAt, model.nextDueAt());
  if (taken.length > 0) real.seen.add('claimed');
  if (fresh.length < claimable.length) real.seen.add('out of slots');
  if (nextDueAt !== null) real.seen.add('waiting for the clock');
}

const urlOf = (content: number) => `https://a.example/${content}`;

/** What is sent is the message as its last change made it, and all of it. */
function requireContent({ id, url, host, headers, body }: Claim['message'], expected: ModelMessage): void {
  if (expected.content === null) return;
  const sent = { url, host, headers, body: String(Buffer.from(body)) };
  const text = String(expected.content);
  const whole = { url: urlOf(expected.content), host: expected.host, headers: [['X-Content', text]], body: text };
  assert.deepEqual(sent, whole, `${id} is sent as it was changed`);
}

interface Changing {
  readonly by: number;
  readonly which: number;
  readonly delayMs: number | null;
  readonly expiresMs: number | null;
  readonly host: string;
  /** One of those that are held, which are rare. */
  readonly isHeld: boolean;
}

function change({ by, which, delayMs, expiresMs, host, isHeld }: Changing): Step {
  const eligible = ({ messages }: StoreModel) => messages.filter(({ state }) => !isHeld || state === 'held');
  const time = `${delayMs === null ? 'its time stays' : `in ${delayMs} ms`}, expires in ${expiresMs} ms`;
  return new Step(
    `change ${isHeld ? 'held ' : ''}message ${which} at ${by}: ${host}, ${time}`,
    async (model, real) => {
      const targets = eligible(model);
      const target = targets[which % targets.length]!;
      model.contents += 1;
      const content = model.contents;
      const asked = {
        ...NO_CHANGE,
        dueAt: delayMs === null ? null : model.now + delayMs,
        mustStartBefore: expiresMs === null ? null : model.now + expiresMs,
        target: { url: urlOf(content), host },
        forward: [['X-Content', String(content)]] as const,
        body: Buffer.from(String(content)),
      };
      const { outcome } = await real.nodes[by]!.store.changeMessage(ACCOUNT, target.id, asked, model.now);
      assert.equal(outcome, outcomeOfChange(target, asked));
      real.seen.add(`change of ${isOpen(target) ? target.state : 'ended'}: ${outcome}`);
      if (outcome !== 'changed') return;
      if (delayMs !== null && target.hasPlace) {
        real.seen.add(`moved head ${target.attempts === 0 ? 'that was never tried' : 'between two attempts'}`);
      }
      Object.assign(target, { host, content, changes: target.changes + 1 });
      target.mustStartBefore = asked.mustStartBefore ?? target.mustStartBefore;
      if (delayMs !== null) model.move(target, model.now + delayMs);
    },
    (model) => eligible(model).length > 0,
  );
}

interface Debouncing {
  readonly by: number;
  readonly of: { readonly key: string; readonly queueName: string | null };
  readonly windowMs: number;
  readonly moreMs: number;
  readonly host: string;
  readonly expiresMs: number | null;
}

/** A publish with a debounce key: of all that wait under it, it replaces the newest. */
function debounce({ by, of: { key, queueName }, windowMs, moreMs, host, expiresMs }: Debouncing): Step {
  return new Step(`debounce ${key} at ${by} for ${windowMs} ms and ${moreMs} ms more: ${host}`, async (model, real) => {
    model.contents += 1;
    const content = model.contents;
    const { now } = model;
    const maxMs = windowMs + moreMs;
    const newest = message({
      queueName,
      url: urlOf(content),
      host,
      headers: [['X-Content', String(content)]],
      body: Buffer.from(String(content)),
      createdAt: now,
      dueAt: now + windowMs,
      mustStartBefore: expiresMs === null ? null : now + windowMs + expiresMs,
      debounce: { key, latestAt: now + maxMs, count: 1 },
    });
    const target = model.waiting(key);
    const { debounced } = await real.nodes[by]!.store.accept([newest], now);
    if (!target) {
      assert.deepEqual(debounced, [{ messageId: newest.id, count: 1 }]);
      Object.assign(model.accept(newest), { content });
      return;
    }
    assert.deepEqual(debounced, [{ messageId: target.id, count: target.count + 1 }]);
    real.seen.add(`replaced ${target.hasPlace ? 'head' : 'pending'}`);
    Object.assign(target, { host, content, count: target.count + 1, mustStartBefore: newest.mustStartBefore });
    const wanted = Math.min(newest.dueAt, target.acceptedAt + maxMs);
    const dueAt = wanted > now ? wanted : Math.min(target.dueAt, now);
    if (wanted <= now) real.seen.add('replaced at its latest time');
    if (dueAt > target.dueAt) model.putOff.add(target.dueAt);
    if (dueAt !== target.dueAt) model.move(target, dueAt);
  });
}

function outcomeOfChange(
  target: ModelMessage,
  { dueAt, mustStartBefore }: Pick<MessageChange, 'dueAt' | 'mustStartBefore'>,
): string {
  if (!isOpen(target)) return 'unknown';
  if (target.isCancelling) return 'cancelRequested';
  if (target.state === 'claimed') return 'active';
  if (target.state === 'held') return dueAt === null ? 'changed' : 'refused';
  const before = mustStartBefore ?? target.mustStartBefore ?? Number.POSITIVE_INFINITY;
  const isTooLate = (dueAt !== null || mustStartBefore !== null) && (dueAt ?? target.dueAt) >= before;
  return isTooLate ? 'refused' : 'changed';
}

function isBefore(model: StoreModel, one: ModelMessage, other: ModelMessage): boolean {
  const [rank, otherRank] = [one, other].map(({ dueAt, priority }) => dueAt - ((priority ?? 5) - 5) * 60_000);
  if (rank !== otherRank) return rank! < otherRank!;
  return model.messages.indexOf(one) < model.messages.indexOf(other);
}

/** Takes one of a node's leases, good or lost; the attempts of that claim are over for the node. */
function takeLease(model: StoreModel, real: Real, by: number, which: number): Claim {
  const { leases } = model.nodes[by]!;
  const [lease] = leases.splice(which % leases.length, 1);
  return real.claims.get(lease!)!;
}

const hasRoom = (by: number) => (model: StoreModel) => model.nodes[by]!.leases.length < CAPACITY;

const hasLease = (by: number) => (model: StoreModel) => model.nodes[by]!.leases.length > 0;

async function settleClaim(model: StoreModel, real: Real, by: number, claimed: Claim, outcome: Outcome) {
  const settlement = settlementOf(claimed, outcome, model.now);
  const [result] = await real.nodes[by]!.store.settle([settlement], model.now);
  const expected = model.withLease(claimed.lease);
  assert.equal(result, !expected ? 'lost' : expected.isCancelling ? 'cancelled' : 'settled');
  if (!expected) return result;
  if (expected.isCancelling) model.endCancelled(expected, settlement);
  else model.settled(expected, settlement);
  return expected.isCancelling ? result : settlement.next.state;
}

type OutcomeKind = keyof typeof OUTCOMES;

/** A receiver returns 202 to one of those that await acks; now and then the store is told twice. */
function takeOn(by: number, which: number, isTwice: boolean): Step {
  const awaiting = (model: StoreModel) =>
    model.nodes[by]!.leases.filter((lease) => typeof model.withLease(lease)?.awaitAckMs === 'number');
  return new Step(
    `${isTwice ? 'two settlements' : 'a settlement'} with 202 of lease ${which} of ${by}`,
    async (model, real) => {
      const leases = awaiting(model);
      const lease = leases[which % leases.length]!;
      const claimed = takeLease(model, real, by, model.nodes[by]!.leases.indexOf(lease));
      real.seen.add(`accepted → ${await settleClaim(model, real, by, claimed, OUTCOMES.accepted)}`);
      const [again] = isTwice
        ? await real.nodes[by]!.store.settle([settlementOf(claimed, OUTCOMES.accepted, model.now)], model.now)
        : ['lost'];
      assert.equal(again, 'lost');
    },
    (model) => awaiting(model).length > 0,
  );
}

function settle(by: number, which: number, kind: OutcomeKind): Step {
  return new Step(
    `settle lease ${which} of ${by} as ${kind}`,
    async (model, real) => {
      const claimed = takeLease(model, real, by, which);
      const isAgainClaimed = model.messages.some(
        ({ id, lease }) => id === claimed.message.id && lease !== null && lease !== claimed.lease,
      );
      const result = await settleClaim(model, real, by, claimed, OUTCOMES[kind]);
      real.seen.add(`${kind} → ${result}`);
      if (isAgainClaimed) real.seen.add('lost to another claim');
    },
    hasLease(by),
  );
}

/** A node is taken for dead and its claim is settled by another; it still has its lease and knows nothing of it. */
function takeOver(from: number, which: number): Step {
  return new Step(
    `take over lease ${which} of ${from}`,
    async (model, real) => {
      const { leases } = model.nodes[from]!;
      const result = await settleClaim(
        model,
        real,
        1 - from,
        real.claims.get(leases[which % leases.length]!)!,
        INTERRUPTED,
      );
      real.seen.add(`taken over → ${result}`);
    },
    hasLease(from),
  );
}

function release(by: number, which: number): Step {
  return new Step(
    `release lease ${which} of ${by}`,
    async (model, real) => {
      const released = takeLease(model, real, by, which);
      const ended = await real.nodes[by]!.store.release([released.lease], model.now);
      const expected = model.withLease(released.lease);
      // Its attempt keeps its number, and what was reported of it.
      const ack = expected?.ack ?? null;
      if (expected) model.leave(expected, expected.isCancelling ? 'cancelled' : 'pending');
      if (expected) expected.ack = ack;
      const overtaken = expected ? model.overtake(expected) : [];
      assert.deepEqual(
        ended,
        overtaken.map(({ id }) => id),
      );
      if (overtaken.length > 0) real.seen.add('overtaken');
      if (expected?.isCancelling) real.seen.add('released to be cancelled');
      else if (expected && expected.interrupted >= 3) {
        Object.assign(expected, { startsAlone: true, dueAt: model.now });
        real.seen.add('released suspect');
      }
      real.seen.add(expected ? 'released' : 'released for nothing');
    },
    hasLease(by),
  );
}

/** `isAwaiting`: one of those that await their acks, which are few. */
function cancel(by: number, which: number, isAwaiting: boolean): Step {
  const eligible = ({ messages }: StoreModel) => messages.filter(({ ack }) => !isAwaiting || ack?.isAwaiting);
  return new Step(
    `cancel ${isAwaiting ? 'awaiting ' : ''}message ${which} at ${by}`,
    async (model, real) => {
      const targets = eligible(model);
      const target = targets[which % targets.length]!;
      const wasOpen = isOpen(target);
      const { store } = real.nodes[by]!;
      const isClaimed = target.state === 'claimed';
      const { cancelled, requested, awaited } = await store.cancel(
        ACCOUNT,
        [target.id],
        model.now,
        model.now + RETENTION,
      );
      const kind = isClaimed ? (target.isCancelling ? 'awaited' : 'requested') : 'cancelled';
      assert.deepEqual(
        { cancelled, requested, awaited },
        { cancelled: [], requested: [], awaited: [], ...(wasOpen && { [kind]: [target.id] }) },
      );
      if (!wasOpen) return;
      real.seen.add(`${kind} ${stateOf(target)}`);
      if (target.hasPlace) real.seen.add(`${kind} ${stateOf(target)} head`);
      if (isClaimed) model.requestCancel(target);
      else model.leave(target, 'cancelled');
    },
    (model) => eligible(model).length > 0,
  );
}

function stateOf({ promisedTo, ack, state }: ModelMessage): string {
  if (ack?.isAwaiting) return 'awaiting';
  return promisedTo === null ? state : 'promised';
}

function claimAlone(by: number): Step {
  return new Step(`claim alone by ${by}`, (model, real) => claimFirstAlone(model, real, by), hasRoom(by));
}

async function claimFirstAlone(model: StoreModel, real: Real, by: number): Promise<void> {
  const first = model.firstAlone();
  const { claim: claimed } = await real.nodes[by]!.store.claimAlone(model.now);
  assert.equal(claimed !== null, first.length > 0);
  if (!claimed) return;
  const taken = first.find(({ id }) => id === claimed.message.id);
  assert.ok(taken, `${claimed.message.id} is not the first of those that start alone`);
  requireContent(claimed.message, taken);
  Object.assign(taken, { state: 'claimed', lease: claimed.lease, startsAlone: false });
  real.claims.set(claimed.lease, claimed);
  model.nodes[by]!.leases.push(claimed.lease);
  real.seen.add('claimed alone');
}

/** What hardly comes by chance: a message that is cut off again and again, by crashes at which it was alone or not. */
function cutOffAgain(by: number, which: number, kinds: readonly OutcomeKind[]): Step {
  return new Step(
    `cut off lease ${which} of ${by}: ${kinds}`,
    async (model, real) => {
      const { leases } = model.nodes[by]!;
      const { id } = real.claims.get(leases[which % leases.length]!)!.message;
      for (const kind of kinds) {
        const at = leases.findIndex((lease) => real.claims.get(lease)!.message.id === id && model.withLease(lease));
        if (at === -1) return;
        const result = await settleClaim(model, real, by, takeLease(model, real, by, at), OUTCOMES[kind]);
        real.seen.add(`${kind} → ${result}`);
        model.fillPlaces();
        const { startsAlone, dueAt, state } = model.messages.find((each) => each.id === id)!;
        if (state !== 'pending') return;
        model.now = Math.max(model.now, dueAt);
        model.fillPlaces();
        if (!hasRoom(by)(model)) return;
        await (startsAlone ? claimFirstAlone(model, real, by) : claimDue(model, real, by));
      }
    },
    hasLease(by),
  );
}

/** What has expired ends if it waits, and only then. */
function expire(by: number): Step {
  return new Step(`expire at ${by}`, async (model, real) => {
    const { store } = real.nodes[by]!;
    const waiting = model.messages.filter(
      (each) => (each.state === 'pending' || each.state === 'held') && model.isExpired(each),
    );
    const { expired } = await store.dueExpiries(model.now, { messages: 100, after: '' });
    const ids = await store.expireMessages(
      expired.map((each) => decideExpiration(each, { now: model.now, retentionMs: RETENTION, newId })),
      model.now,
    );
    assert.deepEqual(new Set(ids), new Set(waiting.map(({ id }) => id)));
    for (const each of waiting) {
      real.seen.add(`expired ${each.state}${each.hasPlace ? ' head' : ''}`);
      model.leave(each, 'failed');
    }
  });
}

function releaseHeld(by: number, which: number): Step {
  return new Step(
    `release held message ${which} at ${by}`,
    async (model, real) => {
      const target = model.messages[which % model.messages.length]!;
      const released = await real.nodes[by]!.store.releaseHeld(ACCOUNT, [target.id], model.now);
      assert.deepEqual(released, target.state === 'held' ? [target.id] : []);
      if (target.state !== 'held') return;
      Object.assign(target, { state: 'pending', dueAt: model.now, interrupted: 0, aloneAtCrash: 0 });
      target.changes += 1;
      real.seen.add(target.hasPlace ? 'released held head' : 'released held');
    },
    (model) => model.messages.some(({ state }) => state === 'held'),
  );
}

function saveQueue(by: number, name: string, change: QueueChange): Step {
  return new Step(`change ${name} at ${by}: ${JSON.stringify(change)}`, async (model, real) => {
    await real.nodes[by]!.store.saveQueue(ACCOUNT, name, change, model.now);
    const queue = { parallelism: 1, isPaused: false, ...model.queues.get(name), ...change };
    const heads = model.open(name).filter((each) => each.hasPlace);
    if (heads.length > queue.parallelism) real.seen.add('more heads than places');
    for (const head of heads) if (change.isPaused) real.seen.add(`paused with ${head.state} head`);
    model.queues.set(name, queue);
  });
}

function advance(ms: number): Step {
  return new Step(`advance ${ms} ms`, async (model) => {
    model.now += ms;
  });
}

const node = fc.nat(1);
const which = fc.nat(30);
const draft: fc.Arbitrary<Draft> = fc.record({
  queue: fc.constantFrom(null, ...QUEUES),
  host: fc.constantFrom('a:80', 'b:80'),
  delayMs: fc.constantFrom(0, 0, 0, 500, 2000),
  retriesMax: fc.nat(2),
  priority: fc.option(fc.constantFrom(0, 4, 5, 6, 9)),
  expiresMs: fc.constantFrom(null, null, null, 600, 3000, 9000),
  parks: fc.constantFrom(false, false, true),
  awaitAckMs: fc.constantFrom(null, 1000, 4000),
});

const ORDEAL = { minLength: 3, maxLength: 6 };
const claimBy = node.map(claim);
const OFTEN: readonly OutcomeKind[] = [
  'delivered',
  'accepted',
  'retry',
  'retry',
  'failed',
  'interrupted',
  'interrupted',
  'alone',
  'alone',
  'alone',
  'drained',
];

const changing = fc.record({
  by: node,
  which,
  delayMs: fc.constantFrom(null, null, 0, 500, 2000),
  host: fc.constantFrom('a:80', 'b:80'),
  isHeld: fc.boolean(),
  expiresMs: fc.constantFrom(null, null, null, 800, 5000),
});

const debouncing = fc.record({
  by: node,
  of: fc.constantFrom({ key: 'k', queueName: null }, { key: 'k1', queueName: 'q1' }),
  windowMs: fc.constantFrom(1, 500, 2000),
  moreMs: fc.constantFrom(0, 500, 5000),
  host: fc.constantFrom('a:80', 'b:80'),
  expiresMs: fc.constantFrom(null, null, 1, 5000),
});

/** Claiming and settling come more often than the rest, as in life; the others are there to disturb them. */
export const modelCommands = fc.commands<StoreModel, Real, false>(
  [
    fc.tuple(node, fc.array(draft, { minLength: 1, maxLength: 3 })).map(([by, drafts]) => accept(by, drafts)),
    claimBy,
    claimBy,
    fc.tuple(node, which, fc.constantFrom<OutcomeKind[]>(...OFTEN)).map(([by, index, kind]) => settle(by, index, kind)),
    fc.tuple(node, which).map(([from, index]) => takeOver(from, index)),
    node.map(claimAlone),
    node.map(expire),
    fc.tuple(node, which, fc.boolean()).map(([by, index, isTwice]) => takeOn(by, index, isTwice)),
    ...ackCommands,
    fc
      .tuple(node, which, fc.array(fc.constantFrom<OutcomeKind[]>('interrupted', 'alone', 'alone'), ORDEAL))
      .map(([by, index, kinds]) => cutOffAgain(by, index, kinds)),
    fc.tuple(node, which).map(([by, index]) => releaseHeld(by, index)),
    fc.constantFrom(1, 500, 1000, 8000).map(advance),
    fc.tuple(node, which, fc.constantFrom(false, false, true)).map(([by, index, some]) => cancel(by, index, some)),
    changing.map(change),
    debouncing.map(debounce),
    debouncing.map(debounce),
    fc.tuple(node, which).map(([by, index]) => release(by, index)),
    fc.tuple(fc.constantFrom('a:80', 'b:80'), fc.constantFrom(null, 0, 1)).map(([host, room]) => park(host, room)),
    fc
      .tuple(node, fc.constantFrom(...QUEUES), fc.boolean())
      .map(([by, name, isPaused]) => saveQueue(by, name, { isPaused })),
    fc
      .tuple(node, fc.constantFrom(...QUEUES), fc.integer({ min: 1, max: 3 }))
      .map(([by, name, parallelism]) => saveQueue(by, name, { parallelism })),
  ],
  { maxCommands: 80, size: '+1' },
);

/** All of it must come up in a run of the test. */
export const EVENTS = [
  ...ACK_EVENTS,
  'replaced pending',
  'replaced head',
  'replaced at its latest time',
  'overtaken',
  'leased at acceptance',
  'parked messages wait',
  'claimed at a parked host',
  'claimed',
  'out of slots',
  'waiting for the clock',
  'delivered → delivered',
  'delivered → lost',
  'lost to another claim',
  'taken over → pending',
  'retry → pending',
  'retry → failed',
  'failed → failed',
  'interrupted → pending',
  'alone → pending',
  'alone → held',
  'drained → pending',
  'claimed alone',
  'expired pending',
  'expired pending head',
  'expired held',
  'released suspect',
  'released held',
  'released held head',
  'cancelled held',
  'cancelled held head',
  'paused with held head',
  'released',
  'released for nothing',
  'cancelled pending',
  'requested claimed',
  'awaited claimed',
  'released to be cancelled',
  'taken over → cancelled',
  'requested promised',
  'cancelled pending head',
  'requested claimed head',
  'change of pending: changed',
  'change of claimed: active',
  'change of claimed: cancelRequested',
  'change of held: changed',
  'change of held: refused',
  'change of ended: unknown',
  'moved head that was never tried',
  'moved head between two attempts',
  'more heads than places',
  'paused with pending head',
  'paused with claimed head',
];
