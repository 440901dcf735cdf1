// What the simulation found in the engine, each as a small test of its own: how it stops while the store is away, and
// what it does with claims that may be somebody else's by now.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Engine } from '../../src/delivery/engine/engine.ts';
import type { Delivery, Sender, SendReport } from '../../src/delivery/engine/sender.ts';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import type { NewId } from '../../src/rules/requests/id.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { openDatabase } from '../../src/store/sqlite/files/open.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Executor } from '../../src/store/sqlite/thread/executor-port.ts';
import { createVerbs, type Reply, runBatch } from '../../src/store/sqlite/thread/verbs.ts';
import { heartbeat } from '../../src/upkeep/leases.ts';
import { CALLBACK_URL, callbackTo, countingIds, planned } from '../rules/given.ts';
import { ManualClock, seededRandom } from '../support/manual-clock.ts';
import { NO_TURNS } from '../support/no-turns.ts';

const KEPT = { wallAt: 0, trustedAt: 0, orderAt: 0, doubtedMs: 0 };

const NODE = 'nod_1';
const ANSWERED = { kind: 'answered', status: 200, headers: [], body: new Uint8Array(0), isBodyCut: false } as const;
const AWAY: Reply = { error: 'the store is away', reason: 'full' };

/** A sender that only notes what it is told to send; a test ends attempts by hand. */
class NotingSender implements Sender {
  readonly sent: Delivery[] = [];
  readonly toldToDrop: string[] = [];
  readonly #now: () => number;
  #listener: (reports: readonly SendReport[]) => void = () => {};

  constructor(now: () => number) {
    this.#now = now;
  }

  send(deliveries: readonly Delivery[]): void {
    this.sent.push(...deliveries);
  }

  mayStartUntil(): void {}

  /** All of them are on the wire. */
  drop(leases: readonly string[]): readonly string[] {
    this.toldToDrop.push(...leases);
    return [];
  }

  onWritten(): void {}

  onReports(listener: (reports: readonly SendReport[]) => void): void {
    this.#listener = listener;
  }

  end(delivery: Delivery, outcome: SendReport['outcome']): void {
    this.#listener([{ lease: delivery.lease, startedAt: this.#now(), endedAt: this.#now(), outcome }]);
  }

  async close(): Promise<void> {
    for (const delivery of this.sent) this.end(delivery, { kind: 'interrupted', reason: 'cut off', cause: 'drain' });
  }
}

class Node {
  readonly clock = new ManualClock(planned({})[0]!.createdAt);
  readonly sender = new NotingSender(() => this.clock.now());
  readonly store: Store;
  readonly engine: Engine;
  isStoreAway = false;
  /** It does not run evenly with the clock that all nodes share. */
  isTimeOff = false;
  /** What an answer of the store waits for. */
  beforeReply: () => Promise<void> = async () => {};
  /** What the answer to a sign of life waits for. */
  beforeHeard: () => Promise<void> = async () => {};
  /** What a claim waits for on its way to the engine. */
  beforeClaims: (() => Promise<void>) | null = null;
  /** What a look for due messages waits for before it is over. */
  beforeClaimed: () => Promise<void> = async () => {};
  /** What was wrong, as the engine observed it. */
  readonly troubles: unknown[] = [];
  readonly newId = countingIds();
  claimCalls = 0;
  readonly #database = openDatabase(':memory:');

  constructor(concurrency: number) {
    const verbs = createVerbs(this.#database);
    const executor: Executor = {
      execute: async (commands) => {
        const replies = this.isStoreAway ? commands.map(() => AWAY) : runBatch(this.#database, verbs, commands);
        await this.beforeReply();
        return replies;
      },
      close: async () => {},
    };
    const { clock, sender } = this;
    const store = createSqliteStore({ executor, clock, node: NODE, onBroken: assert.ifError });
    const claimDue: Store['claimDue'] = async (request) => {
      this.claimCalls += 1;
      if (this.claimCalls > 1000) throw new Error('asked in circles');
      const answer = await store.claimDue(request);
      await this.beforeClaimed();
      return answer;
    };
    const onClaims: Store['onClaims'] = (listener) =>
      store.onClaims((claims) => {
        if (this.beforeClaims) void this.beforeClaims().then(() => listener(claims));
        else listener(claims);
      });
    const beat: Store['heartbeat'] = async (...given) => {
      const heard = await store.heartbeat(...given);
      await this.beforeHeard();
      return heard;
    };
    this.store = { ...store, claimDue, onClaims, heartbeat: beat };
    this.engine = new Engine({
      node: NODE,
      store: this.store,
      sender,
      world: { clock, random: seededRandom(1) },
      turns: NO_TURNS,
      newId: (prefix) => this.makeId(prefix),
      tiers: DEFAULT_TIERS,
      style: { headerPrefix: 'Postrider-', userAgent: 'test' },
      limits: { concurrency, accountConcurrency: 100, hostConcurrency: 100, bodyBytes: 1_000_000 },
      heartbeat: heartbeat(this.store, NODE, this.#time()),
      upkeep: () => [],
      fireSchedules: async () => null,
      observe: (event) => {
        if (event.kind === 'trouble') this.troubles.push(event.error);
      },
    });
  }

  #time() {
    const isOff = () => this.isTimeOff;
    return {
      keep: async (keep: (time: typeof KEPT) => Promise<unknown>) => void (await keep(KEPT)),
      get isOff() {
        return isOff();
      },
    };
  }

  makeId: NewId = (prefix) => this.newId(prefix);

  async start(): Promise<void> {
    const account = { id: 'acc_1', name: 'test', tier: 'free', createdAt: 0 } as const;
    await this.store.createAccount(account, { current: 'sig_1', next: 'sig_2' });
    this.engine.start();
    await settled();
  }

  async accept(...messages: readonly NewMessage[]): Promise<void> {
    await this.store.accept(messages, this.clock.now());
  }

  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await settled();
  }

  claimedLeases(): string[] {
    return this.#database
      .all<{ lease: string }>('SELECT lease FROM messages WHERE lease IS NOT NULL')
      .map(({ lease }) => lease);
  }

  async stateOf(id: string): Promise<string | undefined> {
    return (await this.store.getMessage('acc_1', id))?.message.state;
  }
}

/** Until everything that follows from what was done has happened. */
async function settled(): Promise<void> {
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

function message(id: string, queueName: string | null = null): NewMessage {
  return { ...planned({ queueName })[0]!, id };
}

test('a stop waits for the attempts under way and settles them, even if the store is away for a while', async () => {
  const node = new Node(10);
  await node.start();
  await node.accept(message('msg_a'));
  await settled();
  node.isStoreAway = true;
  const stopping = node.engine.stop(30_000);
  await settled();
  node.sender.end(node.sender.sent[0]!, ANSWERED);
  await node.advance(1000);
  node.isStoreAway = false;
  await node.advance(1000);
  await stopping;
  assert.equal(await node.stateOf('msg_a'), 'delivered');
});

test('of many attempts that are to start, a few start in a turn of the loop, and those of an account with one are among the first', async () => {
  const node = new Node(400);
  await node.start();
  const keys = { current: 'sig_1', next: 'sig_2' };
  await node.store.createAccount({ id: 'acc_2', name: 'other', tier: 'free', createdAt: 0 }, keys);
  const pieces: string[][] = [];
  let passedMs = 0;
  const { clock, sender } = node;
  const monotonicMs = clock.monotonicMs.bind(clock);
  clock.monotonicMs = () => monotonicMs() + passedMs;
  sender.send = (deliveries) => {
    pieces.push(deliveries.map(({ messageId }) => messageId));
    passedMs += 100;
  };
  const many = Array.from({ length: 48 }, (_, index) => message(`msg_many${index}`));
  await Promise.all([node.accept(...many), node.accept({ ...message('msg_other'), accountId: 'acc_2' })]);
  await settled();
  assert.ok(pieces[0]!.includes('msg_other'));
  assert.deepEqual(pieces.flat().toSorted(), [...many.map(({ id }) => id), 'msg_other'].toSorted());
  assert.ok(pieces.length >= 4, `${pieces.length} pieces`);
});

test('while its time is off, a node claims nothing and is leased nothing; when it is right, it goes on', async () => {
  const node = new Node(10);
  await node.start();
  node.isTimeOff = true;
  await node.advance(5000);
  await node.accept(message('msg_a'));
  await node.advance(1000);
  assert.equal(node.sender.sent.length, 0);
  assert.deepEqual(node.claimedLeases(), []);
  node.isTimeOff = false;
  await node.advance(5000);
  assert.equal(node.sender.sent.length, 1);
});

test('while its time is off, a node does not start the next of a queue; when it is right, it goes on', async () => {
  const node = new Node(10);
  await node.start();
  await node.accept(message('msg_a', 'mail'), message('msg_b', 'mail'));
  await settled();
  assert.equal(node.sender.sent.length, 1);
  node.isTimeOff = true;
  await node.advance(5000);
  node.sender.end(node.sender.sent[0]!, ANSWERED);
  await node.advance(1000);
  assert.equal(await node.stateOf('msg_a'), 'delivered');
  assert.equal(node.sender.sent.length, 1);
  assert.deepEqual(node.claimedLeases(), []);
  node.isTimeOff = false;
  await node.advance(5000);
  assert.equal(node.sender.sent.length, 2);
});

test('what was leased at accept is given back if the time is off when its commit returns', async () => {
  const node = new Node(10);
  await node.start();
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  node.beforeReply = () => held;
  const accepting = node.accept(message('msg_a'));
  await settled();
  assert.equal(node.claimedLeases().length, 1);
  node.isTimeOff = true;
  letGo();
  await accepting;
  await settled();
  assert.equal(node.sender.sent.length, 0);
  assert.deepEqual(node.claimedLeases(), []);
  assert.equal(await node.stateOf('msg_a'), 'pending');
});

test('a stop comes to an end although the store stays away', async () => {
  const node = new Node(10);
  await node.start();
  await node.accept(message('msg_a'));
  await settled();
  node.isStoreAway = true;
  let hasStopped = false;
  const stopping = node.engine.stop(5000).then(() => {
    hasStopped = true;
  });
  for (let second = 0; second < 12; second += 1) await node.advance(1000);
  assert.ok(hasStopped);
  await stopping;
});

test('a claim whose answer came later than the node is trusted is given back and made anew, not sent', async () => {
  const node = new Node(10);
  await node.start();
  await node.accept(message('msg_a'));
  await settled();
  node.sender.end(node.sender.sent[0]!, { kind: 'unreachable', reason: 'reset' });
  await settled();
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  node.beforeReply = () => held;
  await node.advance(1000);
  const [lateLease] = node.claimedLeases();
  assert.ok(lateLease, 'the retry is claimed, but the engine does not know yet');
  await node.advance(20_000);
  letGo();
  await settled();
  const [, again] = node.sender.sent;
  assert.equal(node.sender.sent.length, 2);
  assert.notEqual(again!.lease, lateLease);
  assert.equal((await node.store.getMessage('acc_1', 'msg_a'))?.message.interrupted, 0);
});

test('a sign of life is good for a time from when it was sent, not from when the store has answered', async () => {
  const node = new Node(10);
  await node.start();
  const answers: (() => void)[] = [];
  node.beforeHeard = () => new Promise((resolve) => answers.push(resolve));
  await node.advance(5000);
  // Longer than it is good for: another node may own by now what this one had claimed.
  await node.advance(14_000);
  answers[0]!();
  await settled();
  await node.accept(message('msg_a'));
  await settled();
  assert.deepEqual([answers.length, node.sender.sent.length], [2, 0]);
  answers[1]!();
  await settled();
  assert.equal(node.sender.sent.length, 1);
});

test('a claim from before a time without signs of life is given back, also if it arrives when they have come again', async () => {
  const node = new Node(10);
  await node.start();
  await node.accept(message('msg_a'));
  await settled();
  node.sender.end(node.sender.sent[0]!, { kind: 'unreachable', reason: 'reset' });
  await settled();
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  node.beforeClaims = () => held;
  node.beforeClaimed = () => held;
  await node.advance(1000);
  const [early] = node.claimedLeases();
  assert.ok(early, 'the retry is claimed, but the engine does not know yet');
  const { promise: silence, resolve: hear } = Promise.withResolvers<void>();
  node.beforeHeard = () => silence;
  await node.advance(4000);
  await node.advance(14_000);
  hear();
  await settled();
  node.beforeClaims = null;
  node.beforeClaimed = async () => {};
  letGo();
  await settled();
  const [, again] = node.sender.sent;
  assert.equal(node.sender.sent.length, 2);
  assert.notEqual(again!.lease, early);
});

test('a claim that was long on its way is not sent if it was cancelled meanwhile, although nobody has told its node', async () => {
  const node = new Node(10);
  await node.start();
  const cancelled: (readonly string[])[] = [];
  node.beforeClaims = async () => {
    const { requested } = await node.store.cancel('acc_1', ['msg_a'], node.clock.now(), node.clock.now() + 1000);
    cancelled.push(requested);
    // Well within its lease.
    node.clock.advance(3000);
  };
  await node.accept(message('msg_a'));
  await settled();
  await settled();
  assert.deepEqual(cancelled, [['msg_a']]);
  assert.deepEqual(node.sender.sent, []);
  assert.equal(await node.stateOf('msg_a'), 'cancelled');
});

test('with its next sign of life a node hears of a cancel that it was not told of', async () => {
  const node = new Node(10);
  await node.start();
  await node.accept(message('msg_a'));
  await settled();
  await node.store.cancel('acc_1', ['msg_a'], node.clock.now(), node.clock.now() + 1000);
  await settled();
  assert.deepEqual(node.sender.toldToDrop, []);
  await node.advance(5000);
  assert.deepEqual(
    node.sender.toldToDrop,
    node.sender.sent.map(({ lease }) => lease),
  );
});

test('an engine whose slots are all promised waits for the commit instead of asking in circles', async () => {
  const node = new Node(1);
  await node.start();
  // As from a thread: an answer needs the event loop to come around, which it does not while the engine runs on.
  node.beforeReply = () => new Promise((resolve) => setImmediate(resolve));
  const queued = node.accept(message('msg_a', 'orders'));
  await Promise.resolve();
  await Promise.resolve();
  const promised = node.accept(message('msg_b'));
  await Promise.all([queued, promised]);
  await settled();
  assert.ok(node.claimCalls < 20, `${node.claimCalls} times`);
  assert.deepEqual(
    node.sender.sent.map(({ messageId }) => messageId),
    ['msg_b'],
  );
});

test('an attempt whose callback cannot be made is settled all the same, its slot is free and the fault is told', async () => {
  const node = new Node(1);
  await node.start();
  const { callback } = planned({ callback: callbackTo(CALLBACK_URL) })[0]!;
  assert.ok(callback);
  node.makeId = () => assert.fail('no id can be made');
  await node.accept({ ...message('msg_a'), callback });
  await settled();
  node.sender.end(node.sender.sent[0]!, ANSWERED);
  await settled();
  assert.equal(await node.stateOf('msg_a'), 'delivered');
  assert.equal(node.engine.attemptsInFlight, 0);
  assert.match(String(node.troubles[0]), /no id can be made/);
  await node.accept(message('msg_b'));
  await settled();
  assert.equal(node.sender.sent.length, 2, 'the slot is free');
});

test('an attempt for which nothing can be decided leaves a dead letter that says so', async () => {
  const node = new Node(1);
  await node.start();
  await node.accept(message('msg_a'));
  await settled();
  // Headers that a decision cannot read: for a 500 it looks at them.
  const broken = { ...ANSWERED, status: 500, headers: [null] as never };
  node.sender.end(node.sender.sent[0]!, broken);
  await settled();
  const stored = await node.store.getMessage('acc_1', 'msg_a', 'outline');
  assert.equal(stored?.message.state, 'failed');
  assert.match(stored?.message.failure ?? '', /internal error/);
  assert.equal(node.engine.attemptsInFlight, 0);
});
