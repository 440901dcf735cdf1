// A flag that has no effect is refused before anything is changed: flags of filters beside ids, flags that need another
// one, and whatever flag the code of a command does not ask for.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemWorld } from '../../server/src/runtime/world.ts';
import { type Ran, runCli } from '../../server/test/support/command.ts';
import { sharedRider, temporaryFolder } from '../../server/test/support/harness.ts';
import { startReceiver } from '../../server/test/support/receiver.ts';
import type { FlagSpec } from '../src/frame/arguments.ts';
import { parseArguments } from '../src/frame/arguments.ts';
import type { CommandSpec } from '../src/frame/command.ts';
import { connectTo } from '../src/frame/connection.ts';
import { EXIT } from '../src/frame/exit-codes.ts';
import { Failure } from '../src/frame/failure.ts';
import { Output } from '../src/frame/output.ts';
import type { Io } from '../src/frame/terminal.ts';
import { sharedFlags } from '../src/table/flags.ts';
import { COMMAND_TABLE } from '../src/table/table.ts';

const rider = sharedRider();
const env = () => ({ POSTRIDER_URL: rider().url, POSTRIDER_TOKEN: rider().token! });

/** As a person with a service whose clock goes on. */
async function cli(...argv: string[]): Promise<Ran> {
  const ticking = setInterval(() => rider().clock.advance(200), 10);
  try {
    return await runCli(argv, { env: env(), isHurried: true });
  } finally {
    clearInterval(ticking);
  }
}

async function refused(why: RegExp, ...argv: string[]): Promise<void> {
  const ran = await cli(...argv);
  assert.deepEqual([ran.code, ran.stdout], [EXIT.usage, ''], `${argv.join(' ')}: ${ran.stderr}`);
  assert.match(ran.stderr, why, argv.join(' '));
}

/** A dead letter in a queue of its own, and the URL of its receiver. */
async function deadLetter(t: TestContext, queue: string): Promise<{ dlqId: string; url: string }> {
  const { url } = await startReceiver(t, () => 500);
  assert.equal((await cli('enqueue', queue, url, '--retries', '0', '--wait')).code, EXIT.notDelivered);
  const [letter] = (await cli('dlq', '--queue', queue, '--json')).json<{ dlqId: string }[]>();
  return { dlqId: letter!.dlqId, url };
}

test('of several ids, those that are there are retried or deleted when another one is not', async (t) => {
  const { dlqId } = await deadLetter(t, 'flags-several');
  const retried = await cli('dlq', 'retry', 'dlq_none', dlqId);
  assert.deepEqual([retried.code, retried.stdout.includes(`${dlqId}  sent again as msg_`)], [EXIT.notFound, true]);
  assert.match(retried.stderr, /dlq_none: /);
  const deleted = await cli('dlq', 'delete', 'dlq_none', dlqId);
  assert.deepEqual([deleted.code, deleted.stdout], [EXIT.notFound, `${dlqId}  deleted\n`]);
});

test('beside ids, a dry run and filters are refused, and nothing is cancelled, retried or deleted', async (t) => {
  const queue = 'flags-ids';
  const [{ dlqId }, waiting] = [
    await deadLetter(t, queue),
    (await cli('publish', 'http://127.0.0.1:1', '--delay', '1h', '-q')).stdout.trim(),
  ];
  const calls = [
    ['messages', 'cancel', waiting],
    ['dlq', 'retry', dlqId],
    ['dlq', 'delete', dlqId],
  ];
  const flags = [
    ['--dry-run'],
    ['--label', 'x'],
    ['--queue', queue],
    ['--all'],
    ['--per-second', '1'],
    ['--from', '1h'],
  ];
  for (const call of calls) {
    for (const flag of flags) {
      await refused(new RegExp(`${flag[0]} works only with filters, not with ids`), ...call, ...flag);
    }
  }
  assert.equal((await cli('dlq', 'get', dlqId)).code, EXIT.done, 'the dead letter is there');
  assert.doesNotMatch((await cli('messages', 'get', waiting)).stdout, /state +CANCEL/);
  assert.equal((await cli('dlq', 'delete', dlqId, '--yes')).code, EXIT.done, 'a yes that nobody asks for is fine');
});

test('by filter, what changes a retry is refused, and nothing is sent again', async (t) => {
  const queue = 'flags-filter';
  const { dlqId, url } = await deadLetter(t, queue);
  for (const flag of [
    ['--new-url', `${url}/other`],
    ['-d', 'x'],
    ['-H', 'X-A: b'],
  ]) {
    await refused(/ works only with ids/, 'dlq', 'retry', '--queue', queue, '--yes', ...flag);
  }
  assert.equal((await cli('dlq', 'get', dlqId)).code, EXIT.done);
  assert.equal((await cli('dlq', '--queue', queue, '--json')).json<object[]>().length, 1, 'it was not sent again');
});

test('a new body of a dead letter arrives byte for byte, text or not', async (t) => {
  const file = join(temporaryFolder(t), 'body');
  for (const [queue, bytes] of [
    ['flags-bytes', Buffer.from([0, 255, 128, 10])],
    ['flags-text', Buffer.from('ä "text"\n')],
    ['flags-empty', Buffer.alloc(0)],
  ] as const) {
    const { dlqId } = await deadLetter(t, queue);
    const receiver = await startReceiver(t);
    writeFileSync(file, bytes);
    const ran = await cli('dlq', 'retry', dlqId, '-d', `@${file}`, '--new-url', receiver.url);
    assert.equal(ran.code, EXIT.done, ran.stderr);
    const [arrival] = await receiver.received(1);
    assert.deepEqual(arrival!.body, bytes, queue);
  }
});

test('a flag that needs another one, or excludes it, is refused', async () => {
  const to = ['publish', 'http://127.0.0.1:1'];
  await refused(/--wait-max has no effect without --wait\n/, ...to, '--wait-max', '1s');
  await refused(
    /give --deduplication-id or --content-deduplication, not both/,
    ...to,
    '--deduplication-id',
    'a',
    '--content-deduplication',
  );
  await refused(/give --token-file or --token, not both/, 'queues', '--token', 'x', '--token-file', 'y');
  await refused(/--exit-code has no effect without --dry-run/, 'apply', '-f', 'x', '--exit-code');
  await refused(/--force has no effect without --output/, 'export', '--force');
  await refused(/--period has no effect without --rate/, 'flow', 'pin', 'k', '--parallelism', '1', '--period', '1s');
  await refused(/give --restart or --doubtful, not both/, 'batch', 'x', '--restart', '--doubtful', 'skip');
  await refused(/Service-Retries is given by -H and by a flag/, ...to, '-H', 'service-retries: 5', '--retries', '3');
  await refused(
    /Service-Cron is given by -H/,
    'schedules',
    'create',
    'http://x',
    '--cron',
    '@daily',
    '-H',
    'Service-Cron: @hourly',
  );
});

test('a service and a store cannot both be meant', async (t) => {
  const data = temporaryFolder(t);
  for (const flag of [
    ['--url', 'http://x'],
    ['--token', 'x'],
    ['--header-prefix', 'X-'],
    ['--request-timeout', '1s'],
  ]) {
    await refused(new RegExp(`${flag[0]} has no effect on a store`), 'token', 'list', '--data', data, ...flag);
  }
});

const FLAGS: readonly FlagSpec[] = [
  { name: 'ignored', about: '' },
  { name: 'yes', about: '' },
];

test('no call that changes something is sent while a flag was given that nobody asked for', async (t) => {
  let requests = 0;
  const server = createServer(({ url }, response) => {
    if (url !== '/') requests += 1;
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"postrider"}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sink = { write: () => true, drained: async () => {} };
  const io: Io = {
    stdout: sink,
    stderr: sink,
    stdin: { isTTY: false, async *[Symbol.asyncIterator]() {} },
    env: { POSTRIDER_URL: url },
    home: temporaryFolder(t),
    world: systemWorld(),
    interrupted: new AbortController().signal,
  };
  const parsed = parseArguments({ arguments: [], flags: FLAGS }, ['--ignored', '--yes'], 0);
  assert.ok('given' in parsed);
  const { client } = connectTo(parsed.given, io, new Output(io, { isJson: false, isPlain: true, isQuiet: false }));
  await assert.rejects(client.deleteQueue('q'), ({ cause }: Error) => {
    assert.ok(cause instanceof Failure);
    assert.deepEqual([cause.exit, cause.message], [EXIT.usage, '--ignored would have no effect here']);
    assert.equal(cause.hint, 'Nothing was changed. Run the command again without --ignored.');
    return true;
  });
  assert.equal(requests, 0);
  parsed.given.has('ignored');
  await client.deleteQueue('q');
  assert.equal(requests, 1);
});

/** Values that the service or the command takes. */
function exampleOf({ name, kind, values }: FlagSpec, folder: string): string {
  const known: Readonly<Record<string, string>> = {
    url: rider().url,
    token: rider().token!,
    'token-file': join(folder, 'token'),
    config: join(folder, 'config'),
    profile: 'own',
    'header-prefix': 'Service-',
    'request-timeout': '30s',
    header: 'X-A: b',
    file: join(folder, 'state'),
    'progress-file': join(folder, 'progress'),
    share: '10%',
    at: '2126-01-01T00:00:00Z',
    target: 'http://127.0.0.1:1',
    cron: '@yearly',
  };
  const byKind = { number: '1', duration: '1s', time: '1h', text: 'x' };
  return known[name] ?? values?.[0] ?? byKind[kind ?? 'text'];
}

/** What the command wants besides the flag. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  'schedules create': ['cron'],
  'flow pin': ['parallelism'],
  'alerts create': ['target'],
  apply: ['file'],
  'token create': ['admin'],
};

function argvOf({ name, arguments: words = [] }: CommandSpec, flag: FlagSpec, folder: string): string[] {
  const isById = flag.by === 'id';
  const given = words
    .filter(({ isOptional }) => !isOptional || isById)
    .map(({ name: word, values }) => {
      if (name === 'batch') return join(folder, 'file');
      return values?.[0] ?? (word === 'destination' ? 'http://127.0.0.1:1' : 'flagged');
    });
  const isBulk = words.at(-1)?.isOptional && !isById;
  const beside = [
    ...(BESIDE[name] ?? []),
    ...(flag.needs === undefined ? [] : [flag.needs]),
    ...(isBulk && flag.by === undefined ? ['all'] : []),
    ...(isBulk && ['dry-run', 'per-second'].includes(flag.name) ? ['label'] : []),
  ].filter((other) => other !== flag.name);
  const texts = { cron: '@yearly', parallelism: '1', target: 'http://127.0.0.1:1', file: join(folder, 'state') };
  const withValue = (other: string) => {
    const text = { ...texts, rate: '1', label: 'x', output: join(folder, 'made') }[other];
    return text === undefined ? [`--${other}`] : [`--${other}`, text];
  };
  const own = flag.placeholder === undefined ? [`--${flag.name}`] : [`--${flag.name}`, exampleOf(flag, folder)];
  return [...name.split(' '), ...given, ...beside.flatMap(withValue), ...own];
}

const MORE: Readonly<Record<string, (folder: string) => readonly string[]>> = {
  profile: (folder) => ['--config', join(folder, 'config')],
  // It would wait for a message that is not delivered.
  wait: () => ['--wait-max', '1ms'],
};

test('every command that changes something asks for each of its flags before it does', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'token'), rider().token!, { mode: 0o600 });
  writeFileSync(join(folder, 'config'), JSON.stringify({ profiles: { own: {} } }), { mode: 0o600 });
  writeFileSync(join(folder, 'state'), 'queues: [{name: flagged}]');
  const isChanging = ({ scope, name }: CommandSpec) =>
    scope !== undefined && scope !== 'read' && !/ (list|show|get)$|^audit$/.test(name);
  let count = 0;
  for (const spec of COMMAND_TABLE.filter(isChanging)) {
    for (const flag of [...(spec.flags ?? []), ...sharedFlags(spec)]) {
      // They name a store, and are tested with one.
      if (/^(token|account) /.test(spec.name) && ['data', 'store'].includes(flag.name)) continue;
      writeFileSync(join(folder, 'file'), `{"destination":"http://127.0.0.1:1","body":"${count}"}\n`);
      const more = MORE[flag.name]?.(folder) ?? [];
      const argv = [...argvOf(spec, flag, folder), ...more];
      const { stderr } = await cli(...argv);
      assert.doesNotMatch(
        stderr,
        /would have no effect|has no effect|not both|cannot be given|is missing/,
        argv.join(' '),
      );
      count += 1;
    }
  }
  assert.ok(count > 200, String(count));
});
