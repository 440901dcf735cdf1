// A commit whose answer gets lost: what was leased by it belongs to a node that does not know of it. It is given back
// as soon as the database answers again, and is handed out once.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import pg from 'pg';
import { StoreUnavailable } from '../../src/store/store.ts';
import { ACCOUNT, message, NOW, OK, queued, settlementOf } from '../conformance/given.ts';
import { type Node, withNodes } from '../conformance/harness.ts';
import { ownDatabase } from '../conformance/postgres-harness.ts';

const TTL_MS = 10_000;

type Query = (this: pg.Client, ...args: unknown[]) => Promise<unknown>;
const client = pg.Client.prototype as unknown as { query: Query };
const { query } = client;

afterEach(() => {
  client.query = query;
});

/** The next statement that has `part` in it is carried out, and its answer lost with the connection. */
function loseAnswerTo(part: string): void {
  client.query = async function (...args) {
    const [given] = args;
    const text = typeof given === 'string' ? given : (given as { text: string }).text;
    const answer = await query.apply(this, args);
    if (!text.includes(part)) return answer;
    client.query = query;
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  };
}

async function assertDoubtful(work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error: unknown) => {
    assert.ok(error instanceof StoreUnavailable, String(error));
    assert.equal(error.reason, 'doubtful');
    return true;
  });
}

/** Nobody has it, until the node that holds it without knowing is heard of again. */
async function assertGivenBack(a: Node, b: Node, id: string): Promise<void> {
  assert.deepEqual(await a.claimedIds(NOW), []);
  assert.deepEqual(await b.claimedIds(NOW), []);
  await a.store.heartbeat(a.name, TTL_MS);
  await a.store.orphanedClaims(a.name);
  assert.deepEqual(await a.claimedIds(NOW), [id]);
  assert.deepEqual(await b.claimedIds(NOW), []);
}

test('the next of a queue, leased by a settlement whose answer was lost, is given back', () =>
  withNodes(ownDatabase, async ({ a, b }) => {
    const [head, next] = [queued(), queued()] as const;
    await a.store.accept([head, next], NOW);
    const settlement = settlementOf(await a.claimOne(NOW), OK, NOW);
    loseAnswerTo('COMMIT');
    await assertDoubtful(a.store.settle([settlement], NOW, { takesOver: [ACCOUNT] }));
    assert.equal(await a.stateOf(next), 'claimed');
    assert.deepEqual(await a.store.settle([settlement], NOW, { takesOver: [ACCOUNT] }), ['lost']);
    await assertGivenBack(a, b, next.id);
  }));

test('what was leased by a claim whose answer was lost is given back', () =>
  withNodes(ownDatabase, async ({ a, b }) => {
    const due = message();
    await b.store.accept([due], NOW);
    loseAnswerTo('COMMIT');
    await assertDoubtful(a.claims(NOW));
    assert.equal(await a.stateOf(due), 'claimed');
    await assertGivenBack(a, b, due.id);
  }));

test('what was leased by an acceptance whose answer was lost is given back', () =>
  withNodes(ownDatabase, async ({ a, b }) => {
    // So that it has room to offer.
    await a.claims(NOW);
    const due = message();
    loseAnswerTo('INSERT INTO messages');
    await assertDoubtful(a.store.accept([due], NOW));
    assert.equal(await a.stateOf(due), 'claimed');
    await assertGivenBack(a, b, due.id);
  }));
