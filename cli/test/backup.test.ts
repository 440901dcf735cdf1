// `postrider backup` beside a service under load, and what becomes of it: restored, it holds all that was acknowledged before
// it was begun, and goes on. One that fails or is stopped leaves nothing behind.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inScratchFolder } from '../../server/test/crash/scratch-folder.ts';
import { endServers, ServerProcess } from '../../server/test/crash/server-process.ts';
import { noShim, Shim } from '../../server/test/crash/shim.ts';
import { ask } from '../../server/test/support/client.ts';
import { BIN } from '../../server/test/support/process.ts';
import { startReceiver } from '../../server/test/support/receiver.ts';
import { waitFor } from '../../server/test/support/wait.ts';

const MESSAGES = 30;
/** While the copy is made. */
const PUBLISHES_MIN = 20;

interface Ended {
  readonly code: number | NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(t: TestContext, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child: ChildProcess = spawn(process.execPath, [BIN, ...args], {
    env: { PATH: process.env.PATH, ...env },
    cwd: tmpdir(),
  });
  t.after(() => child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended: Promise<Ended> = once(child, 'close').then(([code, signal]) => ({
    code: (code ?? signal) as number | NodeJS.Signals,
    stdout,
    stderr,
  }));
  return { child, ended };
}

test('a backup under load holds all that was acknowledged before it, and the restored service goes on', async (t) => {
  const receiver = await startReceiver(t);
  t.after(endServers);
  await inScratchFolder('backup', async (folder) => {
    const [data, restored, to] = [join(folder, 'data'), join(folder, 'restored'), join(folder, 'copy.db')];
    const server = new ServerProcess(['--data', data]);
    const { api, token } = await server.ready;
    const post = async (base: string, path: string, status: number, body?: string) => {
      const headers = { Authorization: `Bearer ${token}` };
      const answer = await ask(base, path, { method: 'POST', headers, ...(body !== undefined && { body }) });
      assert.equal(answer.status, status, answer.text);
      return answer;
    };
    await post(api, '/v2/queues', 200, '{"queueName":"waiting","paused":true}');
    const acknowledged: string[] = [];
    for (let index = 0; index < MESSAGES; index += 1) {
      const answer = await post(api, `/v2/enqueue/waiting/${receiver.url}/q`, 201, `body ${index}`);
      acknowledged.push(answer.json<{ messageId: string }>().messageId);
    }
    await post(api, '/v2/queues', 200, '{"queueName":"busy","paused":true}');
    let [isOver, published] = [false, 0];
    const publishers = Array.from({ length: 3 }, async () => {
      while (!isOver || published < PUBLISHES_MIN) {
        await post(api, `/v2/enqueue/busy/${receiver.url}/busy`, 201, 'x'.repeat(500));
        published += 1;
      }
    });
    const backup = start(t, ['backup', '--data', data, '--to', to, '--json']);
    const { code, stdout, stderr } = await backup.ended;
    isOver = true;
    await Promise.all(publishers);
    assert.equal(code, 0, stderr);
    const report = JSON.parse(stdout) as { path: string; rows: { messages: number; accounts: number } };
    assert.equal(report.path, to);
    assert.ok(report.rows.messages >= MESSAGES && report.rows.accounts === 1, stdout);
    assert.equal(statSync(to).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder).sort(), ['copy.db', 'data'], 'nothing else is left');

    const again = await start(t, ['backup', '--data', data, '--to', to]).ended;
    assert.deepEqual([again.code, again.stdout], [1, '']);
    assert.match(again.stderr, /copy\.db already exists and is not overwritten/);

    await server.kill();
    mkdirSync(restored);
    copyFileSync(to, join(restored, 'postrider.db'));
    const after = new ServerProcess(['--data', restored]);
    const { api: there } = await after.ready;
    await post(there, '/v2/queues/waiting/resume', 200);
    const arrived = await receiver.received(MESSAGES);
    const ids = arrived.map((arrival) => arrival.header('Service-Message-Id'));
    assert.deepEqual(ids, acknowledged, 'all of them, in their order');
    await post(there, `/v2/publish/${receiver.url}/new`, 201);
    await receiver.received(MESSAGES + 1);
    assert.equal((await after.stop()).code, 0);
  });
});

test('a backup that finds no space or is stopped leaves nothing behind', { skip: noShim() }, async (t) => {
  t.after(endServers);
  await inScratchFolder('backup-fails', async (folder) => {
    const [data, place, fullFlag] = [join(folder, 'data'), join(folder, 'place'), join(folder, 'full')];
    mkdirSync(place);
    const server = new ServerProcess(['--data', data]);
    await server.ready;
    await server.stop();
    const shim = new Shim(folder);
    const args = ['backup', '--data', data, '--to', join(place, 'copy.db')];

    writeFileSync(fullFlag, '');
    const full = await start(t, args, shim.env(place, join(folder, 'disk.log'), { fullFlag })).ended;
    assert.equal(full.code, 1);
    assert.match(full.stderr, /there is no space left for the copy in .*place\. No backup was made\./);
    assert.deepEqual(readdirSync(place), []);
    rmSync(fullFlag);

    // The flush at the end takes long enough for somebody to lose patience.
    const slow = start(t, args, shim.env(place, join(folder, 'slow.log'), { flushMs: 60_000 }));
    await waitFor('the copy to be written', () =>
      readdirSync(place).some((name) => statSync(join(place, name)).size > 0),
    );
    assert.equal(statSync(join(place, 'copy.db.part')).mode & 0o777, 0o600);
    slow.child.kill('SIGTERM');
    assert.equal((await slow.ended).code, 'SIGTERM');
    assert.deepEqual(readdirSync(place), []);
  });
});

test('backup and check of a place without a store, or of a database, say what to do and create nothing', async (t) => {
  await inScratchFolder('backup-nowhere', async (folder) => {
    for (const command of ['backup', 'check']) {
      const nowhere = await start(t, [command, '--data', folder]).ended;
      assert.equal(nowhere.code, 1);
      assert.match(
        nowhere.stderr,
        new RegExp(`^postrider ${command}: there is no store in .*: it has no postrider\\.db`),
      );
    }
    const database = await start(t, ['backup'], { POSTRIDER_STORE: 'postgres://me:secret@db.example/postrider' }).ended;
    assert.equal(database.code, 1);
    assert.match(database.stderr, /the store is PostgreSQL at db\.example\/postrider, .* pg_dump, or a base backup/);
    assert.deepEqual(readdirSync(folder), []);
  });
});
