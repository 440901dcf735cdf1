// A real server whose files were damaged while it was dead, or taken away while it lives: what it says, and how somebody gets
// out of it with the commands that it names.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inScratchFolder } from '../../server/test/crash/scratch-folder.ts';
import { endServers, ServerProcess } from '../../server/test/crash/server-process.ts';
import { damage } from '../../server/test/store/damage.ts';
import { ask } from '../../server/test/support/client.ts';
import { BIN } from '../../server/test/support/process.ts';
import { waitFor } from '../../server/test/support/wait.ts';

const FRAME = 8192 + 24;
const MESSAGES = 20;

interface Service {
  readonly api: string;
  readonly token: string;
}

const headersOf = ({ token }: Service) => ({ Authorization: `Bearer ${token}`, 'Service-Delay': '1h' });

async function publish(service: Service): Promise<string> {
  const answer = await ask(service.api, '/v2/publish/http://127.0.0.1:9/', {
    method: 'POST',
    headers: headersOf(service),
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.json<{ messageId: string }>().messageId;
}

async function statusOf(service: Service, path: string): Promise<number> {
  return (await ask(service.api, path, { headers: headersOf(service) })).status;
}

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], { encoding: 'utf8', timeout: 60_000 });
  return { status, stdout, stderr };
}

const serve = (data: string) => run('serve', '--json', '--host', '127.0.0.1', '--port', '0', '--data', data);

/** Flips a bit in the oldest page of the log that was written again later. */
function damageLog(path: string): void {
  const log = readFileSync(path);
  const frames = Array.from({ length: Math.floor((log.length - 32) / FRAME) }, (_, index) => index);
  const pageOf = (index: number) => log.readUInt32BE(32 + index * FRAME);
  const victim = frames.find((index) => frames.some((later) => later > index && pageOf(later) === pageOf(index)))!;
  log[32 + victim * FRAME + 24 + 4000]! ^= 1;
  writeFileSync(path, log);
}

test('a damaged log and a lost database keep a server from starting; after a repair all acknowledged messages are there', async (t) => {
  t.after(endServers);
  await inScratchFolder('damaged', async (folder) => {
    const data = join(folder, 'data');
    const first = new ServerProcess(['--data', data]);
    const { api, token } = await first.ready;
    const ids: string[] = [];
    for (let index = 0; index < MESSAGES; index += 1) ids.push(await publish({ api, token: token! }));
    await first.kill();

    damageLog(join(data, 'postrider.db-wal'));
    const refused = serve(data);
    assert.deepEqual([refused.status, refused.stdout], [1, '']);
    assert.match(
      refused.stderr,
      /^postrider serve cannot start: the log postrider\.db-wal in .* is damaged .*run "postrider check --repair --data /,
    );
    const copied = run('backup', '--data', data, '--to', join(folder, 'copy.db'));
    assert.equal(copied.status, 1, 'half of a store is no backup');
    assert.match(copied.stderr, /the log .* is damaged .* No backup was made\./);
    const repaired = run('check', '--repair', '--data', data);
    assert.equal(repaired.status, 0, repaired.stderr);
    assert.match(
      repaired.stdout,
      /frames were saved, 1 were not\. Newer copies of all those pages exist: nothing is lost\./,
    );
    assert.match(repaired.stdout, /is not damaged: .*every page was read/);

    const second = new ServerProcess(['--data', data]);
    const service = { api: (await second.ready).api, token: token! };
    for (const id of ids) assert.equal(await statusOf(service, `/v2/messages/${id}`), 200, id);
    await second.stop();

    renameSync(join(data, 'postrider.db'), join(folder, 'kept.db'));
    const gone = serve(data);
    assert.deepEqual([gone.status, gone.stdout], [1, ''], 'no new token either');
    assert.match(gone.stderr, /there was a store in .*missing or empty\. Nothing was changed\. Restore a backup/);
  });
});

test('an unreadable page is reported with 500 and the server continues; a deleted directory stops publishing', async (t) => {
  t.after(endServers);
  await inScratchFolder('unreadable', async (folder) => {
    const data = join(folder, 'data');
    const first = new ServerProcess(['--data', data]);
    const { api, token } = await first.ready;
    await publish({ api, token: token! });
    await first.stop();
    damage(data, 'messages_of_topic');
    const whole = run('check', '--data', data);
    assert.equal(whole.status, 1);
    assert.match(whole.stdout, /is damaged:\n {2}- .*\n.*restore a backup/s);

    const second = new ServerProcess(['--data', data]);
    const service = { api: (await second.ready).api, token: token! };
    assert.match(second.stderr, /"problems":\["messages: .*the database in .* is damaged/);
    for (let times = 0; times < 2; times += 1) {
      assert.equal(await statusOf(service, '/v2/messages?topicName=news'), 500);
      await publish(service);
    }
    assert.match(second.stderr, /a part of the store cannot be read/);

    rmSync(data, { recursive: true });
    await waitFor('publishing to be refused', async () => (await statusOf(service, '/readyz')) === 503);
    const refused = await ask(service.api, '/v2/publish/http://127.0.0.1:9/', {
      method: 'POST',
      headers: headersOf(service),
    });
    assert.deepEqual([refused.status, refused.json<{ code: string }>().code], [503, 'store_gone']);
    assert.match(
      second.stderr,
      /"path":".*postrider\.db".*a file of the store was removed, replaced or changed by another program while the server was running/,
    );
    assert.equal((await second.stop()).code, 0);
  });
});
