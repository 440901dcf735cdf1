// One account that asks for much at once of a database that is slow with it: another account waits for one piece of that
// work at most, what the node does by itself not at all, and nobody who waits is told that the database is away.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { Store } from '../../../src/store/ports/store.ts';
import { ACCOUNT_CONNECTIONS } from '../../../src/store/postgres/sessions/connections.ts';
import { withTurnsOfAccounts } from '../../../src/store/turns/in-turn.ts';
import { ACCOUNT as HOSTILE, message, NOW, OTHER_ACCOUNT as QUIET } from '../../conformance/given.ts';
import { withNode } from '../../conformance/harness.ts';
import { ownDatabase } from '../../conformance/postgres-harness.ts';
import { waitFor } from '../../support/wait.ts';

const ASKED = 50;
/** Connections that write: those of accounts, and four for the node itself. */
const WRITERS = ACCOUNT_CONNECTIONS.changes + 4;
/** Longer than a new connection may take. */
const PATIENCE_MS = 10_000;

type Query = (this: pg.Client, ...args: unknown[]) => Promise<unknown>;
const client = pg.Client.prototype as unknown as { query: Query };
const { query } = client;

interface Held {
  waiting(): number;
  letGo(count: number): void;
}

/** No statement about the hostile account goes on before it is let go. */
function withHeld(work: (store: Store, held: Held, bare: Store) => Promise<void>): Promise<void> {
  return withNode(ownDatabase, async ({ a }) => {
    const waiting: (() => void)[] = [];
    const letGo = (count: number) => {
      for (const resolve of waiting.splice(0, count)) resolve();
    };
    client.query = async function (...args) {
      const { values } = args[0] as { values?: readonly unknown[] };
      if (values?.includes(HOSTILE)) await new Promise<void>((resolve) => waiting.push(resolve));
      return query.apply(this, args);
    };
    try {
      await work(
        withTurnsOfAccounts(a.store, ACCOUNT_CONNECTIONS, () => performance.now()),
        { waiting: () => waiting.length, letGo },
        a.store,
      );
    } finally {
      client.query = query;
      letGo(ASKED);
    }
  });
}

/** All pieces that one account asks for, and how they end: nobody waits for that here. */
function askOften(verb: () => Promise<unknown>): void {
  for (let asked = 0; asked < ASKED; asked += 1) verb().catch(() => {});
}

/** What the node does by itself is done, however much of the account waits. */
async function assertNodeGoesOn(store: Store): Promise<void> {
  assert.equal(await store.findToken(new Uint8Array(32), NOW), null);
  const { duplicates } = await store.accept([message({ id: 'msg_1', accountId: QUIET, queueName: 'q' })], NOW);
  assert.deepEqual(duplicates, [null]);
  await store.heartbeat('nod_1', 10_000);
  await store.runningJobs();
}

/** Lets the hostile account's work go on, one statement at a time, until the other's is done; answers how many those were. */
async function statementsBefore(own: Promise<unknown>, held: Held): Promise<number> {
  let isDone = false;
  const done = own.then(() => {
    isDone = true;
  });
  const full = held.waiting();
  let statements = 0;
  while (!isDone) {
    held.letGo(1);
    statements += 1;
    await waitFor('the next statement of either', () => isDone || held.waiting() === full);
  }
  await done;
  await waitFor('the place to be taken again', () => held.waiting() === full);
  return statements;
}

test('one account looks up and changes much at once, and the database is slow with it: others go on', () =>
  withHeld(async (store, held) => {
    const { lookUps, changes } = ACCOUNT_CONNECTIONS;
    askOften(() => store.journalEnd(HOSTILE));
    await waitFor('its look-ups to begin', () => held.waiting() >= lookUps);
    askOften(() => store.deleteSchedule(HOSTILE, 'none'));
    await waitFor('its changes to begin', () => held.waiting() >= lookUps + changes);
    await assertNodeGoesOn(store);
    assert.equal(held.waiting(), lookUps + changes, 'it has as many connections as it may, and no more');
    const lookedUp = await statementsBefore(store.getTopic(QUIET, 'none'), held);
    const changed = await statementsBefore(store.deleteSchedule(QUIET, 'none'), held);
    assert.ok(lookedUp + changed < ASKED / 2, `${lookedUp} and ${changed} statements of it came before`);
  }));

test('a sign of life does not wait for connections that all write on', () =>
  withHeld(async (_store, held, bare) => {
    askOften(() => bare.deleteSchedule(HOSTILE, 'none'));
    await waitFor('every connection that writes to be in use', () => held.waiting() === WRITERS);
    const beat = bare.heartbeat('nod_1', 10_000).then(() => 'beat');
    assert.equal(await Promise.race([beat, wait(PATIENCE_MS, 'late', { ref: false })]), 'beat');
    assert.equal(held.waiting(), WRITERS);
  }));

test('who waits for a connection that others use gets it when it is free, and is not told that the database is away', (t) =>
  withHeld(async (store, held) => {
    askOften(() => store.getAccount(HOSTILE));
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const own = store.getAccount(QUIET);
    t.mock.timers.tick(PATIENCE_MS);
    t.mock.timers.reset();
    const answered = assert.doesNotReject(own);
    await waitFor('the connections to be in use', () => held.waiting() > 0);
    client.query = query;
    held.letGo(ASKED);
    await answered;
    assert.equal((await own)?.id, QUIET);
  }));

/** What the node does by itself, what is written in groups, and who somebody is. All else that is asked takes turns. */
const WITHOUT_A_LINE: ReadonlySet<string> = new Set([
  ...[
    'accept',
    'offer',
    'onClaims',
    'claimDue',
    'claimAlone',
    'settle',
    'release',
    'heartbeat',
    'onWork',
    'onJournal',
    'onAccess',
    'close',
  ],
  ...[
    'storedTime',
    'whyNotWritable',
    'scheduleTimes',
    'setScheduleTimes',
    'dueSchedules',
    'fireSchedules',
    'runningJobs',
  ],
  ...['dueAlerts', 'alertFacts', 'notifyAlerts', 'dueExpiries', 'expireMessages'],
  ...['runJobStep', 'orphanedClaims', 'strayClaims', 'recovery', 'foldActivity', 'listNodes', 'getAccount'],
  ...['deleteJournal', 'deleteDeduplication', 'deleteExpired', 'findToken', 'findSession', 'areAdmitted'],
  ...['deleteUsage', 'deleteIdleQueues'],
  ...[
    'addHostHealth',
    'noteHosts',
    'listParked',
    'ownParked',
    'endOpening',
    'deleteIdleHosts',
    'deleteIdleFlowKeys',
    'deleteOldJobs',
    'foldStored',
    'freeBytesInside',
    'recountStored',
    'storedAccounts',
    'dueAcks',
    'dueAttempt',
    'readMessage',
    'serviceKey',
    'countBacklog',
    'countReady',
    'deleteAudit',
    'deleteAccountPiece',
  ],
  // One row, before a publish is refused.
  'storedBytes',
  ...['accountsKnownBy', 'createFirstAdmin', 'revokeHashes', 'cancelledClaims', 'confirmCancels', 'onCancel'],
]);

test('each verb of the store takes turns, unless it is known why not', () =>
  withHeld(async (store, _held, bare) => {
    const direct = Object.keys(bare).filter((verb) => store[verb as keyof Store] === bare[verb as keyof Store]);
    assert.deepEqual(new Set(direct), WITHOUT_A_LINE);
  }));
