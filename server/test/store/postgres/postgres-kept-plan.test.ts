// Which sessions of PostgreSQL keep their plans: that of the settlements, while the table of messages is large.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { Database } from '../../../src/store/postgres/sessions/database.ts';
import { KeptPlan } from '../../../src/store/postgres/sessions/kept-plan.ts';
import { sharedServer } from '../../postgres/server.ts';

test('plans are kept while the table is large, are made anew now and then, and are not kept for a small one', async (t) => {
  const server = await sharedServer();
  const name = await server.createEmptyDatabase();
  const client = new pg.Client(server.url(name));
  await client.connect();
  t.after(async () => {
    await client.end();
    await server.dropDatabase(name);
  });
  const database = new Database(client);
  const mode = async () =>
    (await client.query<{ mode: string }>("SELECT current_setting('plan_cache_mode') AS mode")).rows[0]!.mode;
  const keptPlans = async () => {
    const { rows } = await client.query<{ plans: number }>(
      "SELECT coalesce(sum(generic_plans), 0)::int AS plans FROM pg_prepared_statements WHERE statement LIKE '%seek%'",
    );
    return rows[0]!.plans;
  };
  await client.query('CREATE TABLE messages (id int PRIMARY KEY, body text)');
  const plan = new KeptPlan();
  await plan.look(database, 0);
  assert.equal(await mode(), 'force_custom_plan');
  await client.query("INSERT INTO messages SELECT n, repeat('x', 1000) FROM generate_series(1, 9000) AS n");
  await plan.look(database, 9_999);
  assert.equal(await mode(), 'force_custom_plan', 'it is not time to look again');
  await plan.look(database, 10_000);
  assert.equal(await mode(), 'force_generic_plan');
  await database.run('SELECT body AS seek FROM messages WHERE id = $1', 1);
  assert.equal(await keptPlans(), 1);
  await client.query('TRUNCATE messages');
  await plan.look(database, 20_000);
  assert.equal(await mode(), 'force_custom_plan');
});
