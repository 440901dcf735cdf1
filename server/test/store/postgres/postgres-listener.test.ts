// The connection by which a node hears of the others falls silent alone, and nobody is told: the database answers on all others,
// so that nothing else shows it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { databaseTimeouts } from '../../../src/rules/nodes/database-pace.ts';
import { systemWorld } from '../../../src/runtime/world.ts';
import { openPostgresStore } from '../../../src/store/postgres/sessions/open.ts';
import { proxiedDatabase } from '../../cluster/proxied-database.ts';
import { StoreTables } from '../../cluster/store-tables.ts';
import { ACCOUNT, KEYS, message, NOW } from '../../conformance/given.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import { waitFor } from '../../support/wait.ts';

const TTL_MS = 15_000;

test('a node whose connection for notifications alone is silent hears of the others again, and refuses nobody meanwhile', async (t) => {
  const { url, direct, proxy } = await proxiedDatabase(t);
  const open = { timers: systemWorld().clock, log: () => {} };
  const deaf = await openPostgresStore({ ...open, url, node: 'nod_deaf' });
  t.after(() => deaf.close());
  const other = await openPatiently({ url: direct, node: 'nod_other' });
  t.after(() => other.close());
  await other.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  let heard = 0;
  t.after(
    deaf.onJournal(() => {
      heard += 1;
    }),
  );
  let isOver = false;
  // So that the database is known to be there.
  const beating = (async () => {
    while (!isOver) {
      await deaf.heartbeat('nod_deaf', TTL_MS);
      await wait(50);
    }
  })();
  await other.accept([message()], NOW);
  await waitFor('the first news', () => heard > 0);

  const [listener] = await new StoreTables(direct).query<{ port: number }>(
    `SELECT client_port AS port FROM pg_stat_activity
       WHERE application_name = 'postrider listener' AND client_port = ANY ($1::int[])`,
    [proxy.outerPorts],
  );
  proxy.holdOne(listener!.port);
  heard = 0;
  await waitFor('news of the other node', async () => {
    await other.accept([message()], NOW);
    await wait(50);
    return heard > 0;
  });
  isOver = true;
  await assert.doesNotReject(beating, 'the database was there all the time');
});

test('a store that may wait longer for a silent database refuses nobody meanwhile', async (t) => {
  const { url, proxy } = await proxiedDatabase(t);
  const store = await openPatiently({ url, node: 'nod_patient' });
  t.after(() => store.close());
  await store.heartbeat('nod_patient', TTL_MS);
  proxy.blackhole();
  const beating = store.heartbeat('nod_patient', TTL_MS);
  beating.catch(() => {});
  await wait(3 * databaseTimeouts([]).silenceMs);
  proxy.heal();
  await beating;
});

test('a start asks a slow database again, where a request would be refused', async (t) => {
  const server = await sharedServer();
  const name = await server.createDatabase();
  t.after(() => server.dropDatabase(name));
  const url = new URL(server.url(name));
  const port = Number(url.port);
  let silenced = 0;
  // Passes everything on, but the first connection for notifications hears nothing.
  const between = createServer((outer) => {
    const inner = connect(port, url.hostname);
    let isSilent = false;
    outer.on('data', (bytes) => {
      if (silenced === 0 && bytes.includes('postrider listener')) {
        silenced += 1;
        isSilent = true;
      }
      inner.write(bytes);
    });
    inner.on('data', (bytes) => isSilent || outer.write(bytes));
    for (const [one, other] of [[outer, inner] as const, [inner, outer] as const]) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
    }
  });
  between.listen(0, '127.0.0.1');
  await once(between, 'listening');
  t.after(() => between.close());
  url.port = String((between.address() as AddressInfo).port);
  const store = await openPatiently({ url: url.href, node: 'nod_slow' });
  t.after(() => store.close());
  assert.equal(silenced, 1);
  await store.heartbeat('nod_slow', TTL_MS);
});
