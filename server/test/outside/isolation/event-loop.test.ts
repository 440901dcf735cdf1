// The time of the event loop: one account that has large requests parsed on many connections does not keep another
// account's small ones waiting. Counted is the attacker's work that is done while the other waits, not time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../../support/client.ts';
import { startProcess } from '../../support/process.ts';
import { RawCaller } from '../../support/raw-caller.ts';
import { waitFor } from '../../support/wait.ts';

const METRICS_TOKEN = 'names-the-accounts';
const CONNECTIONS = 40;
const PUBLISHES = 20;
/** No element is right, so that nothing of it is stored: all of its work is in the loop. */
const BAD = { destination: 'http://192.0.2.1/', headers: { 'Service-Retries': 'x' } };
const BATCH = JSON.stringify(Array.from({ length: 800 }, () => BAD));
const START = 'HTTP/1.1 400 ';
/** So many batches may be handled, on the average, while a small publish waits. Without turns it is more than one for each connection. */
const BATCHES_MAX = CONNECTIONS / 2;

test('while an account has large batches parsed on many connections, a small publish of another waits for few of them', async (t) => {
  const flags = ['--json', '--port', '0', '--clock', 'manual', '--metrics-token', METRICS_TOKEN];
  const { api, token } = await startProcess(t, ['dev', ...flags]).ready();
  const json = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const made = async (path: string, body: object) =>
    (await ask(api, path, { method: 'POST', headers: json, body: JSON.stringify(body) })).json<{
      id: string;
      token: string;
    }>();
  const account = await made('/v2/admin/accounts', { name: 'parses', tier: 'free' });
  const attacker = await made('/v2/admin/tokens', { accountId: account.id, name: 'parses', scopes: ['publish'] });
  const head = `Host: localhost\r\nAuthorization: Bearer ${attacker.token}\r\nContent-Length: ${BATCH.length}`;
  const request = `POST /v2/batch HTTP/1.1\r\n${head}\r\n\r\n${BATCH}`;
  let handled = 0;
  for (let count = 0; count < CONNECTIONS; count += 1) {
    const { socket } = await RawCaller.dial(t, api);
    let end = '';
    socket.on('data', (chunk: Buffer) => {
      const text = end + chunk.toString('latin1');
      const begun = text.split(START).length - 1;
      end = text.slice(1 - START.length);
      handled += begun;
      // Another one is always on its way.
      socket.write(request.repeat(begun));
    });
    socket.write(request.repeat(2));
  }
  await waitFor('all of them to be served', () => handled > 3 * CONNECTIONS);
  const before = handled;
  const headers = { Authorization: `Bearer ${token}`, 'Service-Delay': '1h' };
  for (let count = 0; count < PUBLISHES; count += 1) {
    const { status } = await ask(api, '/v2/publish/http://192.0.2.1/', { method: 'POST', headers, body: 'hi' });
    assert.equal(status, 201);
  }
  const during = (handled - before) / PUBLISHES;
  t.diagnostic(`batches handled while a publish waits: ${during}`);
  assert.ok(during <= BATCHES_MAX, `${during}`);
  const { text } = await ask(api, '/metrics', { headers: { Authorization: `Bearer ${METRICS_TOKEN}` } });
  const [, mostBy] = /^postrider_loop_used_seconds\{account="(acc_\w+)"\} /m.exec(text) ?? [];
  assert.equal(mostBy, account.id);
});
