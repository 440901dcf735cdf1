// `postrider account recount`: a wrong count of what an account stores is corrected, while the service runs and after it.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Database } from '../../../src/store/sqlite/thread/database.ts';
import { withClient } from '../../postgres/databases.ts';
import { ask } from '../../support/client.ts';
import { temporaryFolder } from '../../support/harness.ts';
import { startProcess } from '../../support/process.ts';
import { storeOf } from '../../support/store-under-test.ts';

const WRONG = 'UPDATE stored SET bytes = bytes + 1000';
const NOWHERE = 'http://127.0.0.1:9/';

/** What a bug, or an older version beside this one, would leave. */
async function spoil(data: string): Promise<void> {
  const { flags, release } = await storeOf(data);
  if (flags.length > 0) await withClient(flags[1]!, (client) => client.query(WRONG));
  else {
    const database = new Database(join(data, 'postrider.db'));
    assert.equal(database.run(WRONG), 1);
    database.close();
  }
  await release();
}

async function recount(t: TestContext, data: string, ...flags: string[]) {
  const command = startProcess(t, ['account', 'recount', '--data', data, ...flags]);
  const status = await command.exit;
  return { status, stdout: command.stdout, stderr: command.stderr };
}

test('account recount corrects what is counted wrong, while the service accepts and when it is stopped', async (t) => {
  const data = temporaryFolder(t);
  const service = startProcess(t, ['serve', '--json', '--host', '127.0.0.1', '--port', '0', '--data', data]);
  const { api, token } = await service.ready();
  const headers = { Authorization: `Bearer ${token!}` };
  const stored = async () => (await ask(api, '/v2/usage', { headers })).json<{ storedBytes: number }>().storedBytes;
  const publish = () =>
    ask(api, `/v2/publish/${NOWHERE}`, {
      method: 'POST',
      headers: { ...headers, 'Service-Delay': '300d' },
      body: 'x'.repeat(2000),
    });
  assert.equal((await publish()).status, 201);
  const one = await stored();
  assert.ok(one > 2000, String(one));
  await spoil(data);
  assert.ok((await stored()) >= one + 1000);

  let isOver = false;
  let published = 1;
  const publishing = (async () => {
    for (; !isOver; published += 1) assert.equal((await publish()).status, 201);
  })();
  const running = await recount(t, data, '--json');
  isOver = true;
  await publishing;
  assert.equal(running.status, 0, running.stderr);
  const [counted] = JSON.parse(running.stdout) as [{ name: string; correctedBy: number; storedBytes: number }];
  assert.equal(counted.name, 'default');
  // Over PostgreSQL each session has a row of its own.
  assert.ok(counted.correctedBy < 0 && counted.correctedBy % 1000 === 0, String(counted.correctedBy));
  assert.equal(await stored(), published * one, 'what was accepted meanwhile counts');

  service.signal('SIGTERM');
  assert.equal(await service.exit, 0);
  const stopped = await recount(t, data, '--account', 'default');
  assert.equal(stopped.status, 0, stopped.stderr);
  assert.match(stopped.stdout, new RegExp(`default +${published * one} +0\\n`));
  assert.match((await recount(t, data, '--account', 'nobody')).stderr, /there is no account "nobody"/);
});
