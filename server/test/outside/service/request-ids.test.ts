// Each request has an id: the one that it brings, or a new one. It is in the response, in the log and in the audit.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Answered, ask } from '../../support/client.ts';
import { type Rider, ridersOfOneService, temporaryFolder } from '../../support/harness.ts';
import { startProcess } from '../../support/process.ts';
import { RawCaller } from '../../support/raw-caller.ts';
import { waitFor } from '../../support/wait.ts';

const startRider = ridersOfOneService();
const LATER = { 'Service-Delay': '1h' };
const NOWHERE = 'http://127.0.0.1:9/';
const MADE = /^[0-9a-z]{10}-[0-9a-z]+$/;

const idOf = ({ headers }: Answered) => headers['x-request-id'];

/** Responses of every kind: publishes, calls, errors before and behind the token, the console. */
function everyKind(rider: Rider, headers: Readonly<Record<string, string>>): Promise<Answered>[] {
  const own = { headers };
  const plain = (path: string, more = {}) => ask(rider.url, path, { headers, ...more });
  return [
    rider.publish(NOWHERE, { headers: { ...headers, ...LATER } }),
    rider.enqueue('q', NOWHERE, { headers: { ...headers, ...LATER } }),
    rider.batch([{ destination: NOWHERE, headers: LATER }], own),
    // Not in one piece of the plainest form: read by node:http.
    rider.publish(NOWHERE, { headers: { ...headers, ...LATER, TE: 'trailers' } }),
    rider.publish('nonsense:', own),
    rider.publish(NOWHERE, { ...own, token: 'nonsense' }),
    rider.publish(NOWHERE, { headers: { ...headers, TE: 'trailers' }, token: 'nonsense' }),
    rider.call('GET', '/v2/messages', own),
    rider.call('GET', '/v2/messages/none', own),
    rider.call('GET', '/v2/nonsense', own),
    rider.call('GET', '/v2/messages', { ...own, token: null }),
    rider.call('DELETE', '/v2/queues', own),
    plain('/healthz'),
    plain('/metrics'),
    plain('/openapi.json'),
    plain('/console/'),
    plain('/console/nonsense.js'),
    plain('/console/session', { method: 'POST' }),
  ];
}

test('every response names its request, and no two the same', async (t) => {
  const rider = await startRider(t);
  const ids = (await Promise.all(everyKind(rider, {}))).map(idOf);
  for (const id of ids) assert.match(String(id), MADE);
  assert.equal(new Set(ids).size, ids.length);
});

test('an id that the caller gives is taken over, and is in the audit', async (t) => {
  const rider = await startRider(t);
  for (const given of ['a', 'Root=1-5759e988-bd862e3fe1be46a994272793', `${'x'.repeat(128)}`, 'a.b_c:d~e+f/g=h@i-j']) {
    const ids = (await Promise.all(everyKind(rider, { 'X-Request-Id': given }))).map(idOf);
    assert.deepEqual(new Set(ids), new Set([given]));
  }
  await rider.call('POST', '/v2/queues', { headers: { 'X-Request-Id': 'my-own' }, body: '{"queueName":"named"}' });
  const { audit } = await rider.manage<{ audit: readonly { requestId: string }[] }>('GET', '/v2/audit?target=named');
  assert.deepEqual(
    audit.map(({ requestId }) => requestId),
    ['my-own'],
  );
});

test('an id that is too long, or has other characters, is replaced', async (t) => {
  const rider = await startRider(t);
  for (const given of ['x'.repeat(129), 'a b', 'a,b', 'é', '"a"', '<a>', 'a;b', '{}', '%0a', "'"]) {
    const ids = (await Promise.all(everyKind(rider, { 'X-Request-Id': given }))).map(idOf);
    for (const id of ids) assert.match(String(id), MADE, given);
  }
  const twice = { headers: { 'X-Request-Id': ['a', 'b'] as readonly string[], ...LATER } };
  for (const answer of [await rider.publish(NOWHERE, twice), await rider.call('GET', '/v2/messages', twice)]) {
    assert.match(String(idOf(answer)), MADE);
  }
});

test('a response to what is no request has an id too', async (t) => {
  const rider = await startRider(t);
  const caller = (await RawCaller.dial(t, rider.url)).listen();
  caller.say('this is not HTTP\r\n\r\n');
  await waitFor('the response', () => /\r\nX-Request-Id: [0-9a-z]{10}-[0-9a-z]+\r\n/.test(caller.text));
});

test('the log has the id of a refused call, and at the level debug of every refused call with a token', async (t) => {
  const flags = ['--port', '0', '--log-level', 'debug', '--data', temporaryFolder(t)];
  const { api, lines } = await logOf(t, ['dev', '--json', ...flags]);
  const send = (path: string, id: string, token: string) =>
    ask(api, path, { method: 'POST', headers: { Authorization: `Bearer ${token}`, 'X-Request-Id': id } });
  await send('/v2/publish/nonsense:', 'bad-destination', 'dev_postrider');
  await send('/v2/queues/none/pause', 'no-queue', 'dev_postrider');
  for (const id of ['stranger-1', 'stranger-2', 'stranger-3']) await send('/v2/publish/nonsense:', id, 'nonsense');
  await send('/v2/queues/none/resume', 'last', 'dev_postrider');
  const found = await waitFor('the lines', () => {
    const named = lines().filter(({ request }) => request !== undefined);
    return named.some(({ request, msg }) => request === 'last' && msg === 'a request was refused') && named;
  });
  assert.deepEqual(
    found.map(({ request, msg, code }) => `${msg}: ${request} ${code}`),
    [
      'a request was refused: bad-destination bad_destination',
      'audit: refused: no-queue queue_not_found',
      'a request was refused: no-queue queue_not_found',
      'audit: refused: stranger-1 unauthorized',
      'audit: refused: last queue_not_found',
      'a request was refused: last queue_not_found',
    ],
  );
});

test('with --log-successes, only some of the attempts that deliver have a line, and all that fail', async (t) => {
  const flags = ['--port', '0', '--log-level', 'info', '--data', temporaryFolder(t)];
  const { api, lines } = await logOf(t, ['dev', '--json', ...flags, '--log-successes', '0']);
  const headers = { Authorization: 'Bearer dev_postrider', 'Service-Retries': '0' };
  for (const path of ['ok', 'ok', 'ok', 'status/503']) {
    await ask(api, `/v2/enqueue/q/${api}/dev/sink/${path}`, { method: 'POST', headers });
  }
  const attempts = await waitFor('the failed attempt', () => {
    const found = lines().filter(({ msg }) => msg === 'attempt');
    return found.length > 0 && found;
  });
  assert.deepEqual(
    attempts.map(({ next }) => next),
    ['failed'],
  );
});

interface Line {
  readonly msg: string;
  readonly request?: string;
  readonly code?: string;
  readonly next?: string;
}

/** Starts a service, and reads the lines of its log. */
async function logOf(t: TestContext, args: readonly string[]) {
  const started = startProcess(t, args);
  const { api } = await started.ready();
  const lines = () =>
    started.stderr
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as Line);
  return { api, lines };
}
