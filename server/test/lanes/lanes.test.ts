// A process with several lanes: real threads, one port, one file. To a caller it is one service, whichever lane takes
// the connection, also when a lane ends.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { type Postrider, startPostrider } from '../../src/node/main.ts';
import { parseConfig } from '../../src/node/settings/config.ts';
import { openReader } from '../../src/store/sqlite/files/open.ts';
import { ask } from '../support/client.ts';
import { lacks } from '../support/machine.ts';
import { type Reply, startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';

const LANES = 3;
/** So many new connections reach every lane, but for a chance that is smaller than that of a broken machine. */
const MANY = 60;
const HOST_CONCURRENCY = 78;
const AT_ONCE = HOST_CONCURRENCY / 2;

const data = mkdtempSync(join(tmpdir(), 'postrider-lanes-'));
/** The threads of the lanes beside the main thread, also of those that have ended. */
const laneThreads: Worker[] = [];
const noteThread = (worker: Worker) => {
  if (worker.threadName?.startsWith('lane-')) laneThreads.push(worker);
};
let postrider: Postrider;
/** Made by the first start. */
let token = '';

async function start(): Promise<void> {
  const place = ['--data', data, '--port', '0', '--host', '127.0.0.1'];
  const limits = ['--lanes', String(LANES), '--host-concurrency', String(HOST_CONCURRENCY)];
  const parsed = parseConfig(
    'serve',
    [...place, ...limits, '--log-level', 'silent', '--allow-cidr', '127.0.0.0/8'],
    {},
  );
  assert.ok('config' in parsed);
  postrider = await startPostrider(parsed.config);
  token ||= postrider.token!;
  await waitFor('all lanes to listen', async () => (await metric('postrider_lanes')) === LANES);
}

before(async () => {
  process.on('worker', noteThread);
  await start();
});

after(async () => {
  await postrider.close();
  process.off('worker', noteThread);
  rmSync(data, { recursive: true });
});

function call(method: string, path: string, { token: own = token, body }: CallOptions = {}) {
  const headers = { Authorization: `Bearer ${own}`, Connection: 'close' };
  return ask(postrider.url, path, { method, headers, ...(body !== undefined && { body }) });
}

interface CallOptions {
  readonly token?: string;
  readonly body?: string;
}

/** Each over a connection of its own. */
async function publishMany(url: string): Promise<void> {
  const answers = await Promise.all(
    Array.from({ length: MANY }, (_, index) => call('POST', `/v2/publish/${url}/${index}`, { body: 'hello' })),
  );
  for (const answer of answers) assert.equal(answer.status, 201, answer.text);
}

/** The nodes that hold a claim: each lane is one. */
function holders(): string[] {
  const { database, close } = openReader(data);
  try {
    const rows = database.all<{ node: string }>('SELECT DISTINCT node FROM messages WHERE node IS NOT NULL');
    return rows.map(({ node }) => node);
  } finally {
    close();
  }
}

async function metric(name: string): Promise<number> {
  const { text } = await ask(postrider.url, '/metrics', {});
  const line = text.split('\n').find((each) => each.startsWith(`${name} `) || each.startsWith(`${name}{`));
  return Number(line?.split(' ').at(-1));
}

async function allDelivered(): Promise<void> {
  await waitFor('all messages to be delivered', async () => {
    const [accepted, ended] = [
      await metric('postrider_messages_accepted_total'),
      await metric('postrider_messages_ended_total'),
    ];
    return ended >= accepted;
  });
}

/** A receiver that answers only when it is told to. */
async function startHolding(t: TestContext) {
  let letGo: (reply: Reply) => void = () => {};
  const held = new Promise<Reply>((resolve) => {
    letGo = resolve;
  });
  const receiver = await startReceiver(t, () => held);
  return { receiver, letGo: () => letGo(200) };
}

test('every lane takes connections and delivers, and the limits hold for all of them together', async (t) => {
  const { receiver, letGo } = await startHolding(t);
  await publishMany(receiver.url);
  // An account alone gets half of the places of each lane at a host.
  await receiver.received(AT_ONCE);
  assert.equal(holders().length, LANES);
  assert.equal(await metric('postrider_attempts_in_flight'), AT_ONCE);
  assert.equal(await metric('postrider_messages_accepted_total'), MANY);
  assert.equal(await metric('postrider_pool_max{pool="slots"}'), 1000);
  const parallelism = await call('GET', '/v2/globalParallelism');
  assert.deepEqual(parallelism.json(), { parallelismMax: 1000, parallelismCount: AT_ONCE });
  const { nodes } = (await call('GET', '/v2/nodes')).json<{ nodes: unknown[] }>();
  assert.equal(nodes.length, 1, 'people see one node');
  assert.equal(receiver.arrivals.length, AT_ONCE, 'the others wait');
  letGo();
  await allDelivered();
  assert.equal(receiver.arrivals.length, MANY);
  assert.equal(new Set(receiver.arrivals.map(({ target }) => target)).size, MANY, 'each arrives once');
});

test('a debounce key, an ack and a parked host are the same on every lane', async (t) => {
  const receiver = await startReceiver(t, () => 202);
  const post = (path: string, headers: Record<string, string>, body = '') =>
    ask(postrider.url, path, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, Connection: 'close', ...headers },
      body,
    });
  const many = <T>(make: (index: number) => Promise<T>) =>
    Promise.all(Array.from({ length: MANY }, (_, index) => make(index)));
  const publish = (headers: Record<string, string>, body?: string) =>
    post(`/v2/publish/${receiver.url}`, headers, body).then((answer) =>
      answer.json<{ messageId: string; debounced?: number }>(),
    );
  const debounce = { 'Service-Debounce-Key': 'lanes', 'Service-Debounce': '1h' };
  const debounced = await many((index) => publish(debounce, String(index)));
  assert.equal(new Set(debounced.map(({ messageId }) => messageId)).size, 1);
  assert.equal(new Set(debounced.map((each) => each.debounced)).size, MANY);
  await call('DELETE', `/v2/messages/${debounced[0]!.messageId}`);

  const { messageId } = await publish({ 'Service-Await-Ack': '30m' });
  const [arrival] = await receiver.received(1);
  const { pathname } = new URL(arrival!.header('Service-Ack-Url')!);
  const say = (body: object) => post(pathname, {}, JSON.stringify(body)).then(({ status }) => status);
  const ackOf = async () => (await call('GET', `/v2/messages/${messageId}`)).json<{ ack?: object; state: string }>();
  await waitFor('the 202 to be written', async () => (await ackOf()).ack);
  assert.deepEqual([...new Set(await many(() => say({ progress: 0.5 })))], [200]);
  assert.deepEqual([...new Set(await many(() => say({ ok: true })))], [200]);
  assert.deepEqual([...new Set(await many(() => say({ ok: false })))], [410]);
  assert.equal((await ackOf()).state, 'DELIVERED');

  const { host } = new URL(receiver.url);
  await call('POST', `/v2/hosts/${host}/park`);
  // The lanes count what each of them knows.
  await waitFor('all lanes to know', async () => (await metric('postrider_parked_hosts')) >= 1);
  await waitFor('no lane to send', async () => {
    const before = receiver.arrivals.length;
    const parked = await many(() => publish({ 'Service-Outage': 'park' }));
    const other = await startReceiver(t);
    await publishMany(other.url);
    await other.received(MANY);
    await call('DELETE', `/v2/messages?messageIds=${parked.map((each) => each.messageId).join('&messageIds=')}`);
    return receiver.arrivals.length === before;
  });
  const waiting = await many(() => publish({ 'Service-Outage': 'park' }));
  const before = receiver.arrivals.length;
  await call('POST', `/v2/hosts/${host}/resume`);
  await receiver.received(before + waiting.length);
  await waitFor('all claims to be settled', () => holders().length === 0);
});

/** A reader of the live stream. */
function openStream(t: TestContext, token: string) {
  const stream = { events: 0, isOpen: false, isEnded: false };
  const request = httpRequest(`${postrider.url}/v2/events/stream`, { headers: { Authorization: `Bearer ${token}` } });
  request.on('response', (response) => {
    stream.isOpen = response.statusCode === 200;
    response.on('data', (chunk: Buffer) => {
      stream.events += chunk.toString('utf8').split('event: CREATED').length - 1;
    });
    response.on('close', () => {
      stream.isEnded = true;
    });
    response.on('error', () => {});
  });
  request.on('error', () => {});
  request.end();
  t.after(() => request.destroy());
  return stream;
}

test('a live stream shows what all lanes do, and ends with its token on whichever lane that is revoked', async (t) => {
  const receiver = await startReceiver(t);
  const { accountId } = (await call('GET', '/v2/account')).json<{ accountId: string }>();
  const body = JSON.stringify({ accountId, name: 'short', scopes: ['read'] });
  const made = await call('POST', '/v2/admin/tokens', { body });
  assert.equal(made.status, 201, made.text);
  const { token, tokenId } = made.json<{ token: string; tokenId: string }>();
  // One after the other: an account may have few reads under way.
  const statuses = async () => {
    const seen = new Set<number>();
    for (let count = 0; count < MANY; count += 1) seen.add((await call('GET', '/v2/topics', { token })).status);
    return [...seen];
  };
  assert.deepEqual(await statuses(), [200], 'every lane remembers it now');
  const streams = Array.from({ length: 2 * LANES }, () => openStream(t, token));
  await waitFor('the streams to open', () => streams.every(({ isOpen }) => isOpen));
  await publishMany(receiver.url);
  await waitFor('every stream to show all of them', () => streams.every(({ events }) => events >= MANY));
  assert.equal((await call('DELETE', `/v2/admin/accounts/${accountId}/tokens/${tokenId}`)).status, 200);
  await waitFor('all lanes to refuse it', async () => (await statuses()).every((status) => status === 401));
  await waitFor('the streams to end', () => streams.every(({ isEnded }) => isEnded));
});

test('a lane that ends is replaced, and what it had under way is delivered', async (t) => {
  const { receiver, letGo } = await startHolding(t);
  await publishMany(receiver.url);
  await receiver.received(AT_ONCE);
  assert.equal(laneThreads.length, LANES - 1);
  const accepted = await metric('postrider_messages_accepted_total');
  await laneThreads[0]!.terminate();
  await waitFor('another lane', () => laneThreads.length === LANES);
  assert.equal(await metric('postrider_messages_accepted_total'), accepted, 'what the lane counted still counts');
  letGo();
  await waitFor('nothing to be left', () => new Set(receiver.arrivals.map(({ target }) => target)).size === MANY);
  await waitFor('all claims to be settled', () => holders().length === 0);
  const next = await startHolding(t);
  await waitFor('all lanes to take part again', async () => {
    await publishMany(next.receiver.url);
    return holders().length === LANES;
  });
  next.letGo();
  await waitFor('all claims to be settled', () => holders().length === 0);
});

test('a lane that ends leaves the locks of the process on the database alone', {
  skip: lacks('linux'),
}, async () => {
  const { ino } = statSync(join(data, 'postrider.db'));
  const locks = () =>
    readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .filter((line) => line.includes(` ${process.pid} `) && line.includes(`:${ino} `));
  assert.equal(locks().length, 1);
  const lanes = laneThreads.length;
  await laneThreads.at(-1)!.terminate();
  await waitFor('another lane', () => laneThreads.length > lanes);
  assert.equal(locks().length, 1);
});

test('a stopping process lets the attempts of all lanes end', async (t) => {
  const { receiver, letGo } = await startHolding(t);
  await publishMany(receiver.url);
  await receiver.received(AT_ONCE);
  assert.equal(holders().length, LANES);
  const closing = postrider.close();
  letGo();
  assert.deepEqual(await closing, { left: 0, isStoreClosed: true, lanesLost: 0 });
  assert.equal(receiver.arrivals.length, AT_ONCE, 'nothing starts any more');
  assert.deepEqual(holders(), []);
});

test('a lane that ends while the process stops is told of, and its claims are left for the next start', async (t) => {
  await start();
  const { receiver, letGo } = await startHolding(t);
  await publishMany(receiver.url);
  await receiver.received(AT_ONCE);
  const closing = postrider.close();
  await laneThreads.at(-1)!.terminate();
  letGo();
  assert.deepEqual(await closing, { left: 0, isStoreClosed: true, lanesLost: 1 });
  assert.equal(holders().length, 1);
});
