// How the command starts and what it says: the line for scripts, the greeting for people, and clear words for every
// way in which a start can fail.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { greeting } from '../../../../cli/src/service/greeting.ts';
import { VERSION } from '../../../src/node/main.ts';
import { parseConfig } from '../../../src/node/settings/config.ts';
import { ask } from '../../support/client.ts';
import { temporaryFolder } from '../../support/harness.ts';
import { startProcess } from '../../support/process.ts';
import { startReceiver } from '../../support/receiver.ts';
import { isOnPostgres, onlySqlite } from '../../support/store-under-test.ts';

/** Makes Node.js warn at the signal, and on each thread. */
const WARNS = `import { isMainThread } from 'node:worker_threads';
if (isMainThread) process.once('SIGTERM', () => process.emitWarning('on purpose'));
else process.emitWarning('on a thread');`;

/** A port somebody else listens on. */
async function busyPort(t: TestContext): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const authorized = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });

/** Of what it wrote on standard error, the log: one JSON object a line. */
const LOG_LINES = /^\{.*\}\n/gm;

test('dev --json prints one line of JSON with api and token, and both work', async (t) => {
  const rider = startProcess(t, ['dev', '--json', '--port', '0', '--data', temporaryFolder(t)]);
  const ready = await rider.ready();
  assert.deepEqual(Object.keys(ready), ['api', 'token']);
  assert.match(ready.api, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.equal(ready.token, 'dev_postrider');
  assert.equal(rider.stdout.split('\n').length, 2);
  assert.equal((await ask(ready.api, '/v2/keys', authorized(ready.token))).status, 200);
});

test('dev greets with its address, its token and a command to paste', async (t) => {
  const data = temporaryFolder(t);
  const rider = startProcess(t, ['dev', '--port', '0', '--data', data]);
  await rider.prints('stdout', /hello.*world/);
  const [, api] = /API {6}(http:\S+)/.exec(rider.stdout) ?? [];
  assert.ok(rider.stdout.includes(`postrider ${VERSION} · dev · `), rider.stdout);
  if (!isOnPostgres) assert.ok(rider.stdout.includes(` · data in ${data} (kept)`), rider.stdout);
  assert.ok(rider.stdout.includes('Token    dev_postrider'));
  assert.ok(rider.stdout.includes(`curl -X POST ${api}/v2/enqueue/hello/${api}/dev/sink/ok`));
  const answer = await ask(api!, `/v2/enqueue/hello/${api}/dev/sink/ok`, {
    method: 'POST',
    ...authorized('dev_postrider'),
  });
  assert.equal(answer.status, 201);
});

test('serve without a public URL says once in its log that receivers elsewhere cannot reach the address for acks', async (t) => {
  const warned = /"address":"http:\/\/127\.0\.0\.1:\d+","msg":"a delivery with Await-Ack [^"]*set --public-url"/g;
  for (const flags of [[], ['--public-url', 'https://queue.example']]) {
    const receiver = await startReceiver(t);
    const loopback = ['--host', '127.0.0.1', '--port', '0', '--allow-cidr', '127.0.0.0/8'];
    const rider = startProcess(t, ['serve', '--json', '--data', temporaryFolder(t), ...loopback, ...flags]);
    const { api, token } = await rider.ready();
    for (let n = 1; n <= 2; n += 1) {
      const headers = { ...authorized(token!).headers, 'Service-Await-Ack': '1m' };
      assert.equal((await ask(api, `/v2/publish/${receiver.url}`, { method: 'POST', headers })).status, 201);
      await receiver.received(n);
    }
    rider.signal('SIGTERM');
    await rider.exit;
    assert.equal([...rider.stderr.matchAll(warned)].length, flags.length === 0 ? 1 : 0, rider.stderr);
  }
});

test('serve prints its token on an empty store, and not on the second start', async (t) => {
  const data = temporaryFolder(t);
  const args = ['serve', '--json', '--host', '127.0.0.1', '--port', '0', '--data', data];
  const first = startProcess(t, args);
  const { api, token } = await first.ready();
  assert.match(token ?? '', /^pr_[\w-]{32}$/);
  assert.equal((await ask(api, '/v2/keys', authorized(token!))).status, 200);
  first.signal('SIGTERM');
  assert.equal(await first.exit, 0);
  assert.equal(first.stderr.includes(token!), false);

  const second = startProcess(t, args);
  const again = await second.ready();
  assert.deepEqual(Object.keys(again), ['api', 'console']);
  assert.equal((await ask(again.api, '/v2/keys', authorized(token!))).status, 200);
});

test('everything that serve prints is JSON when no person reads it; it has no token of dev, and no sink', async (t) => {
  const data = temporaryFolder(t);
  // The signal is to find an attempt in flight, so that the drain has its line.
  const receiver = await startReceiver(t, () => 'hang');
  const flags = ['--host', '127.0.0.1', '--port', '0', '--allow-cidr', '127.0.0.0/8', '--drain', '0s'];
  const warns = join(temporaryFolder(t), 'warns.mjs');
  writeFileSync(warns, WARNS);
  const rider = startProcess(t, ['serve', '--data', data, ...flags], { NODE_OPTIONS: `--import ${warns}` });
  const { api, token } = await rider.ready();
  const { console: page, ...ready } = JSON.parse(rider.stdout) as Record<string, string>;
  assert.deepEqual([page, ready], [`${api}/console`, { api, token }]);
  const headers = authorized(token!).headers;
  assert.equal((await ask(api, `/v2/publish/${receiver.url}`, { method: 'POST', headers })).status, 201);
  await receiver.received(1);
  assert.equal((await ask(api, '/v2/keys', authorized('dev_postrider'))).status, 401);
  assert.equal((await ask(api, '/dev/sink/ok', {})).status, 404);
  rider.signal('SIGTERM');
  assert.equal(await rider.exit, 0);
  assert.equal(rider.stdout.trim().split('\n').length, 1);
  const lines = rider.stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string; why?: string });
  const texts = lines.map(({ msg }) => msg);
  for (const text of ['audit: done', 'audit: refused', 'attempt']) assert.ok(texts.includes(text), rider.stderr);
  assert.ok(
    texts.some((text) => text.startsWith('Finishing the attempts in flight.')),
    rider.stderr,
  );
  assert.equal(lines.find(({ msg }) => msg === 'a warning of Node.js')?.why, 'on purpose');
  assert.ok(isOnPostgres || texts.includes('a thread has printed a text'), rider.stderr);
  assert.ok(!rider.stderr.includes(token!));
});

test('serve says for people that the token is shown only once', () => {
  const config = parseConfig('serve', ['--data', 'here'], {});
  assert.ok('config' in config);
  const ready = { version: '1', location: 'here', url: 'http://a', metricsUrl: null, token: 'pr_x', readyMs: 1 };
  const text = greeting({ ...ready, config: config.config });
  assert.match(text, /API {6}http:\/\/a\n.*Token {4}pr_x {6}shown only once: store it now/s);
});

test('dev takes the next port when its own is busy, and says so', async (t) => {
  const port = await busyPort(t);
  const rider = startProcess(t, ['dev', '--json', '--port', String(port), '--data', temporaryFolder(t)]);
  const { api } = await rider.ready();
  const taken = Number(new URL(api).port);
  assert.ok(taken > port && taken <= port + 20, api);
  assert.match(rider.stderr, new RegExp(`^Port ${port} is in use; trying ${port + 1}\\.\n`));
});

test('serve does not start on a busy port, says so in one line, and keeps the first token for the next start', async (t) => {
  const port = await busyPort(t);
  const data = temporaryFolder(t);
  const args = ['serve', '--json', '--host', '127.0.0.1', '--data', data];
  const refused = startProcess(t, [...args, '--port', String(port)]);
  assert.equal(await refused.exit, 1);
  assert.equal(refused.stdout, '');
  const line = `postrider serve cannot start: port ${port} is in use; choose another with --port, or 0 for any free one.\n`;
  assert.equal(refused.stderr.replace(LOG_LINES, ''), line);
  const { token } = await startProcess(t, [...args, '--port', '0']).ready();
  assert.match(token ?? '', /^pr_/);
});

test('serve does not start when the port of the metrics is busy, and names the right flag', async (t) => {
  const port = await busyPort(t);
  const args = ['--json', '--host', '127.0.0.1', '--port', '0', '--data', temporaryFolder(t)];
  const refused = startProcess(t, ['serve', ...args, '--metrics-port', String(port)]);
  assert.equal(await refused.exit, 1);
  const line = `postrider serve cannot start: port ${port} is in use; choose another with --metrics-port, or 0 for any free one.\n`;
  assert.equal(refused.stderr.replace(LOG_LINES, ''), line);
});

test('two processes on one data directory: the second says who is in the way', { skip: onlySqlite }, async (t) => {
  const data = temporaryFolder(t);
  await startProcess(t, ['dev', '--json', '--port', '0', '--data', data]).ready();
  const second = startProcess(t, ['dev', '--json', '--port', '0', '--data', data]);
  assert.equal(await second.exit, 1);
  assert.equal(second.stdout, '');
  assert.equal(second.stderr.trim().split('\n').length, 1, second.stderr);
  assert.match(second.stderr, /^postrider dev cannot start: The data directory .* is in use by another postrider\./);
});

test('a data directory that cannot be made is named', { skip: onlySqlite }, async (t) => {
  const file = join(temporaryFolder(t), 'a-file');
  writeFileSync(file, '');
  const noDirectory = startProcess(t, ['dev', '--port', '0', '--data', file]);
  assert.equal(await noDirectory.exit, 1);
  assert.match(
    noDirectory.stderr,
    /^postrider dev cannot start: cannot use the data directory .*a-file: it is a file, not/,
  );
});

test('an address that is not there is named', async (t) => {
  const noAddress = startProcess(t, ['dev', '--port', '0', '--host', '192.0.2.1', '--data', temporaryFolder(t)]);
  assert.equal(await noAddress.exit, 1);
  assert.match(noAddress.stderr, /^postrider dev cannot start: cannot listen on 192\.0\.2\.1, port 0: /);
});

test('bad settings are all listed at once, from flags and environment', async (t) => {
  const args = ['serve', '--port', '99999', '--drain', 'soon', '--prot', '1', '--header-prefix', 'no hyphen'];
  const rider = startProcess(t, args, { POSTRIDER_CONCURRENCY: 'many' });
  assert.equal(await rider.exit, 2);
  assert.equal(rider.stdout, '');
  const [head, ...problems] = rider.stderr.trimEnd().split('\n');
  assert.equal(head, 'postrider serve cannot start:');
  assert.equal(problems.length, 5, rider.stderr);
  for (const name of [
    '--port ',
    '--drain ',
    '--prot; did you mean --port',
    '--header-prefix ',
    'POSTRIDER_CONCURRENCY ',
  ]) {
    assert.ok(
      problems.some((problem) => problem.startsWith('  - ') && problem.includes(name)),
      name,
    );
  }
});

test('an unknown command is named, with the one that may be meant; none at all shows how to use it', async (t) => {
  const mistyped = startProcess(t, ['serv']);
  assert.equal(await mistyped.exit, 2);
  assert.match(mistyped.stderr, /^postrider: there is no command "serv"; did you mean "serve"\?\n/);
  const none = startProcess(t, []);
  assert.equal(await none.exit, 2);
  assert.match(none.stdout, /postrider dev .*\n.*postrider serve /);
});

test('help and version answer and succeed', async (t) => {
  const version = startProcess(t, ['--version']);
  const settings = startProcess(t, ['dev', '--help']);
  assert.deepEqual(await Promise.all([version.exit, settings.exit]), [0, 0]);
  assert.equal(version.stdout, `${VERSION}\n`);
  assert.match(settings.stdout, /--header-prefix <prefix>/);
});
