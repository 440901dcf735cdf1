// No secret is ever written to the log or to the terminal, at the most talkative level: tokens, cookies, signing keys,
// forwarded headers, and what stands in the query of a destination.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../../support/client.ts';
import { temporaryFolder } from '../../support/harness.ts';
import { startProcess } from '../../support/process.ts';
import { waitFor } from '../../support/wait.ts';

test('tokens, sessions, keys and what is forwarded are in no line of the log', async (t) => {
  const flags = ['--log-level', 'debug', '--allow-cidr', '127.0.0.0/8', '--header-prefix', 'Upstash-'];
  const data = temporaryFolder(t);
  const rider = startProcess(t, ['serve', '--json', '--host', '127.0.0.1', '--port', '0', '--data', data, ...flags]);
  const { api, token } = await rider.ready();
  const Authorization = `Bearer ${token}`;
  const own = { 'X-Postrider-Console': '1' };

  const signedIn = await ask(api, '/console/session', {
    method: 'POST',
    headers: own,
    body: JSON.stringify({ token }),
  });
  const cookie = signedIn.headers['set-cookie']![0]!.split(';')[0]!;
  await ask(api, '/v2/account', { headers: { ...own, Cookie: cookie } });
  const keys = (await ask(api, '/v2/keys', { headers: { Authorization } })).json<{ current: string; next: string }>();
  const destination = 'http://127.0.0.1:1/hook?key=secret-of-the-query';
  const sent = await ask(api, `/v2/publish/${destination}`, {
    method: 'POST',
    headers: { Authorization, 'Upstash-Retries': '0', 'Upstash-Forward-X-Api-Key': 'secret-of-the-receiver' },
    body: 'secret-of-the-body',
  });
  assert.equal(sent.status, 201, sent.text);
  await ask(api, `/v2/messages?qstash_token=${token}`, {});
  await ask(api, `/v2/messages/${token}`, { headers: { Authorization: 'Bearer wrong-secret' } });
  await ask(api, '/v2/queues', { headers: { Authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` } });
  await waitFor('the attempt to be logged', () => /"attempt":1/.test(rider.stderr));
  rider.signal('SIGTERM');
  assert.equal(await rider.exit, 0);

  const basic = Buffer.from(`x:${token}`).toString('base64');
  const secrets = [token!, basic, cookie.split('=')[1]!, keys.current, keys.next, 'wrong-secret'];
  secrets.push('secret-of-the-query', 'secret-of-the-receiver', 'secret-of-the-body');
  for (const secret of secrets) assert.equal(rider.stderr.includes(secret), false, rider.stderr);
});
