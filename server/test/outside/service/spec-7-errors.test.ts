// Section 7 of the spec leaves errors open. Here every code of the catalogue that a caller can provoke is provoked
// once, and must have its status, the one shape, and a text that names the field.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROBLEMS, type ProblemCode } from '../../../src/rules/requests/problem.ts';
import { type Answered, ask, exchange } from '../../support/client.ts';
import { type Rider, refusal, sharedRider, startRider } from '../../support/harness.ts';
import { NEARLY_FULL, neverNearlyFull } from '../../support/nearly-full-disk.ts';

const URL_ = 'https://example.com';
const json = (body: unknown) => ({ body: JSON.stringify(body) });

type Provoke = (rider: Rider) => Promise<Answered | null>;

/** Changes a message that waits. */
async function change(
  rider: Rider,
  settings: Readonly<Record<string, string>>,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  const id = await rider.published(URL_, { headers: { 'Service-Delay': '1h', ...settings }, body: 'hidden' });
  return rider.call('PATCH', `/v2/messages/${id}`, { ...json(body), headers });
}

/** What provokes each code, and what its text must say: the field or header first. */
const PROVOKED: Readonly<Partial<Record<ProblemCode, readonly (readonly [Provoke, RegExp])[]>>> = {
  bad_request: [
    [(rider) => exchange(rider.url, 'hello\r\n\r\n'), /is not a valid HTTP request/],
    [(rider) => exchange(rider.url, 'GET /healthz HTTP/1.1\r\n\r\n'), /^Host: missing/],
    [
      (rider) => rider.call('POST', '/v2/topics/t/endpoints', { headers: { 'Content-Type': '/' }, body: '{}' }),
      /^Content-Type: /,
    ],
  ],
  bad_json: [
    [(rider) => rider.call('POST', '/v2/batch', { body: '[' }), /^the body is not valid JSON/],
    [(rider) => rider.call('POST', '/v2/topics/t/endpoints', { body: '{' }), /^the body is not valid JSON/],
  ],
  bad_body: [
    [(rider) => rider.batch({}), /JSON array/],
    [(rider) => rider.call('POST', '/v2/topics/t/endpoints', json({})), /^body: .*endpoints/],
    [(rider) => rider.call('POST', '/v2/topics/t/endpoints', json({ endpoints: [] })), /^endpoints: /],
    [
      (rider) => rider.call('POST', '/v2/topics/t/endpoints', json({ endpoints: [{ url: 'x' }] })),
      /^endpoints\[0\].url/,
    ],
    [
      (rider) => rider.call('POST', '/v2/topics/t/endpoints', json({ endpoints: [{ url: URL_, name: 'a b' }] })),
      /^endpoints\[0\].name/,
    ],
    [(rider) => rider.call('POST', '/v2/admin/accounts', json({ name: 'a b' })), /^name: /],
    [(rider) => rider.call('POST', '/v2/admin/accounts', json({ name: 'a', tier: 'gold' })), /^tier: .*free, paid/],
    [(rider) => rider.call('POST', '/v2/admin/accounts', json({ name: 'a', size: 1 })), /^body: .*"size"/],
    [
      (rider) => rider.call('POST', '/v2/admin/tokens', json({ accountId: 'a', name: 'a', scopes: ['all'] })),
      /^scopes.0: must be one of publish, read, manage, admin/,
    ],
  ],
  bad_parameter: [
    [(rider) => rider.call('GET', '/v2/usage?fromDay=yesterday'), /^fromDay: /],
    [(rider) => rider.call('GET', '/v2/usage?from=2026-01-01'), /"from"/],
    [
      (rider) => rider.call('POST', '/v2/topics/a%20b/endpoints', json({ endpoints: [{ url: URL_ }] })),
      /^topic name: /,
    ],
    [(rider) => rider.call('GET', '/v2/topics/%zz'), /^path: /],
    [(rider) => rider.call('GET', `/v2/topics/${'x'.repeat(600)}`), /^path: /],
  ],
  version_changed: [
    [(rider) => change(rider, {}, { delay: '2h' }, { 'If-Match': '"9-9"' }), /^If-Match: message "msg_\w+" now has/],
  ],
  message_redacted: [
    [(rider) => change(rider, { 'Service-Redact-Fields': 'body' }, { url: 'https://other.example' }), /^url: /],
  ],
  bad_destination: [[(rider) => rider.enqueue('q', 'ftp://x'), /^destination: /]],
  bad_queue_name: [[(rider) => rider.enqueue('a+b', URL_), /^queue name: /]],
  bad_header: [
    [(rider) => rider.enqueue('q', URL_, { headers: { 'Service-Not-Before': 'x' } }), /^Service-Not-Before: /],
    [(rider) => rider.enqueue('q', URL_, { headers: { 'Service-Timeout': '0s' } }), /^Service-Timeout: /],
  ],
  bad_forward_header: [
    [(rider) => rider.enqueue('q', URL_, { headers: { 'Service-Forward-TE': 'x' } }), /^Service-Forward-TE: /],
  ],
  bad_filter: [
    [(rider) => rider.call('DELETE', '/v2/messages'), /^no filter was given; .*all=true/],
    [(rider) => rider.call('GET', '/v2/messages?colour=red'), /^colour: /],
    [(rider) => rider.call('GET', '/v2/events?state=LOST'), /^state: must be one of CREATED, /],
    [(rider) => rider.call('GET', '/v2/dlq?fromDate=yesterday'), /^fromDate: /],
    [(rider) => rider.call('POST', '/v2/bulk', json({ action: 'cancel', filter: {} })), /^filter: empty/],
  ],
  bad_cron: [
    [(rider) => rider.call('POST', `/v2/schedules/${URL_}`), /^Service-Cron: missing/],
    [
      (rider) => rider.call('POST', `/v2/schedules/${URL_}`, { headers: { 'Service-Cron': '0 25 * * *' } }),
      /^Service-Cron: .*hour/,
    ],
  ],
  bad_alert: [
    [
      (rider) => rider.call('PUT', '/v2/alerts/a', json({ rule: { type: 'quotaNear', share: 9 }, target: {} })),
      /^rule\.share: .*; target\.url: /,
    ],
  ],
  in_queue: [
    [
      async (rider) => {
        const messageId = await rider.accepted(URL_, { headers: { 'Service-Delay': '1h' } });
        return rider.call('POST', `/v2/messages/${messageId}/retry`);
      },
      /is in a queue/,
    ],
  ],
  not_supported: [
    [(rider) => rider.enqueue('q', URL_, { headers: { 'Service-Workflow-Init': 'true' } }), /^Service-Workflow-Init: /],
  ],
  batch_too_long: [
    [(rider) => rider.batch(Array(1001).fill({ destination: URL_ })), /too many elements; the limit is 1000/],
  ],
  loop_detected: [[(rider) => rider.enqueue('q', URL_, { headers: { 'Service-Hops': '6' } }), /came back.* 6 times/]],
  unauthorized: [[(rider) => rider.enqueue('q', URL_, { token: 'wrong' }), /^Authorization: /]],
  forbidden: [
    [
      async (rider) => {
        const { token } = await rider.account('reader', 'free', ['read']);
        return rider.enqueue('q', URL_, { token });
      },
      /scope "publish"/,
    ],
  ],
  not_found: [[(rider) => rider.call('GET', '/v2/nothing'), /nothing at \/v2\/nothing/]],
  message_not_found: [[(rider) => rider.call('GET', '/v2/messages/msg_none'), /message "msg_none"/]],
  topic_not_found: [
    [(rider) => rider.call('GET', '/v2/topics/none'), /topic none not found/],
    [(rider) => rider.enqueue('q', 'none'), /^destination: topic none not found/],
  ],
  account_not_found: [
    [(rider) => rider.call('GET', '/v2/admin/tokens?accountId=acc_none'), /account "acc_none"/],
    [(rider) => rider.call('PATCH', '/v2/admin/accounts/acc_none', json({ tier: 'paid' })), /account "acc_none"/],
  ],
  token_not_found: [
    [(rider) => rider.call('DELETE', '/v2/admin/accounts/acc_none/tokens/tok_none'), /token "tok_none"/],
  ],
  not_held: [
    [
      async (rider) => {
        const id = await rider.published(URL_, { headers: { 'Service-Delay': '1d' } });
        return rider.call('POST', `/v2/messages/${id}/release`);
      },
      /is CREATED, not HELD/,
    ],
  ],
  queue_not_found: [[(rider) => rider.call('POST', '/v2/queues/none/pause'), /queue "none"/]],
  alert_not_found: [[(rider) => rider.call('POST', '/v2/alerts/none/test'), /alert "none"/]],
  schedule_not_found: [[(rider) => rider.call('POST', '/v2/schedules/none/run'), /schedule "none"/]],
  dead_letter_not_found: [[(rider) => rider.call('GET', '/v2/dlq/dlq_none'), /dead letter "dlq_none"/]],
  host_not_found: [[(rider) => rider.call('GET', '/v2/hosts/none.example'), /"none\.example"/]],
  flow_key_not_found: [[(rider) => rider.call('POST', '/v2/flowControl/none/pause'), /flow-control key "none"/]],
  job_not_found: [[(rider) => rider.call('POST', '/v2/bulk/job_none/stop'), /bulk operation "job_none"/]],
  method_not_allowed: [
    [(rider) => rider.call('GET', '/v2/batch'), /use POST/],
    [(rider) => rider.call('POST', '/v2/keys'), /use GET/],
  ],
  conflict: [[(rider) => rider.call('POST', '/v2/admin/accounts', json({ name: 'dev' })), /^name: .*"dev"/]],
  misdirected: [
    [(rider) => exchange(rider.url, 'GET /healthz HTTP/1.1\r\nHost: b.example\r\n\r\n'), /^Host: .*"b.example"/],
  ],
  last_admin_token: [
    [
      // No other test here makes a token that may administer.
      async (rider) => {
        const own = await rider.manage<{ accountId: string; token: { tokenId: string } }>('GET', '/v2/account');
        return rider.call('DELETE', `/v2/admin/accounts/${own.accountId}/tokens/${own.token.tokenId}`);
      },
      /last token with the scope "admin".*create another such token first/,
    ],
  ],
  session_active: [
    [
      async (rider) => {
        const { token } = await rider.account('other', 'free', ['read']);
        const sign = (each: string, more: Record<string, string> = {}) =>
          ask(rider.url, '/console/session', {
            method: 'POST',
            headers: { 'X-Postrider-Console': '1', ...more },
            body: JSON.stringify({ token: each }),
          });
        const [cookie] = (await sign(token)).headers['set-cookie']!;
        return sign(rider.token!, { Cookie: cookie!.split(';')[0]! });
      },
      /signed in with the token "test" of the account "other".*sign out first/,
    ],
  ],
  queue_not_empty: [
    [
      async (rider) => {
        await rider.accepted(URL_, { queue: 'full', headers: { 'Service-Delay': '1h' } });
        return rider.call('DELETE', '/v2/queues/full');
      },
      /queue "full" has 1 open message.*force=true/,
    ],
  ],
  quota_exceeded: [
    [
      async (rider) => {
        const { token } = await rider.account('payer', 'paid');
        const delayed = { token, headers: { 'Service-Delay': '1h' } };
        assert.equal((await rider.enqueue('q', URL_, delayed)).status, 201);
        return rider.enqueue('q', URL_, delayed);
      },
      /daily quota on the paid tier: 1 messages/,
    ],
  ],
  account_suspended: [
    [
      async (rider) => {
        const { token, accountId } = await rider.account('suspended');
        await rider.manage('PATCH', `/v2/admin/accounts/${accountId}`, { suspended: true });
        return rider.enqueue('q', URL_, { token });
      },
      /suspended/,
    ],
  ],
  ack_not_found: [[(rider) => rider.call('POST', '/v2/acks/unknown', { body: '{"ok":true}' }), /./]],
  limit_exceeded: [
    [(rider) => rider.enqueue('q', URL_, { headers: { 'Service-Retries': '101' } }), /^Service-Retries \(101\).*100/],
  ],
  request_too_large: [
    [(rider) => rider.call('POST', '/v2/topics/t/endpoints', { body: Buffer.alloc(1024 * 1024 + 1) }), /1048576 bytes/],
  ],
  unsupported_encoding: [
    [(rider) => rider.enqueue('q', URL_, { headers: { 'Content-Encoding': 'gzip' } }), /^Content-Encoding: /],
  ],
  unsupported_version: [
    [(rider) => exchange(rider.url, 'GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n'), /HTTP\/1\.1 and HTTP\/1\.0/],
  ],
  unsupported_transfer_encoding: [
    [
      (rider) =>
        exchange(
          rider.url,
          'POST /v2/batch HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
        ),
      /^Transfer-Encoding: "gzip, chunked"/,
    ],
  ],
  headers_too_large: [
    [
      (rider) => exchange(rider.url, `GET /${'x'.repeat(70_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`),
      /larger than 65536 bytes/,
    ],
  ],
};

/** Not to be had by asking; each is shown elsewhere, or would be a fault. */
const NOT_PROVOKED: readonly ProblemCode[] = [
  'ack_gone', // in ../delivery/acks.test.ts
  'share_used', // in ../isolation/
  'body_in_pieces', // in ../isolation/uploads.test.ts
  'body_too_slow', // in ../isolation/uploads.test.ts
  'topic_empty', // a topic goes with its last endpoint
  'message_held', // takes three crashes
  'message_active', // in ../messages/change.test.ts
  'already_retried', // in ../api/dead-letters.test.ts
  'internal',
  'overloaded',
  'store_unavailable',
  'outcome_unknown', // in ../store/postgres/postgres-errors.test.ts and ../cluster/
  'disk_full', // below
  'storage_exceeded', // in ../isolation/stored-bytes.test.ts
  'store_gone', // in store-gone.test.ts
  'request_timeout', // in ../isolation/connections.test.ts
  'advance_too_long', // by a manual clock alone: ../../upkeep/manual-clock-control.test.ts
  'clock_not_manual', // by the development server alone: ../messages/statistics.test.ts
  'clock_off', // in /readyz only: ../rules/limits/acceptance.test.ts
  'deliver_only', // in ../cluster/
  'draining', // in drain.test.ts
];

const shared = sharedRider({ flags: ['--tiers', '{"paid":{"messagesPerDayMax":1}}'] });

for (const [code, cases] of Object.entries(PROVOKED)) {
  test(`7 errors: ${code} has its status, { error, code } as JSON, and names what is wrong`, async () => {
    for (const [provoke, says] of cases) {
      const answer = await provoke(shared());
      assert.ok(answer, 'the connection closed without an answer');
      assert.match(refusal(answer, PROBLEMS[code as ProblemCode][0], code), says);
    }
  });
}

test('7 errors: every code of the catalogue is tested here, or listed with the reason why not', () => {
  assert.deepEqual([...Object.keys(PROVOKED), ...NOT_PROVOKED].sort(), Object.keys(PROBLEMS).sort());
});

test('7 errors: publishing is refused with 503 disk_full and Retry-After when the disk has too little free space', {
  skip: neverNearlyFull(),
}, async (t) => {
  const rider = await startRider(t, { flags: NEARLY_FULL });
  await rider.quiet();
  const answer = await rider.enqueue('q', URL_);
  assert.match(refusal(answer, 503, 'disk_full'), /nothing was accepted/);
  assert.equal(answer.headers['retry-after'], '1');
  const ready = await rider.call('GET', '/readyz', { token: null });
  assert.deepEqual([ready.status, ready.json<{ code: string }>().code], [503, 'disk_full']);
  assert.equal((await rider.call('GET', '/v2/keys')).status, 200);
});
