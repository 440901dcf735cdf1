// What an adapter must bring to be tested, and the one or two nodes every test of the suite starts with.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Claim, NewMessage } from '../../src/rules/delivery/message.ts';
import type { Store } from '../../src/store/ports/store.ts';
import type { AccountRows } from '../store/account-rows.ts';
import { type StoredBodies, wrongBodies } from '../store/stored-bodies.ts';
import { type Claimed, claimDue } from '../support/claim-due.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { ACCOUNT, KEYS, limits, NOW, OTHER_ACCOUNT, type SomeLimits } from './given.ts';

export interface StoreHarness {
  /** One more node over the same durable state. */
  open(node: string): Store | Promise<Store>;
  /** Lets time pass on the clock by which the store judges who is alive. */
  letTimePass(ms: number): Promise<void>;
  /** Looks into the tables, past all nodes. */
  storedBodies(): Promise<StoredBodies>;
  /** Looks into every table that names accounts: in which of them the account has rows, and how many. */
  rowsOf(accountId: string): Promise<AccountRows>;
  /** Closes every node and throws the state away. */
  close(): Promise<void>;
}

/** Makes an empty store. The nodes read the time, where they must, from `clock`. */
export type HarnessFactory = (options: { readonly clock: ManualClock }) => Promise<StoreHarness>;

/** A store and the name under which it claims. */
export class Node {
  readonly name: string;
  readonly store: Store;

  constructor(name: string, store: Store) {
    this.name = name;
    this.store = store;
  }

  claimDue(now: number, some: SomeLimits = {}): Promise<Claimed> {
    return claimDue(this.store, now, limits(some));
  }

  async claims(now: number, some: SomeLimits = {}): Promise<readonly Claim[]> {
    return (await this.claimDue(now, some)).claims;
  }

  /** The ids of what was claimed, in the order it was handed out. */
  async claimedIds(now: number, some: SomeLimits = {}): Promise<string[]> {
    return idsOf(await this.claims(now, some));
  }

  /** Claims where exactly one message can be had. */
  async claimOne(now: number): Promise<Claim> {
    const claims = await this.claims(now);
    if (claims.length !== 1) throw new Error(`expected one claim, got ${claims.length}`);
    return claims[0]!;
  }

  async stateOf(message: NewMessage): Promise<string | null> {
    return (await this.store.getMessage(message.accountId, message.id))?.message.state ?? null;
  }
}

export function idsOf(claims: readonly Claim[]): string[] {
  return claims.map((claim) => claim.message.id);
}

export interface OneNode {
  readonly a: Node;
  open(name: string): Promise<Node>;
  letTimePass(ms: number): Promise<void>;
  storedBodies(): Promise<StoredBodies>;
  rowsOf(accountId: string): Promise<AccountRows>;
}

export interface TwoNodes extends OneNode {
  readonly b: Node;
}

export interface StoreTest {
  (name: string, body: (nodes: OneNode) => Promise<void>): void;
  /** With a second node that was there from the beginning. To open one takes long on a database. */
  onTwo(name: string, body: (nodes: TwoNodes) => Promise<void>): void;
}

/** Runs `body` with a fresh store, one node over it and two accounts in it. */
export async function withNode(factory: HarnessFactory, body: (nodes: OneNode) => Promise<void>): Promise<void> {
  const harness = await factory({ clock: new ManualClock(NOW) });
  try {
    await runOn(harness, await openNode(harness, 'nod_a'), body);
  } finally {
    await harness.close();
  }
}

/** The same with a second node. */
export async function withNodes(factory: HarnessFactory, body: (nodes: TwoNodes) => Promise<void>): Promise<void> {
  const harness = await factory({ clock: new ManualClock(NOW) });
  try {
    const [a, b] = await Promise.all([openNode(harness, 'nod_a'), openNode(harness, 'nod_b')]);
    await runOn(harness, a, (nodes) => body({ ...nodes, b }));
  } finally {
    await harness.close();
  }
}

async function openNode(harness: StoreHarness, name: string): Promise<Node> {
  return new Node(name, await harness.open(name));
}

async function runOn(harness: StoreHarness, a: Node, body: (nodes: OneNode) => Promise<void>): Promise<void> {
  await a.store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  await a.store.createAccount({ id: OTHER_ACCOUNT, name: 'other', tier: 'paid', createdAt: NOW }, KEYS);
  const { letTimePass, storedBodies, rowsOf } = harness;
  await body({ a, open: (name) => openNode(harness, name), letTimePass, storedBodies, rowsOf });
  assert.deepEqual(wrongBodies(await storedBodies()), []);
}

/** Only a failing test takes so long: a busy machine must not be taken for a fault. */
const LIMIT_MS = 180_000;

export function storeTests(factory: HarnessFactory): StoreTest {
  // A body that waits in vain is given up and never ends. Closed all the same: open nodes would keep the process.
  const start = async (t: TestContext, ...names: readonly string[]) => {
    const harness = await factory({ clock: new ManualClock(NOW) });
    t.after(() => harness.close(), { timeout: LIMIT_MS });
    return { harness, nodes: await Promise.all(names.map((name) => openNode(harness, name))) };
  };
  const one: (name: string, body: (nodes: OneNode) => Promise<void>) => void = (name, body) => {
    test(name, { timeout: LIMIT_MS }, async (t) => {
      const { harness, nodes } = await start(t, 'nod_a');
      await runOn(harness, nodes[0]!, body);
    });
  };
  const onTwo: StoreTest['onTwo'] = (name, body) => {
    test(name, { timeout: LIMIT_MS }, async (t) => {
      const { harness, nodes } = await start(t, 'nod_a', 'nod_b');
      await runOn(harness, nodes[0]!, (some) => body({ ...some, b: nodes[1]! }));
    });
  };
  return Object.assign(one, { onTwo });
}
