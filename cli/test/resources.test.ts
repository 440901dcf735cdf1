// The commands about queues, topics, schedules, flow keys, keys, usage, accounts and tokens, and apply and export,
// against a real service.

import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { Account } from 'postrider-sdk';
import { type Ran, type RunOptions, runCli } from '../../server/test/support/command.ts';
import { sharedRider, startRider, temporaryFolder } from '../../server/test/support/harness.ts';
import { waitFor } from '../../server/test/support/wait.ts';
import { type AccountAccess, findAccount } from '../src/commands/machine/account-access.ts';
import { diffStates, readState } from '../src/commands/setup/desired-state.ts';
import { EXIT } from '../src/frame/exit-codes.ts';
import { isTokenCreatedInStore } from '../src/frame/store-or-service.ts';

const rider = sharedRider();

function cli(argv: readonly string[], { env = {}, ...rest }: RunOptions = {}): Promise<Ran> {
  return runCli(argv, { ...rest, env: { POSTRIDER_URL: rider().url, POSTRIDER_TOKEN: rider().token!, ...env } });
}

async function ok(...argv: string[]): Promise<Ran> {
  const ran = await cli(argv);
  assert.equal(ran.code, EXIT.done, ran.stderr);
  return ran;
}

const TIME = '2026-01-01 00:00:00Z';

test('queues are made, shown, paused and deleted', async () => {
  assert.match((await ok('queues')).stderr, /There are no queues\. The first message makes one/);
  assert.equal(
    (await ok('queues', 'set', 'orders', '--parallelism', '3')).stdout,
    `queue          orders\nstate          running\nparallelism    3\nopen messages  0\ncreated        ${TIME}\nchanged        ${TIME}\n`,
  );
  assert.match((await ok('queues', 'pause', 'orders')).stdout, /state +paused/);
  await ok('enqueue', 'orders', 'http://127.0.0.1:1');
  assert.equal(
    (await ok('queues', 'list')).stdout,
    `QUEUE   STATE   PARALLELISM  OPEN  CREATED\norders  paused            3     1  ${TIME}\n`,
  );
  const refused = await cli(['queues', 'delete', 'orders']);
  assert.deepEqual(
    [refused.code, /To cancel its open messages as well: --force/.test(refused.stderr)],
    [EXIT.failed, true],
  );
  const unsaid = await cli(['queues', 'delete', 'orders', '--force']);
  assert.deepEqual(
    [unsaid.code, /confirmation needed: Delete the queue orders/.test(unsaid.stderr)],
    [EXIT.usage, true],
  );
  await ok('queues', 'resume', 'orders');
  await ok('queues', 'pause', 'orders');
  assert.equal((await ok('queues', 'delete', 'orders', '--force', '--yes')).stdout, 'orders  deleted\n');
  assert.equal((await cli(['queues', 'get', 'orders'])).code, EXIT.notFound);
});

test('topics get and lose endpoints', async () => {
  const made = await ok('topics', 'add', 'news', 'https://a.example/x', 'shop=https://b.example/y=z');
  assert.match(
    made.stdout,
    /topic +news\n[\s\S]*NAME +URL\n +https:\/\/a\.example\/x\nshop +https:\/\/b\.example\/y=z\n$/,
  );
  assert.match((await ok('topics')).stdout, /news +2 .*https:\/\/a\.example\/x https/);
  assert.equal((await cli(['topics', 'add', 'news'])).code, EXIT.usage);
  await ok('topics', 'remove', 'news', 'shop');
  assert.match((await ok('topics', 'remove', 'news', 'https://a.example/x')).stdout, /deleted with its last endpoint/);
  for (const argv of [
    ['get', 'news'],
    ['delete', 'news'],
    ['remove', 'news', 'shop'],
  ]) {
    const { code, stdout } = await cli(['topics', ...argv]);
    assert.deepEqual([code, stdout], [EXIT.notFound, ''], argv.join(' '));
  }
  const { id } = (await ok('topics', 'add', 'news', 'https://a.example/x', '--json')).json<{ id: string }>();
  const unknown = await cli(['topics', 'remove', 'news', 'shop', 'https://a.example/x']);
  assert.deepEqual(
    [unknown.code, /has no endpoint shop\n {2}Nothing was removed/.test(unknown.stderr)],
    [EXIT.notFound, true],
  );
  assert.equal((await ok('topics', 'get', 'news', '--json')).json<{ endpoints: unknown[] }>().endpoints.length, 1);
  await ok('topics', 'delete', id);
  assert.equal((await cli(['topics', 'get', 'news'])).code, EXIT.notFound);
});

test('a schedule is made to the second, changed in part, and shows its times, runs and what it skipped', async () => {
  const made = ['schedules', 'create', 'http://127.0.0.1:1/tick', '--cron', '*/30 * * * * *', '--id', 'often'];
  await ok(...made, '--overlap', 'skip', '--jitter', '5s', '--retries', '1', '-d', 'one');
  assert.match(
    (await ok('schedules', 'get', 'often')).stdout,
    /cron +\*\/30 \* \* \* \* \*\n[\s\S]*overlap +skip\njitter +up to 5 s\n[\s\S]*( {2}next 2026-01-01 [0-9:]{8}Z\n){5}/,
  );
  await ok('schedules', 'run', 'often');
  assert.match((await ok('schedules', 'get', 'often')).stdout, /\n {2}run 2026-01-01 [0-9:]{8}Z {2}msg_\w+ {2}[A-Z]+/);
  const changed = await ok(
    'schedules',
    'change',
    'often',
    '--cron',
    '@every 1h',
    '--overlap',
    'allow',
    '--remove',
    'Retries',
  );
  assert.match(changed.stdout, /^often {2}next 2026-01-01 /);
  await ok('schedules', 'change', 'often', '-d', 'two', '--to', 'http://127.0.0.1:1/other');
  const now = (await ok('schedules', 'get', 'often', '--json')).json<Record<string, unknown>>();
  assert.deepEqual(
    [now.cron, now.overlap, now.jitter, now.retries, now.body, now.destination],
    ['@every 1h', undefined, 5, 3, 'two', 'http://127.0.0.1:1/other'],
  );
  const nothing = await cli(['schedules', 'change', 'often']);
  assert.deepEqual([nothing.code, /nothing is changed/.test(nothing.stderr)], [EXIT.usage, true]);
  assert.equal((await cli(['schedules', 'change', 'often', '--overlap', 'queue'])).code, EXIT.usage);
  assert.equal((await cli(['schedules', 'change', 'none', '--cron', '@daily'])).code, EXIT.notFound);
  await ok('schedules', 'delete', 'often');
});

test('schedules are made, shown, paused, run and deleted', async () => {
  const made = await ok(
    'schedules',
    'create',
    'http://127.0.0.1:1/tick',
    '--cron',
    '0 9 * * *',
    '--id',
    'daily',
    '-d',
    '{}',
    '--retries',
    '0',
  );
  assert.equal(made.stdout, 'daily\n');
  assert.match((await ok('schedules')).stdout, /^SCHEDULE .*\ndaily +0 9 \* \* \* +2026-01-01 09:00:00Z +http:/);
  assert.match(
    (await ok('schedules', 'get', 'daily')).stdout,
    /retries +0\n[\s\S]*Content-Type: application\/json\nbody +\{\}\n$/,
  );
  assert.match((await ok('schedules', 'pause', 'daily')).stdout, /paused/);
  assert.match((await ok('schedules')).stdout, / paused /);
  await ok('schedules', 'resume', 'daily');
  assert.match((await ok('schedules', 'run', 'daily')).stdout, /^msg_/);
  assert.equal((await ok('schedules', 'next', '0', '9', '*', '*', '1')).stdout.split('\n')[0], '2026-01-05 09:00:00Z');
  const wrong = await cli(['schedules', 'create', 'http://127.0.0.1:1', '--cron', 'often']);
  assert.deepEqual([wrong.code, /ron/.test(wrong.stderr)], [EXIT.failed, true]);
  await ok('schedules', 'delete', 'daily');
});

test('hosts are listed with their health', async () => {
  const before = await ok('hosts');
  assert.match(before.stdout, /^(?:HOST|No host)/);
  const id = (await ok('publish', 'http://127.0.0.1:9/x', '--retries', '0')).stdout.trim().split(/\s/)[0]!;
  assert.match(id, /^msg_/);
  const shown = await waitFor('the attempt to be measured', async () => {
    const ran = await cli(['hosts', 'get', '127.0.0.1:9']);
    return ran.code === EXIT.done && ran.stdout;
  });
  assert.match(shown, /state +failing\n/);
  assert.match(shown, /success +0 of 1 \(0 %\)/);
  assert.match((await ok('hosts')).stdout, /127\.0\.0\.1:9 +failing +1 +0 %/);
  assert.equal((await cli(['hosts', 'get', 'none.example'])).code, EXIT.notFound);
});

test('flow keys are pinned, paused and unpinned', async () => {
  const pinned = await ok('flow', 'pin', 'shop', '--rate', '10', '--period', '1m', '--parallelism', '2');
  assert.match(pinned.stdout, /in flight +0 \(2, pinned\)\nrate +0 of 10 in 60 s \(pinned\)/);
  assert.match(
    (await ok('flow')).stdout,
    /^KEY +STATE +WAITING +IN FLIGHT +PARALLELISM +RATE\nshop +running +0 +0 +2 \(pinned\)/,
  );
  assert.match((await ok('flow', 'pause', 'shop')).stdout, /state +paused/);
  await ok('flow', 'resume', 'shop');
  await ok('flow', 'reset-rate', 'shop');
  assert.doesNotMatch((await ok('flow', 'unpin', 'shop')).stdout, /pinned/);
  assert.equal((await cli(['flow', 'pin', 'shop'])).code, EXIT.usage);
  assert.equal((await cli(['flow', 'get', 'none'])).code, EXIT.notFound);
});

test('keys are shown, and rotated only when that is meant', async () => {
  const before = (await ok('keys', '--json')).json<{ current: string; next: string }>();
  assert.equal((await cli(['keys', 'rotate'])).code, EXIT.usage);
  const after = (await ok('keys', 'rotate', '--yes', '--json')).json<{ current: string; next: string }>();
  assert.equal(after.current, before.next);
  const usage = await ok('usage', '--from-day', '2026-01-01', '--to-day', '2026-01-01');
  assert.match(usage.stdout, /^DAY \(UTC\) +[A-Z]+.*\n2026-01-01 .*\nall /);
});

suite('accounts and tokens', () => {
  test('over the API', async () => {
    assert.match((await ok('account')).stdout, /scopes +publish, read, manage, admin\n[\s\S]*retriesMax +100/);
    const id = (await ok('account', 'create', 'shop', '--tier', 'paid')).stdout.trim();
    assert.match((await ok('account', 'list')).stdout, new RegExp(`${id} +shop +paid `));
    assert.equal((await ok('account', 'set-tier', 'shop', 'free')).stdout, 'shop  free\n');
    assert.equal((await cli(['account', 'set-tier', 'nobody', 'free'])).code, EXIT.notFound);
    const made = await ok('token', 'create', '--account', 'shop', '--scope', 'publish,read', '--name', 'laptop');
    assert.match(made.stdout, /^pr_[\w-]{32}\n$/);
    assert.ok(!made.stderr.includes(made.stdout.trim()));
    const tokens = (await ok('token', 'list', '--account', 'shop', '--json')).json<
      { tokenId: string; name: string }[]
    >();
    assert.deepEqual(
      tokens.map(({ name }) => name),
      ['laptop'],
    );
    const unsaid = await cli(['token', 'revoke', tokens[0]!.tokenId, '--account', 'shop']);
    assert.equal(unsaid.code, EXIT.usage);
    await ok('token', 'revoke', tokens[0]!.tokenId, '--account', 'shop', '--yes');
    assert.equal((await ok('token', '--account', 'shop')).stdout, '');
    assert.match((await ok('token', 'list', '--account', 'shop', '--all')).stdout, /laptop/);
    assert.equal((await cli(['token', 'create', '--scope', 'own'])).code, EXIT.usage);
    assert.equal((await cli(['token', 'create'])).code, EXIT.usage);
  });

  test('directly in the store of a stopped service: the way back in', async (t) => {
    const data = temporaryFolder(t);
    const first = await startRider(t, { data, command: 'serve' });
    await first.close();
    const inStore = (...argv: string[]) => runCli([...argv, '--data', data]);
    const created = await inStore('account', 'create', 'shop');
    assert.equal(created.code, EXIT.done, created.stderr);
    assert.match((await inStore('account', 'list')).stdout, /default +free[\s\S]*shop +free/);
    assert.equal((await inStore('account', 'create', 'shop')).code, EXIT.failed);
    const misnamed = await inStore('account', 'create', 'a\nb');
    assert.deepEqual([misnamed.code, misnamed.stdout], [EXIT.usage, ''], 'the rule of the API');
    const made = await inStore('token', 'create', '--admin', '--json');
    const { token, tokenId } = made.json<{ token: string; tokenId: string }>();
    assert.match((await inStore('token', 'list')).stdout, new RegExp(tokenId));
    const again = await startRider(t, { data, command: 'serve' });
    const admitted = await runCli(['account', '--url', again.url], { env: { POSTRIDER_TOKEN: token } });
    await again.close();
    assert.equal(admitted.code, EXIT.done, admitted.stderr);
    const missing = await runCli(['token', 'list', '--data', join(data, 'none')]);
    assert.deepEqual([missing.code, /there is no store in/.test(missing.stderr)], [EXIT.failed, true]);
  });

  test('without a named account it is the only one or default; an error says whether there are several or none', async () => {
    const find = (names: readonly string[], wanted?: string) => {
      const accounts = names.map((name) => ({ id: `acc_${name}`, name }) as Account);
      const access: Partial<AccountAccess> = { ownAccountId: async () => null, accounts: async () => accounts };
      return findAccount(access as AccountAccess, wanted);
    };
    assert.equal((await find(['shop'])).name, 'shop');
    assert.equal((await find(['shop', 'default'])).name, 'default');
    const several = {
      message: 'there are several accounts',
      hint: 'Choose one with --account: a, b.',
      exit: EXIT.usage,
    };
    await assert.rejects(find(['a', 'b']), several);
    const hint = 'To make the first account and its token, start postrider serve.';
    await assert.rejects(find([]), { message: 'there is no account yet', hint, exit: EXIT.usage });
    await assert.rejects(find([], 'a'), { message: 'there is no account "a"', hint, exit: EXIT.notFound });
  });

  test('token create is for the store unless a service is named, and flags decide before variables', () => {
    assert.equal(isTokenCreatedInStore(['--admin'], {}), true);
    assert.equal(isTokenCreatedInStore(['--admin'], { POSTRIDER_TOKEN: 'x' }), false);
    assert.equal(isTokenCreatedInStore(['--admin', '--data', 'x'], { POSTRIDER_TOKEN: 'x' }), true);
    assert.equal(isTokenCreatedInStore(['--admin', '--url=x'], { POSTRIDER_DATA: 'x' }), false);
    assert.equal(isTokenCreatedInStore(['--admin'], { POSTRIDER_DATA: 'x', POSTRIDER_TOKEN: 'x' }), true);
  });
});

test('alerts are made, replaced, tried, shown and deleted', async () => {
  assert.match((await ok('alerts')).stderr, /There are no alerts\. Make one: postrider alerts create messageFailed/);
  const target = ['--target', 'http://127.0.0.1:1/alert'];
  const made = await ok(
    'alerts',
    'create',
    'failureRate',
    '--share',
    '5%',
    '--host',
    'a.example',
    '--id',
    'rate',
    ...target,
  );
  assert.equal(made.stdout, 'rate\n');
  await ok(
    'alerts',
    'create',
    'failureRate',
    '--share',
    '0.5',
    '--slack',
    '--remind-every',
    '60m',
    '--id',
    'rate',
    ...target,
  );
  assert.equal(
    (await ok('alerts', 'list')).stdout,
    `ALERT  STATE  RULE                                        TARGET\nrate   calm   failureRate share=0.5 window=5m minimum=10  http://127.0.0.1:1/alert\n`,
  );
  const shown = (await ok('alerts', 'get', 'rate')).stdout;
  assert.match(shown, /target +http:\/\/127\.0\.0\.1:1\/alert \(slack\)\nreminder +every 1h\nstate +calm\n/);
  assert.match((await ok('alerts', 'test', 'rate')).stdout, /^msg_\w+ {2}http:\/\/127\.0\.0\.1:1\/alert\n$/);
  assert.match((await ok('alerts', 'create', 'quotaNear', ...target)).stdout, /^alr_\w+\n$/);
  for (const bad of [
    ['create', 'quotaNear'],
    ['create', 'quotaFar', ...target],
    ['create', 'quotaNear', '--share', 'half', ...target],
  ]) {
    assert.equal((await cli(['alerts', ...bad])).code, EXIT.usage, bad.join(' '));
  }
  const wrong = await cli(['alerts', 'create', 'quotaNear', '--label', 'x', '--share', '2', ...target]);
  assert.match(wrong.stderr, /rule\.label: there is no such field.*; rule\.share: must be/);
  for (const { alertId } of (await ok('alerts', '--json')).json<{ alertId: string }[]>()) {
    assert.equal((await ok('alerts', 'delete', alertId)).stdout, `${alertId}  deleted\n`);
  }
  assert.equal((await cli(['alerts', 'get', 'rate'])).code, EXIT.notFound);
});

suite('apply and export', () => {
  const FILE = `
queues:
  - name: mail
    parallelism: 2
    priority: 0
    expires: 900s
    outage: park
topics:
  - name: greetings
    endpoints:
      - url: https://a.example/x
schedules:
  - id: hourly
    cron: "0 * * * *"
    destination: greetings
    overlap: skip
    jitter: 90s
    headers: { Content-Type: text/plain, X-Tenant: acme }
    body: "tick"
    settings: { Retries: 1, Timeout: 20s, Label: "a,b" }
alerts:
  - id: bills
    rule: { type: messageFailed, label: bill, window: 600s }
    target: { url: https://a.example/alert }
    remindEvery: 3600
  - id: space
    rule: { type: diskLow }
    target: { url: https://a.example/chat, format: slack }
`;

  test('a schedule that an export leaves out is not deleted by that export', async (t) => {
    const secret = [
      'schedules',
      'create',
      'https://a.example/x',
      '--cron',
      '0 0 1 1 *',
      '--id',
      'secret',
      '-d',
      'hidden',
    ];
    await ok(...secret, '-H', 'Service-Redact-Fields: body');
    const file = join(temporaryFolder(t), 'state.yaml');
    assert.match((await ok('export', '-o', file)).stderr, /left out, .*: schedules secret\n/);
    const pruned = await ok('apply', '-f', file, '--prune', '--yes');
    assert.match(pruned.stderr, /not deleted, because a file cannot describe them: schedules secret\n/);
    await ok('schedules', 'delete', 'secret');
  });

  test('a file is applied, shows what differs, and is the same after an export', async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'state.yaml');
    writeFileSync(file, FILE);
    const dry = await ok('apply', '-f', file, '--dry-run');
    assert.match(
      dry.stdout,
      /^\+ queue mail\n {4}parallelism: 2\n {4}expires: 15m\n {4}priority: 0\n {4}outage: park\n\+ topic greetings\n[\s\S]*\+ schedule hourly\n[\s\S]*\+ alert bills\n/,
    );
    assert.match(dry.stderr, /5 changes \(5 created, 0 changed, 0 deleted\) would be made\. Nothing was changed\.\n$/);
    assert.equal((await cli(['apply', '-f', file, '--dry-run', '--exit-code'])).code, EXIT.different);
    assert.equal((await ok('queues', '--json')).json<unknown[]>().length, 0, 'a dry run changes nothing');
    await ok('apply', '-f', file);
    const again = await ok('apply', '-f', file, '--json');
    assert.deepEqual(again.json(), { changes: [], failed: [] });

    const exported = join(folder, 'exported.yaml');
    await ok('export', '-o', exported);
    assert.equal(statSync(exported).mode & 0o777, 0o600);
    assert.equal((await cli(['export', '-o', exported])).code, EXIT.failed, 'none is overwritten');
    assert.match((await ok('apply', '-f', exported)).stderr, /The service matches the file/);
    assert.match(readFileSync(exported, 'utf8'), /expires: 15m\n {4}priority: 0\n {4}outage: park\n/);
    assert.match(
      readFileSync(exported, 'utf8'),
      /overlap: skip\n {4}jitter: 1m30s\n[\s\S]*settings:\n {6}[\s\S]*Timeout: 20s/,
    );
    await ok('export', '--json', '-o', join(folder, 'exported.json'));
    assert.match((await ok('apply', '-f', join(folder, 'exported.json'))).stderr, /The service matches the file/);

    const { rule } = (await ok('alerts', 'get', 'bills', '--json')).json<{ rule: object }>();
    assert.deepEqual(rule, { type: 'messageFailed', count: 1, window: '10m', label: 'bill' });
    const other = await cli(['apply', '-f', '-'], { stdin: FILE.replace('600s', '20m') });
    assert.match(other.stdout, /^~ alert bills\n {4}rule: .*10m.* → .*20m.*\n$/);
    await ok('apply', '-f', file);
    const { token: reader } = await rider().tokenFor(
      (await ok('account', 'show', '--json')).json<{ accountId: string }>().accountId,
      ['read'],
    );
    const partly = await cli(['export'], { env: { POSTRIDER_TOKEN: reader } });
    assert.match(partly.stderr, /left out: alerts/);
    assert.doesNotMatch(partly.stdout, /^alerts:/m);

    const without = await cli(['apply', '-f', '-'], { stdin: FILE.replace('outage: park', 'outage: retry') });
    assert.match(without.stdout, /^~ queue mail\n {4}outage: park → retry\n$/);
    await ok('apply', '-f', file);

    await ok('schedules', 'pause', 'hourly');
    const changed = FILE.replace('parallelism: 2', 'parallelism: 5').replace('"tick"', '"tock\\e"');
    const piped = await cli(['apply', '-f', '-'], { stdin: changed });
    assert.equal(piped.code, EXIT.done, piped.stderr);
    assert.match(
      piped.stdout,
      /^~ queue mail\n {4}parallelism: 2 → 5\n~ schedule hourly\n {4}body: tick → tock\\u001b\n$/,
    );
    const hourly = (await ok('schedules', 'get', 'hourly', '--json')).json<{ isPaused: boolean; body: string }>();
    assert.deepEqual([hourly.isPaused, hourly.body], [true, 'tock\u001b'], 'it is still paused');
  });

  test('only --prune deletes what the file does not name, and only when that is meant', async () => {
    const few = 'queues: []\nschedules: []\nalerts: []\n';
    assert.match((await cli(['apply', '-f', '-'], { stdin: few })).stderr, /The service matches the file/);
    const unsaid = await cli(['apply', '-f', '-', '--prune'], { stdin: few });
    const question = /confirmation needed: Delete what the file does not name \(4 in all\)\?/;
    assert.deepEqual([unsaid.code, question.test(unsaid.stderr)], [EXIT.usage, true]);
    const pruned = await cli(['apply', '-f', '-', '--prune', '--yes'], { stdin: few });
    assert.equal(pruned.code, EXIT.done, pruned.stderr);
    assert.equal(
      (await ok('topics', '--json')).json<unknown[]>().length,
      1,
      'a section that is not there is left alone',
    );
    await ok('topics', 'delete', 'greetings');
  });

  test('everything that is wrong with a file is said at once, and nothing is changed', async () => {
    const bad = `
queus: []
queues:
  - parallelism: many
  - { name: a, paralellism: 1 }
  - { name: a }
  - { name: b, priority: "5" }
  - { name: c, priority: 10 }
topics:
  - { name: t, endpoints: [] }
schedules:
  - { id: s, cron: 5, destination: x, body: a, bodyBase64: b }
alerts:
  - { id: a, rule: { type: failureRate, share: 3, hots: x }, target: { url: nowhere } }
  - { id: b, rul: {} }
`;
    const { code, stderr } = await cli(['apply', '-f', '-'], { stdin: bad });
    assert.equal(code, EXIT.usage);
    for (const said of [
      'unknown section "queus"; did you mean "queues"?',
      'queues[0]: name is missing',
      'queues[0].parallelism must be a whole number, 1 or more',
      'queues[1]: unknown field "paralellism"; did you mean "parallelism"?',
      'queues has "a" more than once',
      'queues[3].priority must be a whole number',
      'queues[4].priority: must be a whole number from 0 to 9',
      'topics[0].endpoints must be a list with at least one endpoint',
      'schedules[0].cron must be a text: put it in quotes',
      'schedules[0]: give body or bodyBase64, not both',
      'alerts[0]: rule.hots: there is no such field, did you mean "host"?',
      'alerts[0]: rule.share: must be a number above 0 and up to 1',
      'alerts[0]: target.url: a URL starts with http:// or https://',
      'alerts[1]: rule is missing',
      'alerts[1]: unknown field "rul"; did you mean "rule"?',
    ]) {
      assert.ok(stderr.includes(`\n  - ${said}`), `${said}\n${stderr}`);
    }
    const broken = await cli(['apply', '-f', '-'], { stdin: 'queues:\n  - name: "a\n' });
    assert.deepEqual(
      [broken.code, /cannot be read as YAML:\n.*line \d/.test(broken.stderr)],
      [EXIT.usage, true],
      broken.stderr,
    );
    const unreadable: readonly (readonly [text: string, said: RegExp])[] = [
      ['queues: []\n---\ntopics: []\n', /standard input cannot be read as YAML:\n {2}- it has more than one document/],
      [
        `queues: ${'['.repeat(20_000)}`,
        /cannot be read as YAML:\n {2}- it is nested too deeply\n(?! {2}- it is nested)/,
      ],
      ['', /standard input cannot be applied, and nothing was changed:\n {2}- it is empty/],
      ['# nothing\n', /it is empty/],
      ['{}', /it is empty/],
    ];
    for (const [text, said] of unreadable) {
      const ran = await cli(['apply', '-f', '-', '--prune', '--yes'], { stdin: text });
      assert.equal(ran.code, EXIT.usage, ran.stderr);
      assert.match(ran.stderr, said);
    }
    if (process.platform === 'linux') {
      const endless = await cli(['apply', '-f', '/dev/zero']);
      assert.deepEqual([endless.code, /it is larger than 10 MiB/.test(endless.stderr)], [EXIT.usage, true]);
    }
    assert.equal((await cli(['apply', '-f', 'none.yaml'])).code, EXIT.usage);
    assert.equal((await cli(['apply'])).code, EXIT.usage);
    assert.equal((await cli(['apply', '-f', '-'], { stdin: 'just text' })).code, EXIT.usage);
  });

  test('what the service would refuse is said before anything is changed, in a dry run too', async () => {
    const wrong = `
queues:
  - { name: never-made }
  - { name: 'a b', parallelism: 1001 }
  - { name: "a\\0b" }
topics:
  - { name: 't t', endpoints: [{ url: nothing }, { url: 'https://a.example', name: "\\u0007" }] }
schedules:
  - { id: 's/1', cron: 'x y', destination: 'ftp://a.example', queue: '' }
  - { id: ok, cron: 'CRON_TZ=Mars/Base 0 0 * * *', destination: news, overlap: queue, jitter: 2d }
`;
    for (const more of [['--dry-run'], []]) {
      const { code, stdout, stderr } = await cli(['apply', '-f', '-', ...more], { stdin: wrong });
      assert.deepEqual([code, stdout], [EXIT.usage, '']);
      assert.deepEqual(
        stderr.split('\n').filter((line) => line.startsWith('  - ')),
        [
          '  - queues[1].name must have 1 to 128 letters, digits, "-", "_" or "."',
          '  - queues[1].parallelism must be at most 1000',
          '  - queues[2].name must have 1 to 128 letters, digits, "-", "_" or "."',
          '  - topics[0].name must have 1 to 128 letters, digits, "-", "_" or "."',
          '  - topics[0].endpoints[0].url: a URL starts with http:// or https://',
          '  - topics[0].endpoints[1].name must have 1 to 128 characters, none of them a control character',
          '  - schedules[0].id must have 1 to 128 letters, digits, "-", "_" or "."',
          '  - schedules[0].cron: has 2 fields; five are needed: minute, hour, day-of-month, month, day-of-week; or six, with second before them',
          '  - schedules[0].destination: neither a URL starting with http:// or https://, nor the name or id of a topic (1 to 128 letters, digits, "-", "_" or ".")',
          '  - schedules[0].queue must have 1 to 128 letters, digits, "-", "_" or "."',
          '  - schedules[1].cron: time zone "Mars/Base" is not known; use a name such as Europe/Berlin',
          '  - schedules[1].overlap: must be one of allow, skip',
          '  - schedules[1].jitter: must be a duration of at most 1d, such as 30s or 5m',
        ],
        stderr,
      );
    }
    assert.equal((await cli(['queues', 'get', 'never-made'])).code, EXIT.notFound);
  });

  test('settings and headers that the service would refuse are said by a dry run', async () => {
    const wrong = `
queues: [{ name: never-made }]
topics:
  - { name: t1, endpoints: [{ url: 'https://a.example', name: 'a b' }] }
  - { name: t2, endpoints: [{ url: 'https://a.example' }, { url: 'https://a.example' }] }
  - { name: t3, endpoints: [{ url: 'https://a.example' }], headers: { Service-Retries: many } }
  - { name: t4, endpoints: [{ url: 'https://a.example' }], headers: { Service-Retires: 3 } }
schedules:
  - { id: s1, cron: '@daily', destination: 'https://a.example', settings: { Retries: many } }
  - { id: s2, cron: '@daily', destination: 'https://a.example', settings: { Dealy: 1h } }
  - { id: s3, cron: '@daily', destination: 'https://a.example', headers: { Host: x } }
  - { id: s4, cron: '@daily', destination: 'https://a.example', method: 'a b' }
  - { id: s5, cron: '@daily', destination: 'https://a.example', bodyBase64: 'x' }
`;
    for (const more of [['--dry-run'], []]) {
      const { code, stdout, stderr } = await cli(['apply', '-f', '-', ...more], { stdin: wrong });
      assert.deepEqual([code, stdout], [EXIT.usage, ''], stderr);
      const places = stderr.split('\n').flatMap((line) => /^ {2}- (\w+\[\d\])/.exec(line)?.[1] ?? []);
      const topics = [0, 1, 2, 3].map((index) => `topics[${index}]`);
      assert.deepEqual(places, [...topics, ...[0, 1, 2, 3, 4].map((index) => `schedules[${index}]`)], stderr);
    }
    assert.equal((await cli(['queues', 'get', 'never-made'])).code, EXIT.notFound);
  });

  test('limits of the account and topics that nobody makes are said by a dry run', async () => {
    const wrong = `
queues: [{ name: never-made }]
topics:
  - { name: t1, endpoints: [{ url: 'https://a.example' }], headers: { Service-Timeout: 3h } }
  - { name: t2, endpoints: [{ url: 'https://a.example' }], headers: { Service-Retries: 101 } }
  - { name: t3, endpoints: [${'{ url: https://a.example/_ }, '.repeat(101).replaceAll('_', () => String(Math.random()))}] }
schedules:
  - { id: s1, cron: '@daily', destination: 'https://a.example', settings: { Delay: 366d } }
  - { id: s2, cron: '@daily', destination: nobody-made-it }
  - { id: s4, cron: '@daily', destination: 'https://a.example', settings: { Order-Key: a } }
  - { id: s5, cron: '@daily', destination: 'https://a.example', body: '${'x'.repeat(1024 * 1024 + 1)}' }
  - { id: s6, cron: '@daily', destination: t2 }
`;
    for (const more of [['--dry-run'], []]) {
      const { code, stdout, stderr } = await cli(['apply', '-f', '-', ...more], { stdin: wrong });
      assert.deepEqual([code, stdout], [EXIT.usage, ''], stderr);
      const places = stderr.split('\n').flatMap((line) => /^ {2}- (\w+\[\d\])/.exec(line)?.[1] ?? []);
      const topics = [0, 1, 2].map((index) => `topics[${index}]`);
      assert.deepEqual(places, [...topics, ...[0, 1, 2, 3].map((index) => `schedules[${index}]`)], stderr);
      assert.match(stderr, /topics\[0\]\.headers: .*Service-Timeout/);
      assert.match(
        stderr,
        /schedules\[1\]\.destination: neither the service nor this file has the topic nobody-made-it/,
      );
    }
    assert.equal((await cli(['queues', 'get', 'never-made'])).code, EXIT.notFound);

    // A topic of the file, and one of the service, by its name and by its id.
    const good = `
topics: [{ name: of-file, endpoints: [{ url: 'https://a.example' }] }]
schedules: [{ id: to-file, cron: '@daily', destination: of-file }]
`;
    assert.equal((await cli(['apply', '-f', '-'], { stdin: good })).code, EXIT.done);
    const { id } = (await ok('topics', 'get', 'of-file', '--json')).json<{ id: string }>();
    for (const name of ['of-file', id]) {
      const file = `schedules: [{ id: to-service, cron: '@daily', destination: ${name} }]`;
      const applied = await cli(['apply', '-f', '-'], { stdin: file });
      assert.equal(applied.code, EXIT.done, applied.stderr);
    }
  });

  test('the file of docs/apply.md is applied as it stands, and then nothing differs', async () => {
    const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'apply.md'), 'utf8');
    const [, file] = /```yaml\n(.*?)```/s.exec(page)!;
    const applied = await cli(['apply', '-f', '-', '--yes', '--json'], { stdin: file! });
    assert.equal(applied.code, EXIT.done, applied.stderr);
    const { changes, failed } = applied.json<{ changes: object[]; failed: object[] }>();
    assert.deepEqual([changes.length, failed], [5, []]);
    const again = await cli(['apply', '-f', '-', '--dry-run', '--exit-code'], { stdin: file! });
    assert.equal(again.code, EXIT.done, again.stdout);
  });

  test('what no read shows is compared by its hash', () => {
    const schedule = { id: 's', cron: '0 0 * * *', destination: 'https://a.example' };
    const hidden = 'REDACTED:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
    const actual = { schedules: [{ ...schedule, body: hidden }] };
    assert.deepEqual(diffStates({ schedules: [{ ...schedule, body: 'hello' }] }, actual, false), []);
    assert.equal(diffStates({ schedules: [{ ...schedule, body: 'other' }] }, actual, false).length, 1);
    for (const empty of [null, undefined, {}]) assert.ok('problems' in readState(empty));
    assert.ok('problems' in readState([]));
  });
});

test('the audit is listed with filters, of one account or of all, and followed', async () => {
  const made = await rider().account('audited');
  const env = { POSTRIDER_TOKEN: made.token };
  const none = await cli(['audit'], { env });
  assert.match(none.stderr, /No entry of the audit matches/);
  for (const name of ['orders', 'news']) await cli(['queues', 'set', name], { env });
  await cli(['queues', 'pause', 'none'], { env });
  const table = (await cli(['audit', '--result', 'done'], { env })).stdout.split('\n');
  assert.match(table[0]!, /^TIME +WHO +ADDRESS +CALL +TARGET +RESULT$/);
  assert.match(table[1]!, /Z +test +127\.0\.0\.1 +POST \/v2\/queues +news +200$/);
  assert.match(table[2]!, / orders +200$/);
  const json = async (...argv: string[]) =>
    JSON.parse((await cli(['audit', '--json', ...argv], { env })).stdout) as readonly {
      target: string;
      code?: string;
    }[];
  assert.deepEqual(
    (await json('--target', 'orders', '--by', 'test')).map(({ target }) => target),
    ['orders'],
  );
  assert.deepEqual(
    (await json('--result', 'queue_not_found')).map(({ code }) => code),
    ['queue_not_found'],
  );
  assert.deepEqual(await json('--call', 'POST /v2/queues', '--address', '192.0.2.1'), []);
  assert.equal((await json('--limit', '1')).length, 1);
  const other = JSON.parse((await ok('audit', '--json', '--account', 'audited')).stdout) as readonly object[];
  assert.equal(other.length, 3);
  assert.ok(JSON.parse((await ok('audit', '--json', '--all', '--limit', '0')).stdout).length > 3);
  assert.equal((await cli(['audit', '--account', 'nobody'])).code, EXIT.notFound);
  assert.equal((await cli(['audit', '--result', 'perhaps'])).code, EXIT.failed);

  const ends = new AbortController();
  const following = cli(['audit', '--follow', '--target', 'followed', '--target', 'later'], {
    env,
    isHurried: true,
    interrupted: ends.signal,
    onError: async (text) => {
      if (/New entries of the audit/.test(text)) await cli(['queues', 'set', 'followed'], { env });
    },
    onOutput: async (text) => {
      if (/later/.test(text)) ends.abort();
      else if (/followed/.test(text)) await cli(['queues', 'set', 'later'], { env });
    },
  });
  const { code, stdout } = await following;
  assert.equal(code, EXIT.interrupted);
  assert.match(
    stdout,
    /^\S+ \S+Z {2}test {2}POST \/v2\/queues {2}followed {2}200\n\S+ \S+Z {2}test {2}POST \/v2\/queues {2}later {2}200\n$/,
  );
});
