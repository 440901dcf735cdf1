// A claim has locked a message and is about to lock its flow key; a cancel has locked the key and wants the message. Neither
// waits for the other, and so nobody waits for both.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { flowing } from '../../conformance/flow-control.ts';
import { ACCOUNT, KEYS, NOW, RETENTION } from '../../conformance/given.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import { waitFor } from '../../support/wait.ts';

test('a cancel does not hold the flow key of a message while it waits for the claim of that message', async (t) => {
  const server = await sharedServer();
  const database = await server.createDatabase();
  const store = await openPatiently({ url: server.url(database), node: 'nod_a', knownForMs: 0 });
  const claim = new pg.Client({ connectionString: server.url(database) });
  await claim.connect();
  t.after(async () => {
    await claim.end();
    await store.close();
    await server.dropDatabase(database);
  });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  const [taken, other] = [flowing({ parallelism: 5 }, {}, 'k'), flowing({ parallelism: 5 }, {}, 'k')] as const;
  await store.accept([taken, other], NOW);

  await claim.query("SET deadlock_timeout = '10ms'");
  await claim.query('BEGIN');
  await claim.query('SELECT 1 FROM messages WHERE account_id = $1 AND id = $2 FOR UPDATE', [ACCOUNT, taken.id]);
  const cancelling = store.cancel(ACCOUNT, [taken.id, other.id], NOW, NOW + RETENTION);
  await waitFor('the cancel to wait for the claim', async () => {
    const { rows } = await claim.query(
      'SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pg_backend_pid() = ANY(pg_blocking_pids(pid))',
    );
    return rows.length > 0;
  });
  // With the key in the hands of the cancel, the server would end this transaction or that one.
  await claim.query('SELECT 1 FROM flow_keys WHERE account_id = $1 AND key = $2 FOR UPDATE', [ACCOUNT, 'k']);
  await claim.query('COMMIT');
  const { cancelled, requested, awaited } = await cancelling;
  assert.deepEqual([cancelled.toSorted(), requested, awaited], [[taken.id, other.id].toSorted(), [], []]);
});
