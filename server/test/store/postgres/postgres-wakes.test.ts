// What a message costs the database when many nodes share it: the nodes that can do nothing for it do not look for it.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import pg from 'pg';
import type { Claim } from '../../../src/rules/delivery/message.ts';
import type { Store } from '../../../src/store/ports/store.ts';
import { ACCOUNT, KEYS, limits, NOW, OK, queued, settlementOf } from '../../conformance/given.ts';
import { withClient } from '../../postgres/databases.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import type { Cleanup } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const NODES = 8;
const MESSAGES = 24;
/** Accept, look, claim, body, settle, two notifications of news, and some room. With a look of every node it was 40. */
const COMMITS_MAX = 10;
const TTL_MS = 3_600_000;

type Query = (this: pg.Client, ...args: unknown[]) => Promise<unknown>;
const client = pg.Client.prototype as unknown as { query: Query };
const { query } = client;
const inTransaction = new WeakSet<object>();
let commits = 0;

/** A statement outside a transaction is a transaction of its own. Pings go by time, not by messages. */
client.query = function (...args) {
  const text = typeof args[0] === 'string' ? args[0] : ((args[0] as { text?: string }).text ?? '');
  if (text === 'BEGIN') inTransaction.add(this);
  else if (text === 'COMMIT' || text === 'ROLLBACK') inTransaction.delete(this);
  const isOwn = text !== '' && !text.includes('pg_backend_pid()') && !inTransaction.has(this);
  if (isOwn) commits += 1;
  return query.apply(this, args);
};
after(() => {
  client.query = query;
});

/** Looks for work as the engine of a node does: when it is told that there may be some. */
class WorkingNode {
  readonly store: Store;
  readonly claims: Claim[] = [];
  slots = 10;
  #looking: Promise<void> | null = null;
  #isWoken = false;
  #hasStopped = false;

  constructor(store: Store) {
    this.store = store;
    store.onClaims((claims) => void this.claims.push(...claims));
    store.onWork(() => this.wake());
  }

  get isAsleep(): boolean {
    return this.#looking === null;
  }

  wake(): void {
    if (this.#hasStopped) return;
    this.#isWoken = true;
    this.#looking ??= this.#look();
  }

  async stop(): Promise<void> {
    this.#hasStopped = true;
    await this.#looking;
    await this.store.close();
  }

  async #look(): Promise<void> {
    while (this.#isWoken) {
      this.#isWoken = false;
      this.store.offer(limits({ slots: this.slots }));
      await this.store.claimDue(NOW);
    }
    this.#looking = null;
  }
}

async function startNodes(t: Cleanup): Promise<{ nodes: WorkingNode[]; quiet: () => Promise<void> }> {
  const server = await sharedServer();
  const name = await server.createDatabase();
  const nodes: WorkingNode[] = [];
  // A node that still looks for work in a database that is gone would fail after the test.
  t.after(async () => {
    for (const node of nodes) await node.stop();
    await server.dropDatabase(name);
  });
  const url = server.url(name);
  let heard = 0;
  for (let number = 0; number < NODES; number += 1) {
    const store = await openPatiently({ url, node: `nod_${number}` });
    store.onAccess(() => {
      heard += 1;
    });
    nodes.push(new WorkingNode(store));
  }
  await nodes[0]!.store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  // Twice, so that each knows all of them.
  for (const round of [1, 2]) {
    for (const [number, { store }] of nodes.entries()) await store.heartbeat(`nod_${number}`, TTL_MS + round);
  }
  for (const node of nodes) node.wake();
  /** Everybody has heard what was said before, and has done what came of it. */
  const quiet = async () => {
    heard = 0;
    await withClient(url, (other) => query.call(other, `NOTIFY "postrider public", 'nod_test a'`));
    await waitFor('everybody to hear it', () => heard >= NODES);
    await waitFor('everybody to be asleep', () => nodes.every(({ isAsleep }) => isAsleep));
  };
  await quiet();
  return { nodes, quiet };
}

test(`with ${NODES} nodes, a message that is claimed after its accept costs fewer than ${COMMITS_MAX} commits`, async (t) => {
  const { nodes, quiet } = await startNodes(t);
  commits = 0;
  for (let number = 0; number < MESSAGES; number += 1) {
    const accepting = nodes[number % NODES]!;
    await accepting.store.accept([queued({ queueName: `q${number}` })], NOW);
    const node = await waitFor('its claim', () => nodes.find(({ claims }) => claims.length > 0));
    await node.store.settle([settlementOf(node.claims.pop()!, OK, NOW)], NOW);
    await quiet();
  }
  t.diagnostic(`${(commits / MESSAGES).toFixed(1)} commits a message`);
  assert.ok(commits / MESSAGES < COMMITS_MAX, `${commits / MESSAGES} commits a message`);
});

test('a message for which its own node has no room is claimed by another node at once', async (t) => {
  const { nodes } = await startNodes(t);
  const full = nodes[3]!;
  full.slots = 0;
  full.wake();
  await waitFor('a full node', () => full.isAsleep);
  for (let number = 0; number < 3; number += 1) {
    await full.store.accept([queued({ queueName: `q${number}` })], NOW);
    const node = await waitFor('its claim', () => nodes.find(({ claims }) => claims.length > 0));
    assert.notEqual(node, full);
    await node.store.settle([settlementOf(node.claims.pop()!, OK, NOW)], NOW);
  }
});
