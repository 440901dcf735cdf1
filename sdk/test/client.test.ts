// The SDK against a real service: calls, errors, the live stream, commands for the shell, and signatures.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';
import {
  calls,
  createClient,
  curl,
  PostriderError,
  type Published,
  type PublishRequest,
  retryAfter,
  UnreachableError,
  verify,
  verifySignature,
  verifyWebhook,
} from 'postrider-sdk';
import { sharedService } from '../../console/test/service.ts';
import { lacks } from '../../server/test/support/machine.ts';

const service = sharedService();
const shell = promisify(execFile);

interface Arrival {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

async function receive(t: { after(end: () => void): void }): Promise<{ url: string; next: () => Promise<Arrival> }> {
  const arrivals: Arrival[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    arrivals.push({ url: request.url!, headers: request.headers, body: Buffer.concat(chunks) });
    response.end();
    server.emit('arrival');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    next: async () => {
      while (arrivals.length === 0) await once(server, 'arrival');
      return arrivals.shift()!;
    },
  };
}

test('a destination arrives byte for byte, with body and settings', async (t) => {
  const receiver = await receive(t);
  const target = `${receiver.url}/a/../b%2Fc//d?x=1&y=/../&z=%20`;
  const body = new Uint8Array([0, 255, 10]);
  await service().client.publish({
    destination: target,
    body,
    contentType: 'application/x',
    settings: { 'Forward-X-A': 'b' },
  });
  const arrival = await receiver.next();
  assert.equal(receiver.url + arrival.url, target);
  assert.deepEqual(new Uint8Array(arrival.body), body);
  assert.deepEqual([arrival.headers['content-type'], arrival.headers['x-a']], ['application/x', 'b']);
});

test('a refused call throws an error with text, status and code', async () => {
  const { client, url } = service();
  await assert.rejects(client.getMessage('msg_none'), (error: unknown) => {
    assert.ok(error instanceof PostriderError);
    assert.deepEqual([error.status, error.code], [404, 'message_not_found']);
    return true;
  });
  await assert.rejects(createClient({ baseUrl: url, token: 'wrong' }).listQueues(), { status: 401 });
  await assert.rejects(createClient({ baseUrl: 'http://127.0.0.1:1' }).listQueues(), UnreachableError);
});

test('the stream yields events, and continues after the last event', async () => {
  const { client, sink, publish } = service();
  const opened = Promise.withResolvers<void>();
  const stop = new AbortController();
  const seen: string[] = [];
  let lastId = '';
  const reading = (async () => {
    for await (const { id, event } of client.stream(
      { queueName: ['streamed'] },
      { signal: stop.signal, onOpen: opened.resolve },
    )) {
      seen.push(event.state);
      lastId = id;
      if (event.state === 'DELIVERED') return;
    }
  })();
  await opened.promise;
  await publish(sink('ok'), { queue: 'other' });
  await publish(sink('ok'), { queue: 'streamed' });
  await reading;
  assert.deepEqual(seen, ['CREATED', 'ACTIVE', 'DELIVERED']);
  const missed = await publish(sink('ok'), { queue: 'streamed' });
  const options = { signal: stop.signal, lastEventId: lastId };
  for await (const { event } of client.stream({ queueName: ['streamed'] }, options)) {
    assert.deepEqual([event.messageId, event.state], [missed, 'CREATED']);
    break;
  }
});

test('a call printed as cURL does the same as the call, for any content', { skip: lacks('curl') }, async (t) => {
  const receiver = await receive(t);
  const { token, url } = service();
  const body = `it's "quoted" $HOME \`x\` \\ \n ü`;
  for (const path of ['/plain?a=1&b=2', '/a/../b', `/q?it's`, '/[glob]{1,2}', '/%2F%20']) {
    const call = calls.publish({
      destination: receiver.url + path,
      body,
      settings: { 'Forward-X-Quote': `'; echo $HOME` },
    });
    const { stdout } = await shell('sh', ['-c', `${curl(call, { baseUrl: url, token })} -sS --path-as-is`]);
    assert.ok((JSON.parse(stdout) as Published).messageId, stdout);
    const arrival = await receiver.next();
    assert.equal(arrival.url, path);
    assert.equal(arrival.body.toString('utf8'), body);
    assert.equal(arrival.headers['x-quote'], `'; echo $HOME`);
  }
});

test('a valid signature is verified, and any change is detected', async (t) => {
  const receiver = await receive(t);
  const { client } = service();
  await client.publish({ destination: `${receiver.url}/signed`, body: 'hello' });
  const { headers, body, url } = await receiver.next();
  const keys = await client.getKeys();
  const signed = {
    signature: String(headers['service-signature']),
    body,
    keys: [keys.next, keys.current],
    url: receiver.url + url,
  };
  assert.deepEqual(await verifySignature(signed), { isValid: true });
  const wrong = [
    { ...signed, body: 'hello!' },
    { ...signed, keys: [keys.next] },
    { ...signed, url: `${receiver.url}/other` },
    { ...signed, now: Date.now() + 3_600_000 },
    { ...signed, now: Date.now() - 3_600_000 },
    { ...signed, now: Number.NaN },
    { ...signed, signature: 'a.b.c' },
    { ...signed, signature: `${btoa('{"alg":"none"}')}.${signed.signature.split('.')[1]}.` },
    { ...signed, signature: '' },
  ];
  for (const each of wrong) assert.equal((await verifySignature(each)).isValid, false, JSON.stringify(each));

  const webhook = { ...signed, id: String(headers['webhook-id']), timestamp: String(headers['webhook-timestamp']) };
  const mac = { signature: String(headers['webhook-signature']) };
  assert.deepEqual(await verifyWebhook({ ...webhook, ...mac }), { isValid: true });
  assert.equal((await verifyWebhook({ ...webhook, ...mac, now: Number.NaN })).isValid, false);
});

test('what a program without types may get wrong is told in words', async () => {
  const request = { headers: {}, body: 'x' };
  const loose = verify as (request: object, options: object) => Promise<unknown>;
  await assert.rejects(loose(request, {}), /^TypeError: keys: no signing key is set/);
  await assert.rejects(loose(request, { keys: 'sig_one' }), /the request is not signed/);
  const parsed = { ...request, body: { a: 1 } };
  await assert.rejects(
    loose(parsed, { keys: ['sig_one'] }),
    /^TypeError: body: must be the received bytes or text, not a parsed object/,
  );
  assert.throws(() => retryAfter(Number.POSITIVE_INFINITY), /is not a duration/);
});

test('a misspelt setting is a type error', () => {
  const request: PublishRequest = { destination: 'https://example.com', settings: { Retries: '3', 'Forward-X': 'a' } };
  // @ts-expect-error
  const misspelt: PublishRequest = { destination: 'https://example.com', settings: { Retires: '3' } };
  assert.deepEqual(Object.keys({ ...request.settings, ...misspelt.settings }), ['Retries', 'Forward-X', 'Retires']);
});
