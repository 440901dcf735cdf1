// dev answers only under its own names: a web page that gives its name the address of this machine reaches nothing.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { OwnHosts } from '../../../src/inbound/server/own-hosts.ts';
import { type Answered, ask, exchange } from '../../support/client.ts';
import { type Rider, refusal, sharedRider, startRider, temporaryFolder } from '../../support/harness.ts';
import { startProcess } from '../../support/process.ts';

const FOREIGN = ['evil.example', 'evil.example:8411', 'localhost.evil.example', 'a.nip.io', '127.0.0.1.evil.example'];
const STRANGE = ['evil', '10.0.0.1', '[2001:db8::1]:80', '8.8.8.8', '127.1'];
const NO_HOSTS = ['', ' ', 'localhost:x', 'localhost@evil'];

function under(rider: Rider, host: string, path = '/v2/account', method = 'GET'): Promise<Answered | null> {
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${rider.token}\r\n`;
  return exchange(rider.url, `${head}Content-Length: 0\r\nConnection: close\r\n\r\n`);
}

suite('dev on this machine', () => {
  const rider = sharedRider();

  test('refuses every path under a name that is not its own, with the reason', async () => {
    for (const host of [...FOREIGN, ...STRANGE]) {
      const answer = await under(rider(), host);
      assert.ok(answer, host);
      assert.match(refusal(answer, 421, 'misdirected'), /^Host: dev does not accept .*--allow-host/, host);
    }
    for (const host of NO_HOSTS) {
      const answer = await under(rider(), host);
      assert.ok(answer, host);
      refusal(answer, 400, 'bad_request');
    }
    const paths = ['/', '/console/', '/console/session', '/healthz', '/metrics', '/openapi.json', '/dev/sink/ok'];
    for (const path of paths) {
      const answer = await under(rider(), 'evil.example', path);
      assert.ok(answer, path);
      refusal(answer, 421, 'misdirected');
    }
    for (const path of ['/v2/publish/http://127.0.0.1:1/', '/v2/enqueue/q/http://127.0.0.1:1/', '/v2/batch']) {
      const answer = await under(rider(), 'evil.example', path, 'POST');
      assert.ok(answer, path);
      refusal(answer, 421, 'misdirected');
    }
    assert.deepEqual(await rider().manage('GET', '/v2/messages'), { messages: [] });
  });

  test('answers to localhost and what is below it, and to every address of the loopback', async () => {
    const own = ['localhost', 'LOCALHOST:1', 'localhost.', 'shop.localhost:8411', '127.0.0.1', '127.9.9.9', '[::1]:80'];
    for (const host of own) assert.equal((await under(rider(), host))?.status, 200, host);
    const old = await exchange(rider().url, `GET /healthz HTTP/1.0\r\n\r\n`);
    assert.equal(old?.status, 200, 'no browser leaves Host out');
  });
});

test('a page of another site cannot publish through dev with the token that everybody knows', async (t) => {
  const rider = await startRider(t, { flags: ['--header-prefix', 'Upstash-'] });
  const path = `/v2/publish/http://127.0.0.1:1/?qstash_token=${rider.token}`;
  const simple = { 'Content-Type': 'text/plain', 'Upstash-Delay': '1d' };
  for (const origin of ['https://evil.example', 'http://evil.example:8411', 'null', 'http://10.0.0.1', 'nonsense']) {
    const answer = await ask(rider.url, path, { method: 'POST', headers: { ...simple, Origin: origin }, body: 'x' });
    assert.match(refusal(answer, 403, 'forbidden'), /^Origin: .*--allow-host/, origin);
  }
  assert.deepEqual((await rider.manage<{ messages: unknown[] }>('GET', '/v2/messages')).messages, []);
  for (const origin of [rider.url, 'http://localhost:3000']) {
    const answer = await ask(rider.url, path, { method: 'POST', headers: { ...simple, Origin: origin }, body: 'x' });
    assert.equal(answer.status, 201, answer.text);
  }
});

test('dev answers to the names it was given', async (t) => {
  const rider = await startRider(t, { flags: ['--allow-host', 'Box.example,*.tunnel.example'] });
  for (const host of ['box.example:1', 'a.b.tunnel.example'])
    assert.equal((await under(rider, host))?.status, 200, host);
  for (const host of ['tunnel.example', 'a.box.example', 'evil.example']) {
    refusal((await under(rider, host))!, 421, 'misdirected');
  }
});

test('serve answers under any name: it is not let into by what everybody knows', async (t) => {
  const rider = await startRider(t, { command: 'serve' });
  for (const host of [...FOREIGN, '8.8.8.8']) assert.equal((await under(rider, host))?.status, 200, host);
});

test('beyond this machine any address will do and its own name, and no other name', () => {
  const hosts = new OwnHosts({ host: '0.0.0.0', machine: 'Laptop', allowed: [] });
  hosts.boundTo = '0.0.0.0';
  for (const host of ['192.168.1.5:8411', '[fe80::1]', '127.0.0.1', 'laptop', 'localhost']) {
    assert.equal(hosts.problemOf(host), null, host);
  }
  for (const host of ['evil.example', 'laptop.evil.example']) assert.notEqual(hosts.problemOf(host), null, host);
  const named = new OwnHosts({ host: 'Dev.internal', machine: 'laptop', allowed: [] });
  named.boundTo = '127.0.0.1';
  assert.equal(named.problemOf('dev.internal:80'), null);
  assert.notEqual(named.problemOf('laptop'), null, 'nobody else can come that way');
});

test('dev says so when it listens beyond this machine, and is silent on it', async (t) => {
  const args = (host: string) => ['dev', '--json', '--port', '0', '--host', host, '--data', temporaryFolder(t)];
  const beyond = startProcess(t, args('0.0.0.0'));
  const { api } = await beyond.ready();
  await beyond.prints('stderr', /dev listens on 0\.0\.0\.0, so other machines can reach it\. All of them can use it/);
  assert.equal((await ask(api, '/healthz', { headers: { Host: '192.0.2.7' } })).status, 200);
  refusal(await ask(api, '/healthz', { headers: { Host: 'evil.example' } }), 421, 'misdirected');
  const here = startProcess(t, args('127.0.0.1'));
  await here.ready();
  here.signal('SIGTERM');
  await here.exit;
  assert.doesNotMatch(here.stderr, /other machines can reach it/);
});
