// What can happen to a store, as commands that do it to the real one and to the model and compare the two.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Claim, Outcome } from '../../src/rules/delivery/message.ts';
import { NEVER_AT } from '../../src/rules/delivery/recovery.ts';
import type { QueueChange } from '../../src/rules/lines/queue.ts';
import { countStates } from '../support/count-states.ts';
import {
  ACCOUNT,
  DRAINED,
  ERROR,
  INTERRUPTED,
  INTERRUPTED_ALONE,
  message,
  OK,
  REFUSED,
  RETENTION,
  settlementOf,
} from './given.ts';
import type { Node } from './harness.ts';
import { isOpen, type ModelMessage, type StoreModel } from './model.ts';

/** How many attempts a node can make at once: few, so that they run out. */
const CAPACITY = 3;
const QUEUES = ['q1', 'q2'];
const OUTCOMES = {
  delivered: OK,
  retry: ERROR,
  failed: REFUSED,
  interrupted: INTERRUPTED,
  alone: INTERRUPTED_ALONE,
  drained: DRAINED,
};

export interface Real {
  readonly nodes: readonly [Node, Node];
  readonly claims: Map<string, Claim>;
  /** What has happened at least once: a generator that never gets there tests nothing. */
  readonly seen: Set<string>;
}

/** A command is what it does; the comparison after it is the same for all. */
class Step implements fc.AsyncCommand<StoreModel, Real> {
  readonly #text: string;
  readonly #run: (model: StoreModel, real: Real) => Promise<void>;
  readonly #check: (model: StoreModel) => boolean;

  constructor(
    text: string,
    run: (model: StoreModel, real: Real) => Promise<void>,
    check: (model: StoreModel) => boolean = () => true,
  ) {
    this.#text = text;
    this.#run = run;
    this.#check = check;
  }

  check(model: Readonly<StoreModel>): boolean {
    return this.#check(model);
  }

  async run(model: StoreModel, real: Real): Promise<void> {
    await this.#run(model, real);
    model.fillPlaces();
    await compare(model, real);
  }

  toString(): string {
    return this.#text;
  }
}

async function compare(model: StoreModel, real: Real): Promise<void> {
  const { store } = real.nodes[0];
  const stored = await Promise.all(model.messages.map(({ id }) => store.getMessage(ACCOUNT, id)));
  const counts = { pending: 0, claimed: 0, held: 0, delivered: 0, failed: 0, cancelled: 0 };
  for (const [index, expected] of model.messages.entries()) {
    const actual = stored[index]!;
    const { id, state, dueAt, firstDueAt, retried, interrupted, aloneAtCrash, attempts } = expected;
    const shown = { id, state, dueAt, firstDueAt, retried, interrupted, aloneAtCrash, attempts };
    const { message: found } = actual;
    assert.deepEqual(
      Object.fromEntries(Object.keys(shown).map((key) => [key, found[key as keyof typeof shown]])),
      shown,
    );
    assert.equal(actual.attempts.length, attempts);
    counts[state] += 1;
  }
  assert.deepEqual(await countStates(store), counts);
  for (const [name, { parallelism, isPaused }] of model.queues) {
    const queue = (await store.getQueue(ACCOUNT, name))!;
    const expected = { parallelism, isPaused, lag: model.open(name).length };
    assert.deepEqual({ parallelism: queue.parallelism, isPaused: queue.isPaused, lag: queue.lag }, expected);
  }
}

interface Draft {
  readonly queue: string | null;
  readonly host: string;
  readonly delayMs: number;
  readonly retriesMax: number;
}

function accept(by: number, drafts: readonly Draft[]): Step {
  return new Step(`accept at ${by}: ${JSON.stringify(drafts)}`, async (model, real) => {
    const batch = drafts.map(({ queue, host, delayMs, retriesMax }) =>
      message({ queueName: queue, host, dueAt: model.now + delayMs, retriesMax }),
    );
    const { store } = real.nodes[by]!;
    await store.accept(batch, model.now);
    const accepted = batch.map(({ id, queueName, host, dueAt }) => model.accept(id, queueName, host, dueAt));
    for (const each of accepted) {
      if ((await store.getMessage(ACCOUNT, each.id))!.message.state !== 'claimed') continue;
      assert.ok(
        each.queue === null && each.dueAt <= model.now,
        'only what is due and in no queue may be leased at once',
      );
      Object.assign(each, { state: 'claimed', promisedTo: by });
      model.nodes[by]!.offer -= 1;
      real.seen.add('leased at acceptance');
    }
    assert.ok(model.nodes[by]!.offer >= 0, 'no more may be leased at acceptance than the last claim left free');
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
  const { claims, nextDueAt } = await real.nodes[by]!.claimDue(model.now, { slots });

  const taken = claims.map((each) => model.messages.find(({ id }) => id === each.message.id)!);
  assert.equal(new Set(taken).size, taken.length, 'nothing is handed out twice');
  for (const each of promised) assert.ok(taken.includes(each), `${each.id} was leased at acceptance: hand it out`);
  const fresh = taken.filter((each) => !promised.includes(each));
  for (const each of fresh) assert.ok(claimable.includes(each), `${each.id} must not start`);
  assert.equal(taken.length, Math.min(slots, promised.length + claimable.length), 'as many as there are slots');
  for (const left of claimable.filter((each) => !fresh.includes(each))) {
    for (const each of fresh) assert.ok(each.host !== left.host || isBefore(model, each, left), 'oldest first');
  }
  for (const [index, { lease }] of claims.entries()) {
    Object.assign(taken[index]!, { state: 'claimed', lease, promisedTo: null });
    real.claims.set(lease, claims[index]!);
    node.leases.push(lease);
  }
  node.offer = slots - taken.length;
  if (node.offer > 0) assert.equal(nextDueAt, model.nextDueAt());
  if (taken.length > 0) real.seen.add('claimed');
  if (fresh.length < claimable.length) real.seen.add('out of slots');
  if (nextDueAt !== null) real.seen.add('waiting for the clock');
}

function isBefore(model: StoreModel, one: ModelMessage, other: ModelMessage): boolean {
  if (one.dueAt !== other.dueAt) return one.dueAt < other.dueAt;
  return model.messages.indexOf(one) < model.messages.indexOf(other);
}

/** Takes one of a node's leases, good or lost; the attempts of that claim are over for the node. */
function takeLease(model: StoreModel, real: Real, by: number, which: number): Claim {
  const { leases } = model.nodes[by]!;
  const [lease] = leases.splice(which % leases.length, 1);
  return real.claims.get(lease!)!;
}

const hasLease = (by: number) => (model: StoreModel) => model.nodes[by]!.leases.length > 0;

async function settleClaim(model: StoreModel, real: Real, by: number, claimed: Claim, outcome: Outcome) {
  const settlement = settlementOf(claimed, outcome, model.now);
  const [result] = await real.nodes[by]!.store.settle([settlement], model.now);
  const expected = model.withLease(claimed.lease);
  assert.equal(result, !expected ? 'lost' : expected.isCancelling ? 'cancelled' : 'settled');
  const { retried, interrupted, aloneAtCrash, next } = settlement;
  if (!expected) return result;
  if (expected.isCancelling) {
    model.leave(expected, 'cancelled');
    Object.assign(expected, { interrupted, aloneAtCrash, attempts: expected.attempts + 1 });
    return result;
  }
  model.leave(expected, next.state);
  const startsAlone = next.state === 'pending' && next.startsAlone;
  Object.assign(expected, { retried, interrupted, aloneAtCrash, attempts: expected.attempts + 1, startsAlone });
  if (next.state === 'pending') expected.dueAt = next.dueAt;
  if (next.state === 'held') expected.dueAt = NEVER_AT;
  return next.state;
}

type OutcomeKind = keyof typeof OUTCOMES;

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
      await real.nodes[by]!.store.release([released.lease], model.now);
      const expected = model.withLease(released.lease);
      if (expected) model.leave(expected, expected.isCancelling ? 'cancelled' : 'pending');
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

function cancel(by: number, which: number): Step {
  return new Step(
    `cancel message ${which} at ${by}`,
    async (model, real) => {
      const target = model.messages[which % model.messages.length]!;
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
      real.seen.add(`${kind} ${target.promisedTo === null ? target.state : 'promised'}`);
      if (target.hasPlace) real.seen.add(`${kind} ${target.state} head`);
      if (isClaimed) target.isCancelling = true;
      else model.leave(target, 'cancelled');
    },
    (model) => model.messages.length > 0,
  );
}

function claimAlone(by: number): Step {
  return new Step(`claim alone by ${by}`, (model, real) => claimFirstAlone(model, real, by));
}

async function claimFirstAlone(model: StoreModel, real: Real, by: number): Promise<void> {
  const first = model.firstAlone();
  const { claim: claimed } = await real.nodes[by]!.store.claimAlone(model.now);
  assert.equal(claimed !== null, first.length > 0);
  if (!claimed) return;
  const taken = first.find(({ id }) => id === claimed.message.id);
  assert.ok(taken, `${claimed.message.id} is not the first of those that start alone`);
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
        await (startsAlone ? claimFirstAlone(model, real, by) : claimDue(model, real, by));
      }
    },
    hasLease(by),
  );
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
});

const ORDEAL = { minLength: 3, maxLength: 6 };
const claimBy = node.map(claim);
const OFTEN: readonly OutcomeKind[] = [
  'delivered',
  'retry',
  'failed',
  'interrupted',
  'interrupted',
  'alone',
  'alone',
  'alone',
  'drained',
];

/** Claiming and settling come more often than the rest, as in life; the others are there to disturb them. */
export const modelCommands = fc.commands<StoreModel, Real, false>(
  [
    fc.tuple(node, fc.array(draft, { minLength: 1, maxLength: 3 })).map(([by, drafts]) => accept(by, drafts)),
    claimBy,
    claimBy,
    fc.tuple(node, which, fc.constantFrom<OutcomeKind[]>(...OFTEN)).map(([by, index, kind]) => settle(by, index, kind)),
    fc.tuple(node, which).map(([from, index]) => takeOver(from, index)),
    node.map(claimAlone),
    fc
      .tuple(node, which, fc.array(fc.constantFrom<OutcomeKind[]>('interrupted', 'alone', 'alone'), ORDEAL))
      .map(([by, index, kinds]) => cutOffAgain(by, index, kinds)),
    fc.tuple(node, which).map(([by, index]) => releaseHeld(by, index)),
    fc.constantFrom(1, 500, 1000, 8000).map(advance),
    fc.tuple(node, which).map(([by, index]) => cancel(by, index)),
    fc.tuple(node, which).map(([by, index]) => release(by, index)),
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
  'leased at acceptance',
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
  'more heads than places',
  'paused with pending head',
  'paused with claimed head',
];
