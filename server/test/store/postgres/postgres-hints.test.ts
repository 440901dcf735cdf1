// How often a node on PostgreSQL tells the others that there is news: the less, the more nodes are alive.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { systemWorld } from '../../../src/runtime/world.ts';
import { ACCOUNT, KEYS, message, NOW } from '../../conformance/given.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import { waitFor } from '../../support/wait.ts';

/** So many other nodes that each says something once a second. */
const OTHERS = 99;
const NEWS = 20;

test('one of a hundred nodes tells of much news in two words, where one that is alone tells of it in many', async (t) => {
  const server = await sharedServer();
  const name = await server.createDatabase();
  t.after(() => server.dropDatabase(name));
  const url = server.url(name);
  const { clock } = systemWorld();
  // Time stands still between two words: what comes meanwhile is told together, however slow the machine is.
  let waiting: { readonly ms: number; readonly fire: () => void }[] = [];
  const timers = {
    ...clock,
    after(ms: number, fire: () => void) {
      if (!isHint(ms)) return clock.after(ms, fire);
      const timer = { ms, fire };
      waiting.push(timer);
      return () => {
        waiting = waiting.filter((each) => each !== timer);
      };
    },
  };
  const isHint = (ms: number) => ms === 100 || ms === 1000;
  const store = await openPatiently({ url, node: 'nod_a', timers });
  t.after(() => store.close());
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  const listener = new pg.Client(url);
  await listener.connect();
  // The database goes before it.
  listener.on('error', () => {});
  t.after(() => listener.end().catch(() => {}));
  let heard = 0;
  listener.on('notification', () => {
    heard += 1;
  });
  await listener.query('LISTEN "postrider public"');
  const tell = async () => {
    await store.accept([message({ dueAt: NOW + 60_000 })], NOW);
  };

  // Somebody follows the news at another node.
  let isAwaited = false;
  store.onAccess(() => {
    isAwaited = true;
  });
  await listener.query(`NOTIFY "postrider public", 'nod_other fa'`);
  await waitFor('it to be heard', () => isAwaited && heard === 1);
  heard = 0;
  await store.heartbeat('nod_a', 10_000);
  await tell();
  await waitFor('the first word', () => heard === 1);
  assert.deepEqual(
    waiting.map(({ ms }) => ms),
    [100],
  );
  waiting.shift()!.fire();
  await listener.query(
    `INSERT INTO nodes (id, alive_until, about)
       SELECT 'nod_' || n, now() + interval '1 minute', '{}' FROM generate_series(1, ${OTHERS}) n`,
  );
  await store.heartbeat('nod_a', 10_000);
  for (let news = 0; news < NEWS; news += 1) await tell();
  await waitFor('the second word', () => heard === 2);
  assert.deepEqual(
    waiting.map(({ ms }) => ms),
    [1000],
  );
  waiting.shift()!.fire();
  await waitFor('what came meanwhile, in one word', () => heard === 3);
});
