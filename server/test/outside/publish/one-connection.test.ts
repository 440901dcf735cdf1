// Publishes and other calls on one connection, however they are cut and mixed: each gets its own response, in order, and
// each accepted message is stored once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { sharedRider } from '../../support/harness.ts';
import { RawCaller } from '../../support/raw-caller.ts';
import { type Cleanup, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const shared = sharedRider();

const GET = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** The same request with the first chunk of a chunked body. */
function chunked(request: string): string {
  return `${request.replace(/Content-Length: .*/s, 'Transfer-Encoding: chunked')}\r\n\r\n2\r\nno\r\n`;
}

async function start(t: Cleanup) {
  const rider = shared();
  const receiver = await startReceiver(t);
  const publish = (body: string, more = '', token = rider.token) =>
    `POST /v2/publish/${receiver.url} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n${more}` +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
  const bodies = () => receiver.arrivals.map(({ body }) => String(body)).sort();
  const delivers = async (...expected: string[]) => {
    await waitFor('the deliveries', () => receiver.arrivals.length >= expected.length);
    assert.deepEqual(bodies(), expected.sort());
  };
  const dial = async () => (await RawCaller.dial(t, rider.url)).listen();
  return { rider, receiver, publish, delivers, dial, caller: await dial() };
}

test('one after another: publishes, another call, and publishes again', async (t) => {
  const { publish, delivers, caller } = await start(t);
  caller.say(publish('one'));
  await caller.hears(201);
  caller.say(publish('two'));
  await caller.hears(201, 201);
  caller.say(GET);
  await caller.hears(201, 201, 200);
  caller.say(publish('three'));
  await caller.hears(201, 201, 200, 201);
  await delivers('one', 'two', 'three');
});

test('all at once: each gets its response, in order', async (t) => {
  const { publish, delivers, caller } = await start(t);
  caller.say(publish('one') + GET + publish('none', '', 'wrong') + publish('two'));
  await caller.hears(201, 200, 401, 201);
  await delivers('one', 'two');
});

test('the next is sent before the response to the last: each gets its own, in order', async (t) => {
  const { publish, delivers, caller } = await start(t);
  const bodies = Array.from({ length: 20 }, (_, index) => `body ${index}`);
  for (const body of bodies) {
    caller.say(publish(body));
    await new Promise(setImmediate);
  }
  await caller.hears(...bodies.map(() => 201));
  await delivers(...bodies);
});

test('byte by byte, and cut at every place of a request', async (t) => {
  const { publish, delivers, caller, dial } = await start(t);
  for (const byte of publish('one')) {
    caller.say(byte);
    await new Promise(setImmediate);
  }
  await caller.hears(201);
  const cuts = [3, 30, publish('two').length - 6, publish('two').length - 3, publish('two').length - 1];
  for (const cut of cuts) {
    const other = await dial();
    other.say(publish('two').slice(0, cut));
    await new Promise((resolve) => setTimeout(resolve, 20));
    other.say(publish('two').slice(cut));
    await other.hears(201);
  }
  await delivers('one', ...cuts.map(() => 'two'));
});

test('a refused publish leaves the connection usable, and nothing is stored', async (t) => {
  const { publish, delivers, caller } = await start(t);
  caller.say(publish('none', '', 'wrong'));
  await caller.hears(401);
  caller.say(publish('none', 'Service-Delay: never\r\n'));
  await caller.hears(401, 400);
  caller.say(publish('none', 'Content-Encoding: gzip\r\n'));
  await caller.hears(401, 400, 415);
  caller.say(publish('one'));
  await caller.hears(401, 400, 415, 201);
  await delivers('one');
});

test('more at once than may wait for their responses: all are answered, in order, and stored', async (t) => {
  const { publish, delivers, caller, dial } = await start(t);
  const justMore = Array.from({ length: eachMax('pipelined') + 1 }, (_, index) => `body ${index}`);
  caller.say(justMore.map((body) => publish(body)).join(''));
  await caller.hears(...justMore.map(() => 201));
  // What is not found tells its place in the line.
  const many = Array.from({ length: 500 }, (_, index) => `more ${index}`);
  const asked = many.map((body, index) => `${publish(body)}GET /none/${index} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const other = await dial();
  other.say(asked.join(''));
  await other.hears(...many.flatMap(() => [201, 404]));
  for (const [index, { body }] of other.responses.filter(({ status }) => status === 404).entries()) {
    assert.match(body, new RegExp(`/none/${index}"`));
  }
  await delivers(...justMore, ...many);
});

test('a caller that closes its side behind a request still hears the response, whoever reads it', async (t) => {
  const { rider, receiver, publish, dial } = await start(t);
  const head = `Host: localhost\r\nAuthorization: Bearer ${rider.token}\r\n`;
  const large = 'x'.repeat(300_000);
  const batch = (count: number) => {
    const element = { destination: receiver.url, body: 'b'.repeat(1000) };
    const body = JSON.stringify(new Array(count).fill(element));
    return `POST /v2/batch HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  };
  const post = `POST /v2/publish/${receiver.url} HTTP/1.1\r\n${head}`;
  const get = (path: string) => `GET ${path} HTTP/1.1\r\n${head}\r\n`;
  const ways: (readonly [what: string, pieces: readonly string[], ...statuses: number[]])[] = [
    ['whole', [publish('one')], 201],
    ['large', [publish(large)], 201],
    ['in three pieces', [publish('one').slice(0, 9), publish('one').slice(9, -1), 'e'], 201],
    ['chunked', [`${post}Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n`], 201],
    ['a batch', [batch(2)], 201],
    ['a large batch', [batch(300)], 201],
    ['refused', [publish('one', '', 'wrong')], 401],
    ['several', [publish('one') + get('/healthz') + publish('two')], 201, 200, 201],
    ['of HTTP/1.0', [publish('one').replace('HTTP/1.1', 'HTTP/1.0')], 201],
    ['a list', [get('/v2/messages')], 200],
    ['the metrics', [get('/metrics')], 200],
    ['the console', [get('/console/')], 200],
    ['the docs', [get('/docs')], 200],
    ['the sink', [get('/dev/sink/ok')], 200],
    ['a change', [`POST /v2/topics/t/endpoints HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\n{}`], 400],
  ];
  for (const [what, pieces, ...statuses] of ways) {
    for (let count = 0; count < 10; count += 1) {
      const caller = await dial();
      for (const piece of pieces.slice(0, -1)) {
        caller.say(piece);
        await new Promise(setImmediate);
      }
      caller.end(pieces.at(-1));
      await caller.hearsEnd();
      assert.deepEqual(
        caller.responses.map(({ status }) => status),
        statuses,
        what,
      );
    }
  }
});

test('a caller that closes its side within a body hears the responses before it, then 400, and nothing is stored', async (t) => {
  const { publish, delivers, dial } = await start(t);
  for (const rest of [publish('none').slice(0, -1), publish('none').slice(0, 30), chunked(publish('none'))]) {
    const caller = await dial();
    caller.end(publish('one') + GET + rest);
    await caller.hearsEnd();
    assert.deepEqual(
      caller.responses.map(({ status }) => status),
      [201, 200, 400],
    );
  }
  await delivers('one', 'one', 'one');
});

test('what is no HTTP within a body is refused behind the responses before it', async (t) => {
  const { publish, delivers, caller } = await start(t);
  caller.say(`${publish('one')}${GET}${chunked(publish('none'))}no size\r\n`);
  await caller.hearsEnd();
  await caller.hears(201, 200, 400);
  await delivers('one');
});

test('a request behind Connection: close is not carried out, and does not disturb the response', async (t) => {
  const { publish, delivers, dial } = await start(t);
  const last = 'Connection: close\r\n';
  for (const before of ['', GET]) {
    const caller = await dial();
    caller.say(before + publish('one', last) + publish('none').repeat(100));
    await caller.hearsEnd();
    await caller.hears(...(before === '' ? [] : [200]), 201);
  }
  await delivers('one', 'one');
});

test('a caller that closes its side in the middle of a body is told, and nothing is stored', async (t) => {
  const { publish, delivers, caller } = await start(t);
  caller.end(publish('none').slice(0, -1));
  await caller.hears(400);
  await caller.hearsEnd();
  await delivers();
});

test('Connection: close: the response says so, and the connection ends', async (t) => {
  const { publish, delivers, caller } = await start(t);
  caller.say(publish('one', 'Connection: close\r\n'));
  await caller.hearsEnd();
  await caller.hears(201);
  assert.match(caller.text, /\r\nConnection: close\r\n/);
  await delivers('one');
});
