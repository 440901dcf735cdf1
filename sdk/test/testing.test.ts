// `postrider-sdk/testing` as tests use it: a real service, in a process of its own or inside the test's, its clock, and its end.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { verify } from 'postrider-sdk';
import { StillUnderWayError, startPostrider, type TestService } from 'postrider-sdk/testing';
import { type Arrival, type Cleanup, startReceiver } from '../../server/test/support/receiver.ts';
import { waitFor } from '../../server/test/support/wait.ts';

async function publish({ url, token }: TestService, destination: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${url}/v2/publish/${destination}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, ...headers },
    body: 'hello',
  });
  return ((await answer.json()) as { messageId: string }).messageId;
}

for (const [where, inProcess] of [
  ['in a process of its own', false],
  ['in the process of the test', true],
] as const) {
  suite(`a service for tests, ${where}`, () => {
    let postrider: TestService;
    before(async () => {
      postrider = await startPostrider({ inProcess });
    });
    after(() => postrider.close());

    test('its clock moves as it is told', async () => {
      const { clock } = postrider;
      const startedAt = await clock.now();
      assert.equal(await clock.now(), startedAt);
      assert.equal((await clock.advance('1h30m')).now, startedAt + 5_400_000);
      assert.equal((await clock.advance(1.5)).now, startedAt + 5_401_500);
      assert.equal((await clock.advanceTo(new Date(startedAt + 6_000_000))).now, startedAt + 6_000_000);
      await assert.rejects(clock.advance('an hour'), /advance: must be a duration/);
      await assert.rejects(clock.advanceTo('2020-01-01T00:00:00Z'), /a clock never goes back/);
      assert.equal((await clock.run()).clock, 'running');
      assert.equal((await clock.freeze()).clock, 'frozen');
    });

    test('an advance throws when a receiver hangs, unless that is wanted', async (t) => {
      const receiver = await startReceiver(t, () => 'hang');
      const messageId = await publish(postrider, `${receiver.url}/slow`, { 'Service-Retries': '0' });
      await assert.rejects(postrider.clock.advance('1m', { wait: 0 }), (error) => {
        assert.ok(error instanceof StillUnderWayError);
        assert.match(error.message, new RegExp(`${messageId} to ${receiver.url}/slow`));
        return true;
      });
      const { underWayCount } = await postrider.clock.advance('1m', { wait: 0, allowUnderWay: true });
      assert.equal(underWayCount, 1);
    });

    test('a receiver checks signatures by the time of the clock', async (t) => {
      const receiver = await startReceiver(t);
      const { client, clock } = postrider;
      await publish(postrider, receiver.url, { 'Service-Delay': '30d' });
      await clock.advance('30d', { allowUnderWay: true });
      const [{ headers, body }] = (await receiver.received(1)) as [Arrival];
      const keys = Object.values(await client.account.keys());
      const parts = { headers: Object.fromEntries(headers), body };
      assert.equal((await verify(parts, { keys, now: await clock.now() })).text(), 'hello');
      await assert.rejects(verify(parts, { keys }), /not valid yet/);
    });

    test('the client and the clock do not use a fetch that a test has replaced', async (t) => {
      t.mock.method(globalThis, 'fetch', () => Promise.reject(new Error('a mock')));
      assert.equal(typeof (await postrider.clock.now()), 'number');
    });
  });
}

test('a flag that is wrong is told as the command tells it', async () => {
  await assert.rejects(startPostrider({ flags: ['--prot', '1'] }), /ended with status 2[\s\S]*--port/);
  await assert.rejects(startPostrider({ flags: ['--prot', '1'], inProcess: true }), /cannot start: .*--port/);
  await assert.rejects(startPostrider({ command: ['postrider'], inProcess: true }), TypeError);
});

test('a command that is not there is told, with what to do', async () => {
  await assert.rejects(startPostrider({ command: ['no-such-postrider'] }), /npm install --save-dev postrider/);
});

test('several services in one process have a clock each, and leave nothing behind when they are closed', async () => {
  const script = `
    import { readdirSync } from 'node:fs';
    import { startPostrider } from 'postrider-sdk/testing';
    const folders = () => readdirSync(process.env.TMPDIR).length;
    const [a, b] = await Promise.all([startPostrider({ inProcess: true }), startPostrider({ inProcess: true })]);
    const [before, foldersOpen] = [await b.clock.now(), folders()];
    const { messageId } = await a.client.publish({ url: a.url + '/dev/sink/ok', delay: '1h' });
    await a.clock.advance('1h');
    const { state } = await a.client.messages.get(messageId);
    const [isStill, listed] = [(await b.clock.now()) === before, (await b.client.messages.list().all()).length];
    await Promise.all([a.close(), a.close(), b.close()]);
    const late = await a.clock.now().catch((error) => error.message);
    console.log(JSON.stringify({ state, isStill, listed, foldersOpen, folders: folders(), late }));
    process.on('exit', () => console.log('exits by itself'));`;
  const folder = mkdtempSync(join(tmpdir(), 'postrider-inside-'));
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      cwd: import.meta.dirname,
      // A setting of the machine is not for the service of a test.
      env: { ...process.env, TMPDIR: folder, POSTRIDER_PORT: 'wrong' },
      timeout: 300_000,
    });
    const [facts = '', end] = stdout.split('\n');
    assert.deepEqual(JSON.parse(facts), {
      ...{ state: 'DELIVERED', isStill: true, listed: 0, foldersOpen: 2, folders: 0, late: 'the service was closed' },
    });
    assert.equal(end, 'exits by itself');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the service ends when the process of the test is killed', async (t) => {
  const script = `
    const { startPostrider } = await import('postrider-sdk/testing');
    console.log((await startPostrider()).url);
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endAfter(t, parent);
  const [line] = (await once(parent.stdout.setEncoding('utf8'), 'data')) as [string];
  const isUp = () =>
    fetch(`${line.trim()}/healthz`).then(
      () => true,
      () => false,
    );
  assert.ok(await isUp());
  parent.kill('SIGKILL');
  await waitFor('the end of the service', async () => !(await isUp()));
});

function endAfter(t: Cleanup, child: ReturnType<typeof spawn>): void {
  t.after(() => {
    child.kill('SIGKILL');
  });
}
