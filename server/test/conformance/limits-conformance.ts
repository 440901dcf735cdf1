// Whatever happens in whatever order: no flow key has more on their way or starts more in a period than it may, no
// order key has two under way or starts one before its turn, and when the limits allow, everything is delivered.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Claim, NewMessage } from '../../src/rules/delivery/message.ts';
import type { FlowLimits } from '../../src/rules/lines/flow-control.ts';
import { lengthOf } from '../support/campaign.ts';
import { countStates } from '../support/count-states.ts';
import { ACCOUNT, ERROR, INTERRUPTED, message, NOW, OK, REFUSED, RETENTION, settlementOf } from './given.ts';
import { type HarnessFactory, type Node, withNodes } from './harness.ts';

const SEED = Number(process.env.MODEL_SEED ?? 1);
const RUNS = Number(process.env.MODEL_RUNS ?? lengthOf({ short: 30, rest: 80, whole: 200 }));

const FLOW_KEYS: Readonly<Record<string, FlowLimits>> = {
  few: { parallelism: 2, rate: null, periodMs: 1000 },
  slow: { parallelism: null, rate: 2, periodMs: 3000 },
  both: { parallelism: 1, rate: 3, periodMs: 2000 },
};
const QUEUE = 'q';
const PARALLELISM = 2;
const SLOTS = 3;
const OUTCOMES = [OK, OK, ERROR, INTERRUPTED, REFUSED];

interface Draft {
  readonly flowKey: string | null;
  readonly orderKey: string | null;
  readonly delayMs: number;
}

type Action =
  | { readonly kind: 'accept'; readonly drafts: readonly Draft[] }
  | { readonly kind: 'claim'; readonly by: number }
  | { readonly kind: 'settle' | 'release' | 'cancel'; readonly which: number }
  | { readonly kind: 'pause'; readonly flowKey: string; readonly isPaused: boolean }
  | { readonly kind: 'pauseQueue'; readonly isPaused: boolean }
  | { readonly kind: 'advance'; readonly ms: number };

const which = fc.nat(30);
const flowKey = fc.constantFrom(...Object.keys(FLOW_KEYS));
const draft: fc.Arbitrary<Draft> = fc.oneof(
  fc.record({ flowKey, orderKey: fc.constant(null), delayMs: fc.constantFrom(0, 0, 700) }),
  fc.record({
    flowKey: fc.constant(null),
    orderKey: fc.constantFrom('x', 'y', 'z', null),
    delayMs: fc.constantFrom(0, 0, 700),
  }),
);
const claim = fc.record({ kind: fc.constant('claim' as const), by: fc.nat(1) });
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constant('accept' as const), drafts: fc.array(draft, { minLength: 1, maxLength: 4 }) }),
  claim,
  claim,
  fc.record({
    kind: fc.constantFrom('settle' as const, 'settle' as const, 'release' as const, 'cancel' as const),
    which,
  }),
  fc.record({ kind: fc.constant('pause' as const), flowKey, isPaused: fc.boolean() }),
  fc.record({ kind: fc.constant('pauseQueue' as const), isPaused: fc.boolean() }),
  fc.record({ kind: fc.constant('advance' as const), ms: fc.constantFrom(1, 400, 1000, 3000) }),
);

/** Plays actions on two nodes and checks the limits after each claim. */
class Play {
  now = NOW;
  readonly #nodes: readonly [Node, Node];
  readonly #open: NewMessage[] = [];
  /** To be cancelled, while they are claimed. */
  readonly #cancelling = new Set<string>();
  #claims: (Claim & { readonly window: number | null })[] = [];
  /** Starts by flow key and the window the key says they are in. */
  readonly #starts = new Map<string, Map<number, number>>();

  constructor(a: Node, b: Node) {
    this.#nodes = [a, b];
  }

  async do(action: Action): Promise<void> {
    const { store } = this.#nodes[0];
    switch (action.kind) {
      case 'accept': {
        const batch = action.drafts.map((each) => this.#message(each));
        this.#open.push(...batch);
        await store.accept(batch, this.now);
        return;
      }
      case 'claim':
        return this.claim(action.by);
      case 'settle': {
        const [taken] = this.#claims.splice(action.which % this.#claims.length, 1);
        if (taken) await this.settle(taken, OUTCOMES[action.which % OUTCOMES.length]!);
        return;
      }
      case 'release': {
        const [taken] = this.#claims.splice(action.which % this.#claims.length, 1);
        if (!taken) return;
        const holder = this.#nodes.find(({ name }) => taken.lease.startsWith(`${name}.`))!;
        await holder.store.release([taken.lease], this.now);
        if (this.#cancelling.delete(taken.message.id)) this.#end([taken.message.id]);
        if (taken.message.flow && taken.window !== null) this.#count(taken.message.flow.key, taken.window, -1);
        return;
      }
      case 'cancel': {
        const target = this.#open[action.which % this.#open.length];
        if (!target) return;
        const { cancelled, requested } = await store.cancel(ACCOUNT, [target.id], this.now, this.now + RETENTION);
        this.#end(cancelled);
        for (const id of requested) this.#cancelling.add(id);
        return;
      }
      case 'pause':
        await this.#nodes[1].store.pauseFlowKey(ACCOUNT, action.flowKey, action.isPaused, this.now);
        return;
      case 'pauseQueue':
        await store.saveQueue(ACCOUNT, QUEUE, { isPaused: action.isPaused, parallelism: PARALLELISM }, this.now);
        return;
      case 'advance':
        this.now += action.ms;
    }
  }

  async claim(by: number): Promise<void> {
    const claims = await this.#nodes[by]!.claims(this.now, { slots: SLOTS });
    for (const each of claims) await this.#start(each);
    for (const [key, limits] of Object.entries(FLOW_KEYS)) {
      const active = this.#claims.filter(({ message: { flow } }) => flow?.key === key).length;
      assert.ok(limits.parallelism === null || active <= limits.parallelism, `${active} of ${key} at once`);
    }
    const inQueue = this.#claims.filter(({ message: { queueName } }) => queueName !== null);
    assert.ok(inQueue.length <= PARALLELISM, `${inQueue.length} of the queue at once`);
  }

  async #start(started: Claim): Promise<void> {
    const { flow, orderKey } = started.message;
    let window: number | null = null;
    if (flow) {
      const key = (await this.#nodes[0].store.getFlowKey(ACCOUNT, flow.key))!;
      window = key.windowStartAt;
      const { rate, periodMs } = flow.limits;
      if (rate !== null) {
        assert.ok(window <= this.now && this.now < window + periodMs, 'a start lies in the window of its key');
        for (const other of this.#starts.get(flow.key)?.keys() ?? []) {
          assert.ok(other === window || Math.abs(other - window) >= periodMs, 'windows do not overlap');
        }
        assert.ok(this.#count(flow.key, window, 1) <= rate, `more than ${rate} starts of ${flow.key} in a window`);
      }
    }
    if (orderKey !== null) {
      const line = this.#open.filter((each) => each.orderKey === orderKey).toSorted((a, b) => a.dueAt - b.dueAt);
      assert.equal(line[0]?.id, started.message.id, 'only the first of its key may start');
    }
    this.#claims.push({ ...started, window });
  }

  #count(key: string, window: number, by: number): number {
    const windows = this.#starts.get(key) ?? new Map<number, number>();
    this.#starts.set(key, windows);
    const count = (windows.get(window) ?? 0) + by;
    // A window whose starts were all given back has not begun.
    if (count === 0) windows.delete(window);
    else windows.set(window, count);
    return count;
  }

  async settle(settled: Claim, outcome: (typeof OUTCOMES)[number]): Promise<void> {
    const settlement = settlementOf(settled, outcome, this.now);
    const [result] = await this.#nodes[0].store.settle([settlement], this.now);
    const isOver = result === 'cancelled' || (result === 'settled' && settlement.next.state !== 'pending');
    if (isOver) this.#end([settled.message.id]);
  }

  #end(ids: readonly string[]): void {
    for (const id of ids)
      this.#open.splice(
        this.#open.findIndex((each) => each.id === id),
        1,
      );
    this.#claims = this.#claims.filter(({ message: { id } }) => !ids.includes(id));
  }

  /** Lifts every pause and goes on, by what the store says is next, until all is delivered. */
  async finish(): Promise<void> {
    for (const key of Object.keys(FLOW_KEYS)) await this.#nodes[0].store.pauseFlowKey(ACCOUNT, key, false, this.now);
    await this.#nodes[0].store.saveQueue(ACCOUNT, QUEUE, { isPaused: false, parallelism: PARALLELISM }, this.now);
    for (let turn = 0; this.#open.length > 0; turn += 1) {
      assert.ok(turn < 1000, `${this.#open.length} messages never end`);
      await this.claim(turn % 2);
      const claims = this.#claims.splice(0);
      for (const each of claims) await this.settle(each, OK);
      if (claims.length > 0) continue;
      const { claims: more, nextDueAt } = await this.#nodes[turn % 2]!.claimDue(this.now, { slots: SLOTS });
      for (const each of more) await this.#start(each);
      if (more.length === 0) {
        assert.ok(nextDueAt !== null, `stuck: ${this.#open.length} are open and nothing is ever due`);
        this.now = Math.max(this.now, nextDueAt);
      }
    }
    assert.equal((await countStates(this.#nodes[0].store)).pending, 0);
  }

  #message({ flowKey: key, orderKey, delayMs }: Draft): NewMessage {
    return message({
      flow: key === null ? null : { key, limits: FLOW_KEYS[key]! },
      queueName: key === null ? QUEUE : null,
      orderKey,
      createdAt: this.now,
      dueAt: this.now + delayMs,
    });
  }
}

/** `share`: of the runs, for a store on which each takes long. */
export function limitsConformance(name: string, factory: HarnessFactory, share = 1): void {
  test(`${name} keeps every limit, and no message is stuck, for random commands (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 10, maxLength: 60, size: '+1' }), (actions) =>
        withNodes(factory, async ({ a, b }) => {
          const play = new Play(a, b);
          await play.do({ kind: 'pauseQueue', isPaused: false });
          for (const each of actions) await play.do(each);
          await play.finish();
        }),
      ),
      { seed: SEED, numRuns: Math.ceil(RUNS * share) },
    );
  });
}
