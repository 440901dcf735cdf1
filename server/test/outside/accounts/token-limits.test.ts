// Tokens that expire, and tokens that work from some addresses only: for every kind of call, for the console and for
// live streams, and whatever a caller says about itself.

import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import { suite, test } from 'node:test';
import { SCOPES } from '../../../src/rules/accounts/account.ts';
import { type Answered, ask } from '../../support/client.ts';
import {
  type CallOptions,
  type Rider,
  refusal,
  sharedRider,
  startRider,
  type TokenMade,
} from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { openTail } from '../../support/tail.ts';
import { waitFor } from '../../support/wait.ts';

const OWN = { 'X-Postrider-Console': '1' };
const NOWHERE = 'http://127.0.0.1:1/';
const LATER = { 'Service-Delay': '1d' };
const HOUR_MS = 3_600_000;
const ELSEWHERE = ['10.0.0.0/8'];

type Made = TokenMade & { readonly expiresAt?: number; readonly addresses?: readonly string[] };

async function ownAccount(rider: Rider): Promise<{ accountId: string; token: { tokenId: string } }> {
  return rider.manage('GET', '/v2/account');
}

async function limited(rider: Rider, limits: object): Promise<Made> {
  const { accountId } = await ownAccount(rider);
  return rider.manage<Made>('POST', '/v2/admin/tokens', { accountId, name: 'limited', scopes: SCOPES, ...limits });
}

function signIn({ url }: Rider, token: string, headers: Readonly<Record<string, string>> = {}): Promise<Answered> {
  const body = JSON.stringify({ token });
  return ask(url, '/console/session', { method: 'POST', headers: { ...OWN, ...headers }, body });
}

function cookieOf(answer: Answered): string {
  assert.equal(answer.status, 204, answer.text);
  return answer.headers['set-cookie']![0]!.split(';')[0]!;
}

/** One call of every kind that is authenticated in a way of its own. */
function everyKind(rider: Rider, options: CallOptions): Promise<Answered[]> {
  const headers = { ...LATER, ...options.headers };
  return Promise.all([
    rider.call('GET', '/v2/account', options),
    rider.call('DELETE', '/v2/queues/none', options),
    rider.publish(NOWHERE, { ...options, headers }),
    rider.enqueue('q', NOWHERE, { ...options, headers }),
    rider.batch([{ destination: NOWHERE, headers: LATER }], options),
    rider.call('POST', `/v2/schedules/${NOWHERE}`, { ...options, headers: { ...headers, 'Service-Cron': '@yearly' } }),
    rider.call('GET', '/v2/events/stream', { ...options, headers: { ...options.headers, Connection: 'close' } }),
  ]);
}

suite('a token that expires', () => {
  test('works until then, is refused from then on by every call, and is still listed', async (t) => {
    const rider = await startRider(t);
    const { token, tokenId, accountId, expiresAt } = await limited(rider, { expiresIn: '1h' });
    assert.equal(expiresAt, rider.clock.now() + HOUR_MS);
    const own = await rider.manage<{ token: object }>('GET', '/v2/account', undefined, token);
    assert.deepEqual(own.token, { tokenId, name: 'limited', scopes: SCOPES, expiresAt });
    await rider.advance(HOUR_MS - 1);
    await rider.published(NOWHERE, { token, headers: LATER });
    assert.equal((await rider.call('GET', '/v2/messages', { token })).status, 200);
    await rider.advance(1);
    for (const answer of await everyKind(rider, { token })) {
      assert.match(refusal(answer, 401, 'unauthorized'), /has expired/);
    }
    refusal(await signIn(rider, token), 401, 'unauthorized');
    const { tokens } = await rider.manage<{ tokens: Made[] }>('GET', `/v2/admin/tokens?accountId=${accountId}`);
    assert.equal(tokens.find((each) => each.tokenId === tokenId)?.expiresAt, expiresAt);
    await rider.manage('DELETE', `/v2/admin/accounts/${accountId}/tokens/${tokenId}`);
  });

  test('at a time that is given in milliseconds', async (t) => {
    const rider = await startRider(t);
    const at = rider.clock.now() + 1000;
    const { token, expiresAt } = await limited(rider, { expiresAt: at });
    assert.equal(expiresAt, at);
    assert.equal((await rider.call('GET', '/v2/account', { token })).status, 200);
    await rider.advance(1000);
    refusal(await rider.call('GET', '/v2/account', { token }), 401, 'unauthorized');
  });

  test('ends its sessions of the console, which would last longer, and its live streams', async (t) => {
    const rider = await startRider(t);
    const { token } = await limited(rider, { expiresIn: '1h' });
    const headers = { ...OWN, Cookie: cookieOf(await signIn(rider, token)) };
    const read = () => ask(rider.url, '/v2/account', { headers });
    const streams = [await openTail(t, rider, { token }), await openTail(t, rider, { headers })];
    const other = (await openTail(t, rider)).read();
    for (const each of streams) each.read();
    await rider.advance(HOUR_MS - 1);
    assert.equal((await read()).status, 200);
    assert.deepEqual(
      streams.map(({ isEnded }) => isEnded),
      [false, false],
    );
    await rider.advance(1);
    refusal(await read(), 401, 'unauthorized');
    await waitFor('the end of the streams', () => {
      rider.clock.advance(1000);
      return streams.every(({ isEnded }) => isEnded);
    });
    assert.equal(other.isEnded, false);
  });

  test('ends none of what it has begun: its messages are delivered', async (t) => {
    const rider = await startRider(t);
    const receiver = await startReceiver(t);
    const { token } = await limited(rider, { expiresIn: '1h' });
    await rider.published(receiver.url, { token, headers: { 'Service-Delay': '2h' } });
    await rider.advance(2 * HOUR_MS);
    await receiver.received(1);
  });

  test('may expire while its request is under way: one whose body takes long is refused, any other carried out', async (t) => {
    const rider = await startRider(t);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    // The body begins 400 ms before the expiry.
    for (const [bodyMs, expected] of [
      [900, 201],
      [1100, 401],
    ] as const) {
      const { token } = await limited(rider, { expiresIn: '1h' });
      const headers = { Authorization: `Bearer ${token}`, ...LATER };
      rider.clock.advance(HOUR_MS - 400);
      // From now on it is remembered, so the request is let in as soon as its head is read.
      assert.equal((await rider.call('GET', '/v2/account', { token })).status, 200);
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const url = `${rider.url}/v2/publish/${NOWHERE}`;
        const sending = httpRequest(
          url,
          { method: 'POST', headers: { ...headers, Expect: '100-continue' }, agent },
          (response) => {
            response.resume().on('end', () => resolve(response.statusCode));
          },
        );
        sending.on('error', reject);
        sending.on('continue', () => {
          rider.clock.advance(bodyMs);
          sending.end('the rest');
        });
      });
      assert.equal(status, expected);
      const next = await ask(rider.url, `/v2/publish/${NOWHERE}`, { method: 'POST', headers }, agent);
      refusal(next, 401, 'unauthorized');
    }
  });

  test('is not the admin token that remains', async (t) => {
    const rider = await startRider(t);
    const { accountId, token: own } = await ownAccount(rider);
    const expiring = await limited(rider, { expiresIn: '36500d' });
    const path = (tokenId: string) => `/v2/admin/accounts/${accountId}/tokens/${tokenId}`;
    const revoke = (tokenId: string, token: string) => rider.call('DELETE', path(tokenId), { token });
    const text = refusal(await revoke(own.tokenId, expiring.token), 409, 'last_admin_token');
    assert.match(text, /that does not expire/);
    const lasting = await limited(rider, { addresses: ['127.0.0.0/8'] });
    assert.equal((await revoke(own.tokenId, lasting.token)).status, 200);
    assert.equal((await revoke(expiring.tokenId, lasting.token)).status, 200);
    refusal(await revoke(lasting.tokenId, lasting.token), 409, 'last_admin_token');
  });
});

suite('a token with addresses', () => {
  const shared = sharedRider();

  test('works from them, and shows them', async () => {
    const rider = shared();
    const addresses = ['10.0.0.0/8', '127.0.0.1/32', '::1/128'];
    const made = await limited(rider, { addresses });
    assert.deepEqual(made.addresses, addresses);
    const { token } = made;
    await rider.published(NOWHERE, { token, headers: LATER });
    const own = await rider.manage<{ token: Made }>('GET', '/v2/account', undefined, token);
    assert.deepEqual(own.token.addresses, addresses);
    cookieOf(await signIn(rider, token));
  });

  test('is refused from elsewhere by every call and by the console, with the address, and the audit counts it', async () => {
    const rider = shared();
    const { token, tokenId } = await limited(rider, { addresses: ELSEWHERE });
    // Cached from the first call on.
    for (let round = 0; round < 2; round += 1) {
      for (const answer of await everyKind(rider, { token })) {
        assert.equal(refusal(answer, 403, 'forbidden'), 'this token may not be used from 127.0.0.1');
      }
    }
    const refused = await signIn(rider, token);
    assert.equal(refusal(refused, 403, 'forbidden'), 'this token may not be used from 127.0.0.1');
    assert.equal(refused.headers['set-cookie'], undefined);
    await waitFor('the rows of the audit', async () => {
      rider.clock.advance(1000);
      const { audit } = await rider.manage<{ audit: { call: string; code?: string; address?: string }[] }>(
        'GET',
        `/v2/admin/audit?count=100&token=${tokenId}`,
      );
      const calls = audit.filter(({ code, address }) => code === 'forbidden' && address === '127.0.0.1');
      const found = new Set(calls.map(({ call }) => call));
      return ['GET /v2/account', 'POST /v2/publish/{destination}', 'POST /console/session'].every((call) =>
        found.has(call),
      );
    });
  });

  test('is refused whatever the caller says of its address, where no proxy is trusted', async () => {
    const rider = shared();
    const { token } = await limited(rider, { addresses: ELSEWHERE });
    const forged = { 'X-Forwarded-For': '10.0.0.1', Forwarded: 'for=10.0.0.1', 'X-Real-IP': '10.0.0.1' };
    for (const answer of await everyKind(rider, { token, headers: forged })) refusal(answer, 403, 'forbidden');
    refusal(await signIn(rider, token, forged), 403, 'forbidden');
  });

  test('says nothing of its scopes from elsewhere', async () => {
    const rider = shared();
    const { accountId } = await ownAccount(rider);
    const body = { accountId, name: 'reader', scopes: ['read'], addresses: ELSEWHERE };
    const { token } = await rider.manage<Made>('POST', '/v2/admin/tokens', body);
    const text = refusal(await rider.call('GET', '/v2/admin/accounts', { token }), 403, 'forbidden');
    assert.equal(text, 'this token may not be used from 127.0.0.1');
  });
});

suite('a token with addresses, behind a proxy that is trusted', () => {
  const shared = sharedRider({ flags: ['--trusted-proxy', '127.0.0.0/8,192.0.2.0/24'] });
  const from = (address: string) => ({ 'X-Forwarded-For': address });

  test('is compared with the address that the proxy saw, in whatever form', async () => {
    const rider = shared();
    const { token } = await limited(rider, { addresses: ['10.0.0.0/8', '2001:db8::/32'] });
    const allowed = ['10.1.2.3', '::ffff:10.1.2.3', '::ffff:a01:203', '10.1.2.3:4711', '[2001:db8::7]:80'];
    for (const address of [...allowed, '8.8.8.8, 10.1.2.3', '10.1.2.3, 192.0.2.9']) {
      const answer = await rider.call('GET', '/v2/account', { token, headers: from(address) });
      assert.equal(answer.status, 200, `${address}: ${answer.text}`);
      await rider.published(NOWHERE, { token, headers: { ...LATER, ...from(address) } });
    }
    // What stands before the last address was written by the caller.
    for (const address of [
      '11.0.0.1',
      '10.1.2.3, 11.0.0.1',
      '::ffff:11.0.0.1',
      '2001:db9::1',
      'unknown',
      '::10.1.2.3',
    ]) {
      const headers = from(address);
      for (const answer of await everyKind(rider, { token, headers })) refusal(answer, 403, 'forbidden');
      refusal(await signIn(rider, token, headers), 403, 'forbidden');
    }
    refusal(await rider.call('GET', '/v2/account', { token }), 403, 'forbidden');
  });

  test('does not let its cookie of the console leave them', async () => {
    const rider = shared();
    const { token } = await limited(rider, { addresses: ELSEWHERE });
    const cookie = { ...OWN, Cookie: cookieOf(await signIn(rider, token, from('10.0.0.1'))) };
    const read = (address: string) => ask(rider.url, '/v2/account', { headers: { ...cookie, ...from(address) } });
    assert.equal((await read('10.0.0.2')).status, 200);
    assert.equal(refusal(await read('11.0.0.1'), 403, 'forbidden'), 'this token may not be used from 11.0.0.1');
  });
});

suite('limits of a new token', () => {
  const shared = sharedRider();

  test('that make no sense are refused, and no token is made', async () => {
    const rider = shared();
    const { accountId } = await ownAccount(rider);
    const now = rider.clock.now();
    const count = async () =>
      (await rider.manage<{ tokens: object[] }>('GET', `/v2/admin/tokens?accountId=${accountId}`)).tokens.length;
    const before = await count();
    const refused: readonly (readonly [object, RegExp])[] = [
      [{ expiresIn: 'soon' }, /expiresIn: must be a duration/],
      [{ expiresIn: '0s' }, /expiresIn: the token would have expired already/],
      [{ expiresIn: '40000d' }, /expiresIn: more than 100 years/],
      [{ expiresIn: 90 }, /expiresIn/],
      [{ expiresAt: now }, /expiresAt: the token would have expired already/],
      // In seconds.
      [{ expiresAt: Math.floor(now / 1000) + 60 }, /expiresAt: the token would have expired already/],
      [{ expiresAt: 1e300 }, /expiresAt/],
      [{ expiresAt: now + 0.5 }, /expiresAt/],
      [{ expiresAt: '2030-01-01' }, /expiresAt/],
      [{ expiresIn: '1d', expiresAt: now + 1000 }, /not both/],
      [{ addresses: ['10.0.0.1'] }, /addresses: .*for this one address write 10\.0\.0\.1\/32/],
      [{ addresses: ['10.0.0.1/8'] }, /addresses: .*is the range 10\.0\.0\.0\/8/],
      [{ addresses: ['10.0.0.0/8 ::/0'] }, /addresses: /],
      [{ addresses: [''] }, /addresses: /],
      [{ addresses: ['::ffff:0:0/96'] }, /addresses: .*must be written as an IPv4 range/],
      [{ addresses: Array.from({ length: 21 }, (_, n) => `10.0.${n}.0/24`) }, /addresses: at most 20 ranges/],
      [{ addresses: '10.0.0.0/8' }, /addresses/],
      [{ expiresIn: null }, /expiresIn/],
    ];
    for (const [limits, text] of refused) {
      const body = JSON.stringify({ accountId, name: 'wrong', scopes: ['read'], ...limits });
      assert.match(refusal(await rider.call('POST', '/v2/admin/tokens', { body }), 400, 'bad_body'), text);
    }
    assert.equal(await count(), before);
    assert.equal((await limited(rider, { addresses: [] })).addresses, undefined);
  });
});
