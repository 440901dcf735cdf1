// Receivers behind TLS: certificates are checked, against the name and against the time.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createServer } from 'node:tls';
import { promisify } from 'node:util';
import { CA, CERTIFICATE, EXPIRED_CERTIFICATE, KEY } from './certificates.ts';
import { answerWith, OK, startReceiver } from './receivers.ts';
import { startSender } from './senders.ts';

const network = { connect, lookup: async () => ['127.0.0.1'] };

function startTlsReceiver(t: TestContext, cert: string, onServerName: (name: unknown) => void = () => {}) {
  const makeServer = (listener: (socket: Socket) => void): Server =>
    createServer({ key: KEY, cert, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
      onServerName(socket.servername);
      listener(socket);
    });
  return startReceiver(t, answerWith(OK), makeServer);
}

test('a certificate by an unknown authority is not trusted', async (t) => {
  const receiver = await startTlsReceiver(t, CERTIFICATE);
  const { outcome } = startSender(t, { network });
  const answer = await outcome({ url: `https://receiver.test:${receiver.port}/` });
  assert.ok(answer.kind === 'unreachable');
  assert.match(answer.reason, /^TLS: unable to verify the first certificate/);
});

test('a port that does not speak TLS is named as such', async (t) => {
  const receiver = await startReceiver(t, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const { outcome } = startSender(t);
  assert.deepEqual(await outcome({ url: `https://127.0.0.1:${receiver.port}/` }), {
    kind: 'unreachable',
    reason: 'TLS: wrong version number (the port may not use TLS)',
  });
});

test('a receiver that hangs up during the handshake is named as such', async (t) => {
  const receiver = await startReceiver(t, (socket) => socket.once('data', () => socket.destroy()));
  const { outcome } = startSender(t);
  assert.deepEqual(await outcome({ url: `https://127.0.0.1:${receiver.port}/` }), {
    kind: 'unreachable',
    reason: 'TLS: connection closed during the handshake',
  });
});

test('a receiver that never ends the handshake times out', async (t) => {
  const receiver = await startReceiver(t, (socket) => socket.once('data', () => clock.advance(2_000)));
  const { outcome, clock } = startSender(t);
  const answer = await outcome({ url: `https://127.0.0.1:${receiver.port}/`, timeoutMs: 2_000 });
  assert.deepEqual(answer, { kind: 'timedOut', timeoutMs: 2_000 });
});

// Node reads NODE_EXTRA_CA_CERTS at its start only, so what depends on it runs in a process of its own.
const SCRIPT = `
import { createNetworkSender } from '${import.meta.resolve('../../../src/delivery/http/network-sender.ts')}';
import { systemWorld } from '${import.meta.resolve('../../../src/runtime/world.ts')}';
import { policyOf } from '${import.meta.resolve('./senders.ts')}';
import { connect } from 'node:net';
const network = { connect, lookup: async () => ['127.0.0.1'] };
const policy = policyOf('127.0.0.1');
const sender = createNetworkSender({ world: systemWorld(), policy, hostConnectionsMax: 4, headerPrefix: 'Service-', network });
const urls = process.argv.slice(1);
const results = {};
sender.onReports(async (reports) => {
  for (const { lease, outcome } of reports) results[lease] = outcome.reason ?? outcome.status;
  if (Object.keys(results).length === urls.length) {
    await sender.close();
    console.log(JSON.stringify(urls.map((url) => results[url])));
  }
});
sender.send(urls.map((url) => ({
  lease: url, messageId: 'msg_1', url, method: 'POST', headers: [], body: Buffer.from('x'), timeoutMs: 20_000, signingKey: 'k',
})));
`;

test('with its authority known, a certificate is checked against name, address and time', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-tls-'));
  t.after(() => rm(folder, { recursive: true }));
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, CA);
  const serverNames: unknown[] = [];
  const good = await startTlsReceiver(t, CERTIFICATE, (name) => serverNames.push(name));
  const expired = await startTlsReceiver(t, EXPIRED_CERTIFICATE);
  const urls = [
    `https://receiver.test:${good.port}/`,
    `https://Receiver.TEST.:${good.port}/`,
    `https://127.0.0.1:${good.port}/`,
    `https://other.test:${good.port}/`,
    `https://receiver.test:${expired.port}/`,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', SCRIPT, '--', ...urls], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: caFile },
  });
  const [byName, byDottedName, byAddress, otherName, tooOld] = JSON.parse(stdout);
  assert.deepEqual([byName, byDottedName, byAddress], [200, 200, 200]);
  assert.match(otherName, /^TLS: certificate is for another name: Host: other\.test\. is not in/);
  assert.equal(tooOld, 'TLS: certificate has expired');
  assert.deepEqual(serverNames.filter((name) => name !== 'other.test').sort(), [
    false,
    'receiver.test',
    'receiver.test',
  ]);
});
