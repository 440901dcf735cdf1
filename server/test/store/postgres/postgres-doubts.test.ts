// A commit whose answer gets lost: what was leased by it belongs to a node that does not know of it. It is given back
// as soon as the database responds again, and is handed out once.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import pg from 'pg';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { type Clock, systemWorld } from '../../../src/runtime/world.ts';
import { StoreUnavailable } from '../../../src/store/ports/store.ts';
import { Doubts } from '../../../src/store/postgres/groups/doubts.ts';
import type { Database } from '../../../src/store/postgres/sessions/database.ts';
import { CommitInDoubt } from '../../../src/store/postgres/sessions/errors.ts';
import { openPostgresStore } from '../../../src/store/postgres/sessions/open.ts';
import { proxiedDatabase } from '../../cluster/proxied-database.ts';
import { ACCOUNT, KEYS, message, NOW, OK, queued, settlementOf } from '../../conformance/given.ts';
import { Node, withNodes } from '../../conformance/harness.ts';
import { ownDatabase } from '../../conformance/postgres-harness.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import { waitFor } from '../../support/wait.ts';

const TTL_MS = 10_000;

type Query = (this: pg.Client, ...args: unknown[]) => Promise<unknown>;
const client = pg.Client.prototype as unknown as { query: Query };
const { query } = client;

afterEach(() => {
  client.query = query;
});

/** The next statement that has `part` in it is carried out, and what becomes of its answer is in the hands of `then`. */
function onAnswerTo(part: string, then: (answer: unknown) => unknown): void {
  client.query = async function (...args) {
    const [given] = args;
    // A ping has no text.
    const text = typeof given === 'string' ? given : ((given as { text?: string }).text ?? '');
    const answer = await query.apply(this, args);
    if (!text.includes(part)) return answer;
    client.query = query;
    return then(answer);
  };
}

/** Its answer is lost with the connection. */
function loseAnswerTo(part: string, onLost = () => {}): void {
  onAnswerTo(part, () => {
    onLost();
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  });
}

/** Its answer comes late. */
function delayAnswerTo(part: string, onLate = () => {}): void {
  onAnswerTo(part, (answer) => {
    onLate();
    return answer;
  });
}

/** The same clock, of which one reading can be replaced. */
function delegating(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    wallNow: () => clock.wallNow(),
    machineNow: () => clock.machineNow(),
    asleepMs: () => clock.asleepMs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (ms, fire) => clock.after(ms, fire),
    soon: (fire) => clock.soon(fire),
    shortly: (fire) => clock.shortly(fire),
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

/** Which statement a node stopped at, and what becomes of its answer. */
const STILL: readonly (readonly [string, string, typeof loseAnswerTo])[] = [
  ['was cut off', 'BEGIN', loseAnswerTo],
  ['had looked what is due', 'schedule_at', delayAnswerTo],
];

for (const [what, part, hinder] of STILL) {
  test(`a claim that ${what} while its node stood still is not made with the time from before`, async (t) => {
    const server = await sharedServer();
    const name = await server.createDatabase();
    t.after(() => server.dropDatabase(name));
    const { clock } = systemWorld();
    let passedMs = 0;
    const stoodStill = (ms: number) => () => {
      passedMs += ms;
    };
    const timers = { ...delegating(clock), monotonicMs: () => clock.monotonicMs() + passedMs };
    const a = new Node('nod_a', await openPatiently({ timers, knownForMs: 0, url: server.url(name), node: 'nod_a' }));
    t.after(() => a.store.close());
    await a.store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
    const due = message();
    await a.store.accept([due], NOW);
    await a.store.heartbeat(a.name, TTL_MS);
    hinder(part, stoodStill(18_000));
    assert.deepEqual(await a.claims(NOW), [], 'others take it for dead by now');
    assert.notEqual(await a.stateOf(due), 'claimed');
    await a.store.heartbeat(a.name, TTL_MS);
    hinder(part, stoodStill(3000));
    const [late] = await a.claims(NOW);
    assert.ok(late!.message.claimedAt! >= NOW + 3000, 'it bears the time at which it was made');
    await a.store.release([late!.lease], NOW);
    // A moment does not count.
    hinder(part, stoodStill(10));
    const [claim] = await a.claims(NOW);
    assert.equal(claim!.message.claimedAt, NOW);
  });
}

/** So late that nobody could expect it any more: the time by which a node forgets things has gone on by so much. */
const LATE_MS = 75_000;

test('an acceptance that the database got 75 s late is given back', async (t) => {
  const { url, direct, proxy } = await proxiedDatabase(t);
  const { clock } = systemWorld();
  let passedMs = 0;
  const timers = { ...delegating(clock), monotonicMs: () => clock.monotonicMs() + passedMs };
  const open = { timers, log: () => {}, knownForMs: 0 };
  const a = new Node('nod_a', await openPostgresStore({ ...open, url, node: 'nod_a' }));
  t.after(() => a.store.close());
  const b = new Node('nod_b', await openPatiently({ ...open, url: direct, node: 'nod_b' }));
  t.after(() => b.store.close());
  await a.store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  // So that it has room to offer, and a connection by which it accepts.
  await a.claims(NOW);
  await a.store.accept([message({ dueAt: NOW + TTL_MS })], NOW);
  proxy.holdPresent();
  const late = message();
  await assertDoubtful(a.store.accept([late], NOW));
  await waitFor('the database to answer again', async () => {
    await a.store.heartbeat(a.name, TTL_MS).catch(() => null);
    return a.store.orphanedClaims(a.name).then(
      () => true,
      () => false,
    );
  });
  passedMs = LATE_MS;
  await a.store.orphanedClaims(a.name);
  await a.store.orphanedClaims(a.name);
  assert.equal(await b.stateOf(late), null);
  proxy.heal();
  await waitFor('the late acceptance', async () => (await b.stateOf(late)) === 'claimed');
  await assertGivenBack(a, b, late.id);
});

test('no more doubts are kept than the table allows: the oldest go', async () => {
  const asked: (readonly string[])[] = [];
  // Finds nothing claimed, and the session of every doubt still there.
  const database = {
    all: async (sql: string, ...values: readonly string[][]) => {
      if (sql.includes('pg_stat_activity')) return [{ pid: 7 }];
      if (!sql.includes('debounce_key')) asked.push(values[1]!);
      return [];
    },
  } as unknown as Database;
  const max = eachMax('doubtedLeases');
  const doubts = new Doubts();
  const error = Object.assign(new CommitInDoubt(new Error('lost')), { session: 7 });
  const leases = Array.from({ length: max + 5 }, (_, index) => `nod_a.${index}`);
  for (const lease of leases) doubts.addLeases([lease], error);
  assert.equal(await doubts.release(database, 'nod_a', NOW), false);
  assert.deepEqual(asked, [leases.slice(5)]);
  assert.equal(doubts.isEmpty, false);
  doubts.addLeases(['nod_a.refused'], new StoreUnavailable('unavailable', 'away'));
  await doubts.release(database, 'nod_a', NOW);
  assert.ok(!asked[1]!.includes('nod_a.refused'), 'what was certainly not written leaves no doubt');
});
