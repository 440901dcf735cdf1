// The metrics behind a token, or on a port of their own: what strangers reach shows them nothing.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { suite, test } from 'node:test';
import { parseConfig } from '../../../src/node/settings/config.ts';
import { nodeMax } from '../../../src/rules/limits/budgets.ts';
import { ask } from '../../support/client.ts';
import { sharedRider } from '../../support/harness.ts';
import { waitFor } from '../../support/wait.ts';

const TOKEN = 'metrics-are-for-the-operator';
const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });

suite('with --metrics-token', () => {
  const shared = sharedRider({ flags: ['--metrics-token', TOKEN] });

  test('nobody reads them without it, with another one, or with a token of the API', async () => {
    const { url, token } = shared();
    const wrong = [{}, bearer(token!), bearer(`${TOKEN}x`), bearer(TOKEN.slice(0, -1)), bearer('x')];
    for (const options of [...wrong, { headers: { Authorization: TOKEN } }]) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await ask(url, '/metrics', { ...options, method });
        assert.equal(answer.status, 401, JSON.stringify(options));
        assert.doesNotMatch(answer.text, /postrider_/);
        assert.equal(answer.headers['www-authenticate'], 'Bearer realm="postrider"');
      }
    }
    const right = await ask(url, '/metrics', bearer(TOKEN));
    assert.equal(right.status, 200);
    assert.match(right.text, /^postrider_pool_used\{pool="connections"\} \d+$/m);
  });

  test('it opens nothing else, and the probes need no token', async () => {
    const { url } = shared();
    assert.equal((await ask(url, '/v2/messages', bearer(TOKEN))).status, 401);
    for (const path of ['/healthz', '/readyz']) assert.equal((await ask(url, path, {})).status, 200);
  });

  test('the description of the API says so, and does not contain it', async () => {
    const { text } = await shared().call('GET', '/openapi.json', { token: null });
    const { paths } = JSON.parse(text) as {
      paths: Record<string, { get: { security: unknown[]; responses: object } }>;
    };
    const { security, responses } = paths['/metrics']!.get;
    assert.equal(security.length, 2);
    assert.ok('401' in responses);
    assert.ok(!text.includes(TOKEN));
  });
});

suite('with --metrics-port', () => {
  const shared = sharedRider({ flags: ['--metrics-port', '0', '--metrics-token', TOKEN] });
  const metricsUrl = () => new URL(shared().postrider.metricsUrl!);

  test('they are there alone, and the port of the API has none', async () => {
    const { url } = shared();
    const { origin } = metricsUrl();
    assert.notEqual(origin, url);
    assert.equal((await ask(url, '/metrics', bearer(TOKEN))).status, 404);
    const root = await ask(url, '/', {});
    assert.ok(!root.text.includes('metrics'));
    assert.ok(!(await ask(url, '/openapi.json', {})).text.includes('"/metrics"'));
    const right = await ask(origin, '/metrics', bearer(TOKEN));
    assert.equal(right.status, 200);
    assert.match(right.headers['content-type']!, /^text\/plain; version=0\.0\.4/);
    assert.match(right.text, /^postrider_messages_accepted_total/m);
    assert.equal((await ask(origin, '/metrics', { ...bearer(TOKEN), method: 'HEAD' })).text, '');
  });

  test('it needs the token too, and has nothing else', async () => {
    const { token } = shared();
    const { origin } = metricsUrl();
    assert.equal((await ask(origin, '/metrics', {})).status, 401);
    assert.equal((await ask(origin, '/metrics', { ...bearer(TOKEN), method: 'POST', body: 'x' })).status, 405);
    for (const path of ['/', '/healthz', '/v2/messages', '/console/', '/metrics/', '/openapi.json']) {
      assert.equal((await ask(origin, path, bearer(token!))).status, 404, path);
    }
    const rebound = await ask(origin, '/metrics', { headers: { ...bearer(TOKEN).headers, Host: 'evil.example' } });
    assert.equal(rebound.status, 421);
  });

  test('it takes so many connections and no more, and is there again when they have gone', async (t) => {
    const { hostname, port, origin } = metricsUrl();
    const dial = async (): Promise<Socket> => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      t.after(() => void socket.destroy());
      await once(socket, 'connect');
      return socket.resume();
    };
    const held: Socket[] = [];
    for (let count = 0; count < nodeMax('metricsConnections'); count += 1) held.push(await dial());
    const beyond = await dial();
    await waitFor('the one too many to be closed', () => beyond.destroyed);
    for (const socket of held) socket.destroy();
    await waitFor('room again', async () =>
      ask(origin, '/metrics', bearer(TOKEN)).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  });
});

test('one port for both, a short token and a port that is none are refused at the start, and no token is repeated', () => {
  for (const [argv, words] of [
    [['--port', '9100', '--metrics-port', '9100'], /--metrics-port must be another port than --port/],
    [['--metrics-token', 'short'], /--metrics-token must be 16 to 256 printable ASCII characters without blanks$/],
    [['--metrics-token', 'with blanks in between'], /--metrics-token must be/],
    [['--metrics-port', 'tcp://10.0.0.1:9100'], /service link/],
    [['--metrics-port', '65536'], /--metrics-port must be a whole number from 0 to 65535/],
  ] as const) {
    const parsed = parseConfig('serve', argv, {});
    assert.ok('problems' in parsed);
    assert.match(parsed.problems.join('\n'), words);
    assert.doesNotMatch(parsed.problems.join('\n'), /short|with blanks in/);
  }
});
