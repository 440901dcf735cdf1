// `postrider doctor` and `postrider config show`: what is well, what is wrong, what to do about it, and that no secret is
// shown.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli } from '../../server/test/support/command.ts';
import { freePort } from '../../server/test/support/free-port.ts';
import { startRider, temporaryFolder } from '../../server/test/support/harness.ts';
import { EXIT } from '../src/frame/exit-codes.ts';

interface Check {
  readonly name: string;
  readonly state: string;
  readonly says: string;
  readonly todo?: string;
}

async function examine(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const ran = await runCli(['doctor', '--json', ...argv], { env });
  const { ok, checks } = ran.json<{ ok: boolean; checks: Check[] }>();
  assert.equal(ran.code, ok ? EXIT.done : EXIT.failed, ran.stderr);
  return { ok, of: (name: string) => checks.find((check) => check.name === name), checks };
}

test('doctor finds nothing wrong where nothing is, and a service that runs', async (t) => {
  const data = join(temporaryFolder(t), 'data');
  const rider = await startRider(t, { data, now: Date.now() - 3_600_000 });
  const { port } = new URL(rider.url);
  const listening = createServer().listen(0, '127.0.0.1');
  await once(listening, 'listening');
  t.after(() => listening.close());
  const destination = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  const argv = [
    '--url',
    rider.url,
    '--data',
    data,
    '--port',
    port,
    '--destination',
    destination,
    '--allow-cidr',
    '127.0.0.0/8',
  ];
  const { ok, checks } = await examine(argv);
  const states = checks.filter(({ name }) => name !== 'disk').map(({ name, state }) => `${name} ${state}`);
  assert.deepEqual(states, [
    'program ok',
    'settings ok',
    'directory ok',
    'store ok',
    'clock warning',
    'service ok',
    'token ok',
    'port ok',
    'dns ok',
    'egress ok',
  ]);
  assert.match(
    checks.find(({ name }) => name === 'clock')!.says,
    /^the clock of the service is 1h.* behind this machine$/,
  );
  assert.equal(ok, !checks.some(({ state }) => state === 'wrong'));
  const byPort = await examine(['--data', data, '--port', port]);
  assert.deepEqual([byPort.of('service')?.state, byPort.of('port')?.state], ['ok', 'ok'], 'the port names the service');
  const shown = await runCli(['doctor', ...argv]);
  assert.match(shown.stdout, /^ok {7}program {4}postrider \d.*\n/);
  assert.match(
    (await runCli(['doctor', ...argv.slice(0, 6), '--token', 'pr_wrong'])).stdout,
    /wrong {4}token .*does not accept the token/,
  );
});

test('doctor names what is wrong, and what to do', async (t) => {
  const folder = temporaryFolder(t);
  const port = String(await freePort());
  const away = ['--url', `http://127.0.0.1:${await freePort()}`, '--port', port];
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const noDirectory = await examine([...away, '--data', file]);
  assert.deepEqual(
    ['directory', 'store', 'service'].map((name) => noDirectory.of(name)?.state),
    ['wrong', 'skipped', 'skipped'],
  );

  const lost = join(folder, 'lost');
  mkdirSync(lost);
  writeFileSync(join(lost, 'postrider.store'), '');
  assert.match((await examine([...away, '--data', lost])).of('store')!.says, /is missing/);
  const broken = join(folder, 'broken');
  mkdirSync(broken);
  writeFileSync(join(broken, 'postrider.db'), 'not a database');
  assert.equal((await examine([...away, '--data', broken])).of('store')?.state, 'wrong');

  const empty = ['--data', join(folder, 'none')];
  const full = await examine([...away, ...empty], { POSTRIDER_MIN_FREE_DISK_BYTES: '1024GiB' });
  assert.equal(full.of('disk')?.state, 'wrong');
  const settings = await examine([], { POSTRIDER_PORT: 'x', POSTRIDER_CONCURENCY: '1' });
  assert.deepEqual(
    settings.checks.map(({ name }) => name),
    ['program', 'settings', 'settings'],
  );

  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const takenPort = String((taken.address() as AddressInfo).port);
  const inUse = await examine(['--url', away[1]!, '--host', '127.0.0.1', '--port', takenPort, ...empty]);
  assert.match(inUse.of('port')!.todo!, /Another program listens there/);

  const guarded = await examine([...away, ...empty, '--destination', `http://127.0.0.1:${takenPort}`]);
  assert.match(guarded.of('egress')!.says, /the egress guard refuses it: 127\.0\.0\.1 is a loopback address/);
  const closed = await examine([...away, ...empty, '--allow-cidr', '127.0.0.0/8', '--destination', away[1]!]);
  assert.match(closed.of('egress')!.says, /cannot be reached: .*ECONNREFUSED/);
  const nameless = await examine([...away, ...empty, '--destination', 'http://name.invalid']);
  assert.equal(nameless.of('dns')?.state, 'wrong');
  assert.equal((await runCli(['doctor', '--destination', 'example.com'])).code, EXIT.usage);
});

test('config show says where each setting comes from, and shows no secret', async () => {
  const env = {
    POSTRIDER_TOKEN: 'pr_secret',
    POSTRIDER_STORE: 'postgres://me:hidden@db.example/postrider',
    POSTRIDER_PORT: '1234',
  };
  const shown = await runCli(['config', 'show', '--sources', '--url', 'https://a.example'], { env });
  assert.equal(shown.code, EXIT.done, shown.stderr);
  assert.match(shown.stdout, /url +https:\/\/a\.example +--url\n/);
  assert.match(shown.stdout, /token +set, not shown +POSTRIDER_TOKEN\n/);
  assert.match(shown.stdout, /\nport +1234 +POSTRIDER_PORT\n/);
  assert.match(shown.stdout, /\nstore +set, not shown +POSTRIDER_STORE\n/);
  assert.match(shown.stdout, /\nconcurrency +1000 +default\n/);
  assert.doesNotMatch(shown.stdout, /pr_secret|hidden/);
  const json = (await runCli(['config', '--json', '--for', 'dev'])).json<{ dev: Record<string, string> }>();
  assert.equal(json.dev.host, '127.0.0.1');
  const manual = await runCli(['config', 'show', '--for', 'dev', '--json'], { env: { POSTRIDER_CLOCK: 'manual' } });
  const { dev } = JSON.parse(manual.stdout) as { dev: Record<string, string> };
  assert.deepEqual([dev.clock, dev.data], ['manual', 'a temporary folder, removed at the end']);
  const kept = await runCli(['config', 'show', '--for', 'dev', '--json'], {
    env: { POSTRIDER_CLOCK: 'manual', POSTRIDER_DATA: 'here' },
  });
  assert.equal((JSON.parse(kept.stdout) as { dev: Record<string, string> }).dev.data, 'here');
  const wrong = await runCli(['config', 'show'], { env: { POSTRIDER_PORT: 'x' } });
  assert.deepEqual([wrong.code, /POSTRIDER_PORT must be/.test(wrong.stderr)], [EXIT.usage, true]);
});
