// A search runs in pieces. Between two of them others have their turn; a look-up does not even wait for one; and no piece
// begins for a caller that has gone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import { BUDGETS } from '../../../src/rules/limits/budgets.ts';
import { type Rider, type RiderOptions, startRider } from '../../support/harness.ts';
import { RawCaller } from '../../support/raw-caller.ts';
import type { Cleanup } from '../../support/receiver.ts';
import { isOnPostgres, onlySqlite } from '../../support/store-under-test.ts';
import { waitFor } from '../../support/wait.ts';
import { poolUsed } from './pools.ts';

const PIECE_ROWS = BUDGETS.pieceRows.each!;
/** A search looks at all of them: in five pieces, of three statements each on PostgreSQL. */
const MESSAGES = 5 * PIECE_ROWS;
const STATEMENTS = 4;
const LANES = 4;
const SEARCH = '/v2/messages?text=nowhere';

interface Pieces {
  /** How many have reached the store: reads, or statements on PostgreSQL. */
  readonly begun: number;
  waiting(): number;
  letGo(count?: number): void;
  /** From now on nothing waits. */
  letAllGo(): void;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

interface Packed {
  readonly values?: readonly unknown[];
}

function isRead(message: unknown, accountId: string): boolean {
  const values = (message as Packed).values ?? [];
  return values.some((each) => {
    const { verb, args } = (each ?? {}) as { verb?: string; args?: readonly unknown[] };
    return verb === 'searchMessages' && args?.[0] === accountId;
  });
}

function isStatement(query: unknown, accountId: string): boolean {
  const { text = '', values = [] } = query as { text?: string; values?: readonly unknown[] };
  return values.includes(accountId) && /FROM messages m\b/.test(text);
}

/** What is searched for an account waits on its way to the store: to the thread that reads, or to PostgreSQL. */
function holdPieces(t: Cleanup, accountId: string): Pieces {
  const waiting: (() => void)[] = [];
  let begun = 0;
  let isHeld = true;
  const hold = (isMeant: (first: unknown) => boolean, target: object, name: string) => {
    const methods = target as Record<string, Method>;
    const method = methods[name]!;
    methods[name] = function (...args) {
      if (!isMeant(args[0])) return method.apply(this, args);
      begun += 1;
      if (!isHeld) return method.apply(this, args);
      return new Promise<void>((resolve) => waiting.push(resolve)).then(() => method.apply(this, args));
    };
    t.after(() => {
      methods[name] = method;
    });
  };
  if (isOnPostgres) hold((query) => isStatement(query, accountId), pg.Client.prototype, 'query');
  else hold((message) => isRead(message, accountId), Worker.prototype, 'postMessage');
  const letGo = (count = waiting.length) => {
    for (const resolve of waiting.splice(0, count)) resolve();
  };
  const letAllGo = () => {
    isHeld = false;
    letGo();
  };
  t.after(letAllGo);
  return {
    get begun() {
      return begun;
    },
    waiting: () => waiting.length,
    letGo,
    letAllGo,
  };
}

interface Neighbours {
  readonly rider: Rider;
  /** Has much to search in. */
  readonly busy: { readonly token: string; readonly accountId: string };
  readonly other: { readonly token: string };
  /** A message of the other. */
  readonly id: string;
}

async function startNeighbours(t: Cleanup, options: RiderOptions = {}): Promise<Neighbours> {
  const rider = await startRider(t, options);
  const busy = await rider.account('busy', 'paid');
  const other = await rider.account('other');
  const headers = { 'Service-Delay': '1d' };
  for (let n = 0; n < MESSAGES; n += PIECE_ROWS) {
    const elements = Array.from({ length: PIECE_ROWS }, () => ({ destination: 'http://127.0.0.1:1/', headers }));
    assert.equal((await rider.batch(elements, { token: busy.token })).status, 201);
  }
  const id = await rider.published('http://127.0.0.1:1/', { token: other.token, headers });
  return { rider, busy, other, id };
}

const request = (path: string, token: string) =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;

/** At once, each on a connection of its own. */
async function search(t: Cleanup, { rider, busy }: Neighbours, count: number): Promise<RawCaller[]> {
  const callers: RawCaller[] = [];
  for (let n = 0; n < count; n += 1) callers.push((await RawCaller.dial(t, rider.url)).listen());
  for (const caller of callers) caller.say(request(SEARCH, busy.token));
  return callers;
}

/** Each lane has sent one piece of an account at most, before it knew of another. */
async function assertOthersGoOn(t: Cleanup, neighbours: Neighbours, lanes = 1): Promise<void> {
  const { rider, busy, other, id } = neighbours;
  await waitFor('all lanes to listen', async () => {
    const { text } = await rider.call('GET', '/metrics', { token: null });
    return lanes === 1 || text.includes(`\npostrider_lanes ${lanes}\n`);
  });
  const pieces = holdPieces(t, busy.accountId);
  const callers = await search(t, neighbours, 4 + lanes);
  await waitFor('a piece of the searches', () => pieces.waiting() > 0);
  // Meanwhile that piece does not end.
  const look = await rider.call('GET', `/v2/messages/${id}`, { token: other.token });
  assert.equal(look.status, 200);

  const before = pieces.begun;
  let isListed = false;
  const listed = rider.call('GET', '/v2/messages', { token: other.token }).then(({ status }) => {
    isListed = true;
    return status;
  });
  let letGo = 0;
  await waitFor('the list of the other account', () => {
    if (isListed) return true;
    letGo += Math.min(1, pieces.waiting());
    pieces.letGo(1);
    return false;
  });
  assert.equal(await listed, 200);
  const most = isOnPostgres ? 2 * STATEMENTS : lanes + 1;
  assert.ok(letGo <= most, `${letGo} pieces of the other account went before, of ${before} that had begun`);
  pieces.letAllGo();
  for (const caller of callers) await caller.hears(200);
  assert.ok(pieces.begun >= callers.length * (MESSAGES / PIECE_ROWS), `${pieces.begun} pieces`);
}

test('while one account searches, another is answered: at once when it looks something up, after a piece when it lists', async (t) =>
  assertOthersGoOn(t, await startNeighbours(t)));

test('the same with four lanes, which share the threads that read', { skip: onlySqlite }, async (t) =>
  assertOthersGoOn(t, await startNeighbours(t, { command: 'serve', flags: ['--lanes', String(LANES)] }), LANES),
);

test('the pieces of a search stop when its caller has gone, and what waits for its turn never begins', async (t) => {
  const neighbours = await startNeighbours(t);
  const { rider, busy } = neighbours;
  const pieces = holdPieces(t, busy.accountId);
  const callers = await search(t, neighbours, 6);
  await waitFor('a piece of the searches', () => pieces.waiting() > 0);
  await waitFor('all to be asked', async () => (await poolUsed(rider, 'reads')) === callers.length);
  for (const { socket } of callers) socket.resetAndDestroy();
  await waitFor('the service to hear of it', async () => (await poolUsed(rider, 'requests')) === 0);
  const before = pieces.begun;
  pieces.letAllGo();
  await waitFor('the reads to be given back', async () => (await poolUsed(rider, 'reads')) === 0);
  // On PostgreSQL, each of two pieces that have begun goes on to its end.
  const most = isOnPostgres ? before + 2 * STATEMENTS : 1;
  assert.ok(pieces.begun <= most, `${pieces.begun} pieces`);
});

test('a caller that has closed only its side gets the whole of its search', async (t) => {
  const neighbours = await startNeighbours(t);
  const pieces = holdPieces(t, neighbours.busy.accountId);
  const [caller] = await search(t, neighbours, 1);
  await waitFor('a piece of the search', () => pieces.waiting() > 0);
  caller!.end();
  pieces.letAllGo();
  await caller!.hears(200);
  assert.ok(pieces.begun >= MESSAGES / PIECE_ROWS);
});
