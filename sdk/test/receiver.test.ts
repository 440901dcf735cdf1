// What a receiver accepts, signed by the server's own code, and everything near it that it must refuse.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doNotRetry, retryAfter, SignatureError, type VerifyOptions, verify, verifySignature } from 'postrider-sdk';
import { signatureHeaders } from '../../server/src/delivery/http/sign.ts';
import { rawBodyOf } from '../src/adapters/node.ts';

const KEY = 'sig_current';
const URL_SIGNED = 'https://example.com/hook';
const NOW = 1_790_000_000_000;
const OPTIONS: VerifyOptions = { keys: ['sig_next', KEY], now: NOW };

interface Signed {
  readonly key?: string;
  readonly nowMs?: number;
  readonly body?: string;
  readonly messageId?: string;
}

function signed({ key = KEY, nowMs = NOW, body = 'hello', messageId = 'msg_1' }: Signed = {}): Record<string, string> {
  const bytes = Buffer.from(body);
  const claims = { key, issuer: 'Service', url: URL_SIGNED, body: bytes, nowMs, jti: 'jwt_1', messageId };
  const list = signatureHeaders('Service-Signature', claims);
  list.push('Service-Message-Id', messageId, 'Service-Retried', '2');
  return Object.fromEntries(Array.from({ length: list.length / 2 }, (_, at) => [list[at * 2]!, list[at * 2 + 1]!]));
}

function request(headers: Record<string, string>, body: string | ReadableStream = 'hello'): Request {
  const init = { method: 'POST', headers, body, duplex: 'half' };
  return new Request('http://10.0.0.1/behind-a-proxy', init as RequestInit);
}

const without = (headers: Record<string, string>, pattern: RegExp) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !pattern.test(name)));

async function refusedFor(given: Request, options: VerifyOptions = OPTIONS): Promise<string> {
  const error: unknown = await verify(given, options).catch((caught: unknown) => caught);
  assert.ok(error instanceof SignatureError, String(error));
  return error.message;
}

test('a delivery has both signatures, with either key, and both are checked', async () => {
  const all = signed();
  for (const headers of [all, signed({ key: 'sig_next' })]) {
    const delivery = await verify(request(headers), OPTIONS);
    assert.deepEqual([delivery.messageId, delivery.text(), delivery.retried], ['msg_1', 'hello', 2]);
  }
  assert.match(await refusedFor(request(without(all, /./))), /not signed/);
  assert.match(await refusedFor(request(signed({ key: 'sig_old' }))), /any key/);
  const mixed = { ...all, 'webhook-id': 'msg_2' };
  assert.match(await refusedFor(request(mixed)), /webhook-signature does not match/);
  assert.match(await refusedFor(request({ ...all, 'Service-Signature': 'a.b.c' })), /not HS256/);
  assert.equal((await verify(request({ ...all, 'Service-Retried': 'x' }), OPTIONS)).retried, 0);
});

test('a signature that somebody has left out is missed: the body cannot be sent again under another id', async () => {
  const all = signed();
  const [jwt, webhook] = [without(all, /^webhook/), without(all, /^Service/)];
  const renamed = { ...jwt, 'Service-Message-Id': 'msg_2', 'webhook-id': 'msg_2' };
  assert.match(await refusedFor(request(renamed)), /webhook-signature is missing/);
  assert.match(await refusedFor(request(webhook)), /Service-Signature is missing/);
  assert.match(await refusedFor(request(all), { ...OPTIONS, headerPrefix: 'Other-' }), /Other-Signature is missing/);
  const later = signed({ nowMs: NOW + 1000, messageId: 'msg_2' });
  const ofTwo = { ...jwt, ...without(later, /^Service/) };
  assert.match(await refusedFor(request(ofTwo)), /to different requests/);
});

test('a receiver may say that one signature is enough; what is there is checked all the same', async () => {
  const all = signed();
  const [jwt, webhook] = [without(all, /^webhook/), without(all, /^Service/)];
  for (const [signatures, headers] of [
    ['jwt', jwt],
    ['webhook', webhook],
    ['jwt', all],
    ['webhook', all],
  ] as const) {
    assert.equal((await verify(request(headers), { ...OPTIONS, signatures })).messageId, 'msg_1');
    const wrong = { ...all, 'webhook-id': 'msg_2' };
    assert.match(await refusedFor(request(wrong), { ...OPTIONS, signatures }), /does not match/);
  }
  assert.match(await refusedFor(request(webhook), { ...OPTIONS, signatures: 'jwt' }), /Service-Signature is missing/);
  assert.match(await refusedFor(request(jwt), { ...OPTIONS, signatures: 'webhook' }), /webhook-signature is missing/);
  assert.match(
    await refusedFor(request(webhook), { ...OPTIONS, signatures: 'webhook', url: URL_SIGNED }),
    /Service-Signature is missing/,
  );
});

test('the id is the signed one, whatever the other header says', async () => {
  const delivery = await verify(request({ ...signed(), 'Service-Message-Id': 'msg_other' }), OPTIONS);
  assert.equal(delivery.messageId, 'msg_1');
});

test('a signature is good for five minutes and half a minute of wrong clocks, and not a second longer', async () => {
  const at = (seconds: number) => ({ ...OPTIONS, now: NOW + seconds * 1000 });
  for (const [signatures, headers] of [
    ['both', signed()],
    ['webhook', without(signed(), /^Service/)],
    ['jwt', without(signed(), /^webhook/)],
  ] as const) {
    for (const seconds of [-30, 0, 330]) await verify(request(headers), { ...at(seconds), signatures });
    assert.match(await refusedFor(request(headers), { ...at(-31), signatures }), /not valid yet/);
    assert.match(await refusedFor(request(headers), { ...at(331), signatures }), /expired/);
  }
});

test('another body, another URL and doubled headers are refused', async () => {
  assert.match(await refusedFor(request(signed(), 'hello!')), /another body/);
  const bare = { ...OPTIONS, signatures: 'webhook' } as const;
  assert.match(await refusedFor(request(without(signed(), /^Service/), 'hello!'), bare), /does not match/);
  await verify(request(signed()), { ...OPTIONS, url: URL_SIGNED });
  assert.match(await refusedFor(request(signed()), { ...OPTIONS, url: `${URL_SIGNED}/` }), /another URL/);
  assert.match(await refusedFor(request(without(signed(), /^Service/)), { ...OPTIONS, url: URL_SIGNED }), /missing/);
  const doubled = request(signed());
  doubled.headers.append('Service-Signature', signed({ key: 'sig_evil' })['Service-Signature']!);
  assert.match(await refusedFor(doubled), /JWT|match/);
  const list = { headers: { ...signed(), 'service-signature': ['a', 'b'] }, body: 'hello' };
  await assert.rejects(verify(list, OPTIONS), SignatureError);
});

test('what is not a signature is refused, and never an error of another kind', async () => {
  const { 'Service-Signature': jwt = '' } = signed();
  const [head, claims, mac] = jwt.split('.') as [string, string, string];
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  const nonsense = [
    '',
    '..',
    '...',
    'é.é.é',
    `${none}.${claims}.`,
    `${none}.${claims}.${mac}`,
    `${head}.${claims}.`,
    `${head}.${claims}.${mac}.`,
    `${head}.${claims}.${mac.slice(0, -2)}`,
    `${head}.${Buffer.from('null').toString('base64url')}.${mac}`,
    `${Buffer.from('null').toString('base64url')}.${claims}.${mac}`,
    'a'.repeat(100_000),
  ];
  for (const signature of nonsense) {
    const verdict = await verifySignature({ signature, body: 'hello', keys: [KEY], now: NOW });
    assert.equal(verdict.isValid, false, signature.slice(0, 60));
  }
  const webhook = without(signed(), /^Service/);
  for (const [name, value] of [
    ['webhook-timestamp', 'NaN'],
    ['webhook-timestamp', '1e99'],
    ['webhook-timestamp', ''],
    ['webhook-signature', 'v1a,AAAA'],
    ['webhook-signature', 'v1,'],
    ['webhook-signature', `${'v1,AAAA '.repeat(10)}${webhook['webhook-signature']}`],
  ] as const) {
    const reason = await refusedFor(request({ ...webhook, [name]: value }), { ...OPTIONS, signatures: 'webhook' });
    assert.doesNotMatch(reason, /missing/);
  }
  const several = `v1,AAAA v2,x ${webhook['webhook-signature']}`;
  await verify(request({ ...signed(), 'webhook-signature': several }), OPTIONS);
});

test('a key that is not set is no key: nobody can sign with the empty text', async () => {
  const headers = signed({ key: '' });
  await assert.rejects(verify(request(headers), { ...OPTIONS, keys: [''] }), TypeError);
  await assert.rejects(verify(request(headers), { ...OPTIONS, keys: [undefined as unknown as string] }), TypeError);
  await refusedFor(request(headers), { ...OPTIONS, keys: ['', KEY] });
  const signature = headers['Service-Signature']!;
  assert.equal((await verifySignature({ signature, body: 'hello', keys: [''], now: NOW })).isValid, false);
});

test('a body that is too large is not read to its end, and one that was read before is a mistake of the program', async () => {
  let pulled = 0;
  const endless = new ReadableStream({
    pull: (controller) => {
      pulled += 1;
      controller.enqueue(new Uint8Array(1000));
    },
  });
  assert.match(await refusedFor(request(signed(), endless), { ...OPTIONS, bodyBytesMax: 5000 }), /too large/);
  assert.ok(pulled < 20, String(pulled));
  const used = request(signed());
  await used.text();
  await assert.rejects(verify(used, OPTIONS), /read before/);
  const parsed = { headers: {}, body: { a: 1 }, readableDidRead: true, on() {}, off() {}, pause() {} };
  await assert.rejects(rawBodyOf(parsed, 10), /parsed before/);
  const gone = { headers: {}, readableDidRead: false, destroyed: true, on() {}, off() {}, pause() {} };
  await assert.rejects(rawBodyOf(gone, 10), /cut off/);
  assert.deepEqual(await rawBodyOf({ ...gone, readableEnded: true }, 10), new Uint8Array(0));
});

test('the answers say what the service understands', async () => {
  const stop = doNotRetry('gone', 'Upstash-');
  assert.deepEqual(
    [stop.status, stop.headers.get('Upstash-NonRetryable-Error'), await stop.text()],
    [489, 'true', 'gone'],
  );
  const seconds = (wait: Parameters<typeof retryAfter>[0]) => retryAfter(wait).headers.get('Retry-After');
  assert.deepEqual(
    [seconds('1h30m'), seconds(90), seconds('250ms'), seconds(0.5), seconds(0)],
    ['5400', '90', '1', '1', '0'],
  );
  for (const wrong of ['soon', '', '5', '-5s', '5s ', Number.NaN, -1]) {
    assert.throws(() => retryAfter(wrong as '5s'), TypeError, String(wrong));
  }
});
