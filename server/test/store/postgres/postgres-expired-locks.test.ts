// A claim that passes over expired messages locks only those that it reads in place of others, one for each free slot,
// and not all that it looks at behind them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACCOUNT, KEYS, limits, message, messages, NOW } from '../../conformance/given.ts';
import { withClient } from '../../postgres/databases.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import { claimDue } from '../../support/claim-due.ts';

const HOSTS = 10;
const EACH = 50;

test('a claim locks few of the expired messages that it passes over, and claims those behind them', async () => {
  const server = await sharedServer();
  const database = await server.createDatabase();
  const url = server.url(database);
  const store = await openPatiently({ url, node: 'nod_a', knownForMs: 0 });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  await claimDue(store, NOW, limits({ slots: 0 }));
  for (let index = 0; index < HOSTS; index += 1) {
    const host = `h${index}.example`;
    await store.accept(
      [...messages(EACH, { host, mustStartBefore: NOW + 1 }), message({ host, dueAt: NOW + 1 })],
      NOW + 1,
    );
  }
  const { claims } = await claimDue(store, NOW + 10, limits({ slots: HOSTS }));
  await store.close();
  const locked = await withClient(url, async (client) => {
    const { rows } = await client.query<{ n: number }>(
      "SELECT count(*)::int AS n FROM messages WHERE state = 'ready' AND xmax <> '0'",
    );
    return rows[0]!.n;
  });
  await server.dropDatabase(database);
  assert.equal(claims.length, HOSTS);
  assert.ok(locked <= 2 * HOSTS, `${locked} messages were locked`);
});
