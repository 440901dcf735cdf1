// The commands about messages against a real service: sending, following, looking, cancelling, dead letters; and what is
// said when the service is not there, is another one, or refuses.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createProxy, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import { type Ran, type RunOptions, runCli } from '../../server/test/support/command.ts';
import { freePort } from '../../server/test/support/free-port.ts';
import { sharedRider, startRider, temporaryFolder } from '../../server/test/support/harness.ts';
import { lacks } from '../../server/test/support/machine.ts';
import { BIN } from '../../server/test/support/process.ts';
import { inTurn, startReceiver } from '../../server/test/support/receiver.ts';
import { waitFor } from '../../server/test/support/wait.ts';
import { EXIT } from '../src/frame/exit-codes.ts';
import { COMMAND_TABLE } from '../src/table/table.ts';

const rider = sharedRider();
/** They want something else before they call. */
const NEEDS_MORE: readonly string[] = [
  'messages cancel',
  'dlq retry',
  'dlq delete',
  'flow pin',
  'token create',
  'apply',
  'batch',
];

/** The service gathers events for a moment before it sends them, and its clock is in the hands of the test. */
const TICK_MS = 200;

async function cli(argv: readonly string[], options: RunOptions & { readonly token?: string } = {}): Promise<Ran> {
  const { token = rider().token!, env = {}, ...rest } = options;
  const ticking = setInterval(() => rider().clock.advance(TICK_MS), 10);
  try {
    return await runCli(argv, { ...rest, env: { POSTRIDER_URL: rider().url, POSTRIDER_TOKEN: token, ...env } });
  } finally {
    clearInterval(ticking);
  }
}

async function ok(...argv: string[]): Promise<Ran> {
  const ran = await cli(argv);
  assert.equal(ran.code, EXIT.done, ran.stderr);
  return ran;
}

interface Event {
  readonly state: string;
  readonly messageId: string;
}

suite('publish and enqueue', () => {
  test('a message arrives with its body, headers and settings, and its id is printed', async (t) => {
    const receiver = await startReceiver(t);
    const { stdout } = await ok(
      ...['publish', `${receiver.url}/a?x=1`, '-d', '{"a":1}', '-H', 'X-Tenant: acme', '-H', 'Service-Label: one'],
      ...['--method', 'put', '--retries', '2', '--timeout', '5s'],
    );
    assert.match(stdout, new RegExp(`^msg_\\w+ {2}${receiver.url}/a\\?x=1\\n$`));
    assert.match((await ok('publish', receiver.url, '-q', '--delay', '1h')).stdout, /^msg_\w+\n$/, 'the id alone');
    const [arrival] = await receiver.received(1);
    assert.deepEqual([arrival!.method, arrival!.target, arrival!.body.toString()], ['PUT', '/a?x=1', '{"a":1}']);
    assert.deepEqual([arrival!.header('X-Tenant'), arrival!.header('Content-Type')], ['acme', 'application/json']);
    const message = (await ok('messages', 'get', stdout.split(' ')[0]!, '--json')).json<Record<string, unknown>>();
    assert.deepEqual([message.maxRetries, message.timeoutMs, message.labels], [2, 5000, ['one']]);
  });

  test('a new body that is JSON is described as JSON, unless a header says what it is', async () => {
    const published = await ok(
      'publish',
      'http://127.0.0.1:1/',
      '-q',
      '--delay',
      '1h',
      '-d',
      'text',
      '-H',
      'Content-Type: text/plain',
    );
    const id = published.stdout.trim();
    const typeAfter = async (...flags: string[]) => {
      await ok('messages', 'update', id, ...flags);
      const { header } = (await ok('messages', 'get', id, '--json')).json<{ header: Record<string, string[]> }>();
      return header['Content-Type'];
    };
    assert.deepEqual(await typeAfter('-d', 'other text'), ['text/plain']);
    assert.deepEqual(await typeAfter('-d', '{"a":1}'), ['application/json']);
    assert.deepEqual(await typeAfter('-d', '{"a":2}', '-H', 'content-type: text/x'), ['text/x']);
  });

  test('a body comes from a file or standard input, byte for byte', async (t) => {
    const receiver = await startReceiver(t);
    const file = join(temporaryFolder(t), 'body');
    const bytes = Buffer.from([0, 255, 10, 27, 13]);
    writeFileSync(file, bytes);
    const published = await ok('enqueue', 'bytes', receiver.url, '-d', `@${file}`, '--json');
    const piped = await cli(['publish', receiver.url, '-d', '-'], { stdin: bytes });
    assert.equal(piped.code, EXIT.done, piped.stderr);
    const arrivals = await receiver.received(2);
    for (const arrival of arrivals) assert.deepEqual(arrival.body, bytes);
    const { messageId } = published.json<{ messageId: string }>();
    const copy = `${file}.copy`;
    await ok('messages', 'body', messageId, '-o', copy);
    assert.deepEqual(readFileSync(copy), bytes);
    const again = await cli(['messages', 'body', messageId, '-o', copy]);
    assert.deepEqual([again.code, /already exists/.test(again.stderr)], [EXIT.failed, true]);
    const told = (await ok('messages', 'body', messageId, '--json', '-o', `${copy}.2`)).json();
    assert.deepEqual(told, { messageId, bytes: 5, file: `${copy}.2` });
    assert.deepEqual(readFileSync(`${copy}.2`), bytes);
    assert.match((await ok('messages', 'get', messageId)).stdout, /body {5}5 bytes that are not text/);
  });

  test('what cannot be sent is refused before anything is, with what to do', async (t) => {
    const folder = temporaryFolder(t);
    const cases: readonly (readonly [argv: readonly string[], why: RegExp])[] = [
      [['-d', '@none'], /cannot read the body: there is no file "none"\n {2}A body that starts with "@" names a file/],
      [['-d', `@${folder}`], /is a directory/],
      [['-H', 'no colon'], /-H must be "Name: value", not "no colon"/],
      [['-H', 'A: 1', '-H', 'a: 2'], /the header a is given more than once/],
      [['-H', 'A: b\nc'], /has a character that no header can hold/],
      [['--at', '2026-02-01T00:00:00Z', '--delay', '1s'], /give --delay or --at, not both/],
      [['--at', 'tomorrow'], /--at must be a time such as .*\n {2}For a delay from now, use --delay/],
      [['--delay', 'x', '--retries', 'y'], /--delay must be a duration.*\n.*--retries must be a whole number/],
    ];
    for (const [argv, why] of cases) {
      const { code, stdout, stderr } = await cli(['publish', 'http://127.0.0.1:1', ...argv]);
      assert.deepEqual([code, stdout], [EXIT.usage, ''], argv.join(' '));
      assert.match(stderr, why);
    }
    const refused = await cli(['publish', 'http://127.0.0.1:1', '--retries', '101', '--json']);
    assert.equal(refused.code, EXIT.failed);
    const { error } = JSON.parse(refused.stderr) as { error: { status: number; code: string } };
    assert.deepEqual([error.status, error.code], [412, 'limit_exceeded']);
    const misspelt = await cli(['publish', 'http://127.0.0.1:1', '-H', 'Service-Retires: 1']);
    assert.deepEqual([misspelt.code, /did you mean Service-Retries/.test(misspelt.stderr)], [EXIT.done, true]);
  });
});

suite('what goes beyond the specification', () => {
  test('has a flag for each setting of a publish, a queue, a change, a schedule and the account', async () => {
    const url = 'http://127.0.0.1:1/flags';
    const view = async (...argv: readonly string[]) => {
      const { messageId } = (await ok(...argv, '--json')).json<{ messageId: string }>();
      return (await ok('messages', 'get', messageId, '--json')).json<Record<string, unknown>>();
    };
    const publish = ['publish', url, '--retry-jitter', '20%', '--outage', 'park', '--await-ack', '30m'];
    const delayed = await view(...publish, '--delay', '1h', '--expires', '2h', '--priority', '9');
    const { expiresAt, createdAt, retryJitter, outage, awaitAck, priority } = delayed;
    const lastsMs = (expiresAt as number) - (createdAt as number);
    assert.deepEqual([lastsMs, retryJitter, outage, awaitAck, priority], [7_200_000, '20%', 'park', '30m', 9]);
    const at = await view('publish', url, '--delay', '1h', '--expires-at', '2030-01-31T12:10:00Z');
    assert.equal(at.expiresAt, Date.UTC(2030, 0, 31, 12, 10));
    const debounce = ['publish', url, '--debounce-key', 'cart 42', '--debounce', '5m', '--debounce-max', '1h'];
    const [first, second] = [await view(...debounce, '-d', 'one'), await view(...debounce, '-d', 'two')];
    assert.deepEqual([second.messageId, second.body, second.debounced], [first.messageId, 'two', 2]);
    assert.match((await ok('why', second.messageId as string)).stdout, /it stands for 2 messages/);
    const listed = await ok('messages', 'list', '--debounce-key', 'cart 42', '--json');
    assert.deepEqual(
      listed.json<{ messageId: string }[]>().map(({ messageId }) => messageId),
      [first.messageId],
    );
    const update = ['messages', 'update', first.messageId as string, '--await-ack', '45m'];
    await ok(...update, '--priority', '1', '--expires', '3h', '--outage', 'park');
    const changed = (await ok('messages', 'get', first.messageId as string, '--json')).json<typeof first>();
    assert.deepEqual([changed.priority, changed.outage, typeof changed.expiresAt], [1, 'park', 'number']);
    assert.equal(changed.awaitAck, '45m');
    await ok('queues', 'set', 'flags', '--priority', '8', '--expires', '10m', '--outage', 'park');
    const inQueue = await view('enqueue', 'flags', url, '--delay', '1h');
    assert.deepEqual([inQueue.priority, inQueue.outage, typeof inQueue.expiresAt], [8, 'park', 'number']);
    await ok('queues', 'set', 'flags', '--priority', 'none', '--expires', 'none', '--outage', 'none');
    const plain = await view('enqueue', 'flags', url, '--delay', '1h');
    assert.deepEqual([plain.priority, plain.outage, plain.expiresAt], [undefined, undefined, undefined]);
    const create = ['schedules', 'create', url, '--id', 'flags', '--cron', '@every 1h', '--outage', 'park'];
    await ok(...create, '--priority', '2', '--expires', '1m');
    const { settings } = (await ok('schedules', 'get', 'flags', '--json')).json<{ settings: Record<string, string> }>();
    assert.deepEqual([settings.Priority, settings.Expires, settings.Outage], ['2', '1m', 'park']);
    assert.match((await ok('account', 'set-outage', 'park')).stdout, /outage: park$/m);
    assert.equal((await view('publish', url, '--delay', '1h')).outage, 'park');
    await ok('account', 'set-outage', 'retry');
  });
});

suite('ack', () => {
  test('reports to the ack URL of a delivery, and says what is wrong', async (t) => {
    const receiver = await startReceiver(t, () => 202);
    await ok('publish', receiver.url, '--await-ack', '30m');
    const [arrival] = await receiver.received(1);
    const url = arrival!.header('Service-Ack-Url')!;
    const noted = await ok('ack', url, '--progress', '0.4', '--extend', '1h', '--note', 'half ✓');
    assert.match(noted.stdout, /^attempt 1 of msg_\w+: noted/);
    const wrong = await cli(['ack', url, '--progress', 'half']);
    assert.equal(wrong.code, EXIT.failed);
    assert.match(wrong.stderr, /"progress" must be a number from 0 to 1/);
    const noUrl = await cli(['ack', 'msg_1', '--ok']);
    assert.deepEqual([noUrl.code, /"msg_1" is not an ack URL/.test(noUrl.stderr)], [EXIT.usage, true], noUrl.stderr);
    assert.match((await ok('ack', url, '--ok')).stdout, /: succeeded$/m);
    assert.match((await cli(['ack', url, '--error', 'x'])).stderr, /no longer awaits an ack/);
  });
});

suite('--wait', () => {
  test('follows the attempts to the end: 0 when it is delivered', async (t) => {
    const receiver = await startReceiver(t, inTurn(500, 200));
    const ran = await cli(['publish', receiver.url, '--retries', '1', '--wait', '--json']);
    assert.equal(ran.code, EXIT.done, ran.stderr);
    const [published, ...events] = ran.records<Event>();
    assert.deepEqual(
      events.map(({ state }) => state),
      ['CREATED', 'ACTIVE', 'ERROR', 'RETRY', 'ACTIVE', 'DELIVERED'],
    );
    assert.ok(events.every(({ messageId }) => messageId === published!.messageId));
  });

  test('8 when it has failed, when it is cancelled, and when the time is up', async (t) => {
    const receiver = await startReceiver(t, () => 500);
    const failed = await cli(['enqueue', 'waiting', receiver.url, '--retries', '0', '--wait']);
    assert.equal(failed.code, EXIT.notDelivered);
    const steps = failed.stdout.split('\n').map((line) => line.replace(/^\S+ \S+Z /, '').trim());
    assert.deepEqual(steps.slice(1), [
      'CREATED',
      'ACTIVE            attempt 1',
      'ERROR             attempt 1, the destination returned 500',
      'FAILED            attempt 1, the destination returned 500',
      '',
    ]);

    const late = await cli(['publish', receiver.url, '--delay', '1h', '--wait', '--wait-max', '10ms']);
    assert.equal(late.code, EXIT.notDelivered);
    const [, id] = /Stopped waiting\. The service continues with (msg_\w+): postrider why /.exec(late.stderr)!;
    const cancelled = cli(['publish', receiver.url, '--delay', '1h', '--wait'], {
      onOutput: (all) => {
        if (!all.includes('CREATED')) return;
        void rider().call('DELETE', `/v2/messages/${all.split(' ')[0]}`);
      },
    });
    assert.equal((await cancelled).code, EXIT.notDelivered);
    await ok('messages', 'cancel', id!);
  });

  test('Ctrl-C ends the waiting, not the message', async () => {
    const interrupt = new AbortController();
    const ran = await cli(['publish', 'http://127.0.0.1:1', '--delay', '1h', '--wait'], {
      interrupted: interrupt.signal,
      onOutput: (all) => {
        if (all.includes('CREATED')) interrupt.abort('SIGINT');
      },
    });
    assert.equal(ran.code, EXIT.interrupted);
    const id = ran.stdout.split(' ')[0]!;
    const { stdout } = await ok('why', id);
    assert.match(stdout, /\nreason {8}delayed\nnext attempt {2}2026-/);
    assert.match((await ok('messages', 'cancel', id)).stdout, /cancelled/);
    const gone = await cli(['messages', 'cancel', id]);
    assert.equal(gone.code, EXIT.notFound);
  });
});

suite('messages, dead letters and tail', () => {
  test('lists, counts and shows messages, and a terminal gets no control character of others', async (t) => {
    const receiver = await startReceiver(t, () => ({ status: 200, body: '\u001b[2Jgotcha' }));
    const { stdout } = await ok('publish', receiver.url, '-d', 'a\u001b]0;x\u0007b', '--label', 'nasty', '--wait');
    const id = stdout.split(' ')[0]!;
    const list = await ok('messages', '--label', 'nasty');
    assert.match(
      list.stdout,
      new RegExp(`^MESSAGE .*ACCEPTED .*URL\\n${id} +DELIVERED +0 +200 +2026-.*Z +${receiver.url}\\n$`),
    );
    const shown = await ok('messages', 'get', id);
    assert.match(
      shown.stdout,
      /body {5}a\\u001b\]0;x\\u0007b\n\nattempt 1 .*status 200 .*\n {2}response \\u001b\[2Jgotcha/,
    );
    const all = [list, shown, await ok('messages', 'get', id, '--json')].map((ran) => ran.stdout).join('');
    assert.ok(!all.includes('\u001b') && !all.includes('\u0007'));
    assert.match((await ok('messages', 'count', '--label', 'nasty')).stdout, /DELIVERED +1\n/);
    assert.match((await ok('messages', 'events', id)).stdout, /CREATED[\s\S]*ACTIVE[\s\S]*DELIVERED/);
    const none = await ok('messages', 'list', '--label', 'none');
    assert.deepEqual([none.stdout, none.stderr], ['', 'No message matches.\n']);
    assert.deepEqual((await ok('messages', 'list', '--label', 'none', '--json')).json(), []);
    const colours = await cli(['messages', 'get', id], { columns: 60 });
    assert.ok(colours.stdout.includes('\u001b[32mstatus 200\u001b[39m'));
    const plain = await cli(['messages', 'get', id], { columns: 60, env: { NO_COLOR: '1' } });
    assert.ok(!plain.stdout.includes('\u001b'));
    const narrow = await cli(['messages', '--label', 'nasty'], { columns: 60 });
    const [head, row] = narrow.stdout.split('\n');
    assert.deepEqual(
      [head, row!.replace(/ http.*/, '')],
      ['\u001b[1mMESSAGE                         STATE      URL\u001b[22m', `${id}  \u001b[32mDELIVERED\u001b[39m `],
    );
    assert.match(narrow.stderr, /^The window is too narrow for RETRIED, STATUS, ACCEPTED: use a wider window/);
  });

  test('cancels by filter only when that is said twice', async () => {
    const { stdout } = await ok('enqueue', 'unwanted', 'http://127.0.0.1:1', '--delay', '1h');
    const bare = await cli(['messages', 'cancel']);
    assert.deepEqual([bare.code, /nothing is selected/.test(bare.stderr)], [EXIT.usage, true]);
    const asked = await cli(['messages', 'cancel', '--queue', 'unwanted']);
    assert.equal(asked.code, EXIT.usage);
    assert.match(asked.stderr, /confirmation needed: Cancel 1 message\?\n {2}Nothing was changed/);
    assert.equal(
      (await ok('messages', 'cancel', '--queue', 'unwanted', '--dry-run')).stdout,
      '1 message would be changed.\n',
    );
    const done = await ok('messages', 'cancel', '--queue', 'unwanted', '--yes', '--json');
    assert.equal(done.json<{ done: number }>().done, 1);
    assert.match((await ok('messages', 'get', stdout.split(' ')[0]!)).stdout, /state +CANCELLED/);
    assert.match((await ok('messages', 'cancel', '--queue', 'unwanted', '--yes')).stderr, /No message matches/);
  });

  test('dead letters are listed, grouped, shown, sent again and deleted', async (t) => {
    const receiver = await startReceiver(t, () => ({ status: 503, body: 'away' }));
    for (const queue of ['one', 'two']) {
      const failed = await cli(['enqueue', `dead-${queue}`, receiver.url, '--retries', '0', '--wait']);
      assert.equal(failed.code, EXIT.notDelivered);
    }
    const list = (await ok('dlq', '--queue', 'dead-one', '--json')).json<{ dlqId: string }[]>();
    assert.equal(list.length, 1);
    const { dlqId } = list[0]!;
    assert.match(
      (await ok('dlq', 'list', '--queue', 'dead-one')).stdout,
      /^DEAD LETTER .*WHY\n.* 503 .*the destination returned 503/,
    );
    assert.match((await ok('dlq', 'get', dlqId)).stdout, /why .*503[\s\S]*response away\n/);
    assert.match((await ok('dlq', 'groups')).stdout, new RegExp(` +2 +127\\.0\\.0\\.1:${receiver.port} `));
    receiver.answer = () => 200;
    const again = await ok('dlq', 'retry', dlqId, '--new-url', `${receiver.url}/again`, '-d', 'changed');
    assert.match(again.stdout, /sent again as msg_/);
    const arrivals = await receiver.received(3);
    assert.deepEqual([arrivals[2]!.target, arrivals[2]!.body.toString()], ['/again', 'changed']);
    assert.equal((await cli(['dlq', 'retry', dlqId])).code, EXIT.failed, 'once only');
    const [other] = (await ok('dlq', '--queue', 'dead-two', '--json')).json<{ dlqId: string }[]>();
    assert.match((await ok('dlq', 'delete', other!.dlqId)).stdout, /deleted/);
    assert.equal((await cli(['dlq', 'get', other!.dlqId])).code, EXIT.notFound);
  });

  test('tail shows what happened and what happens, as lines of JSON', async () => {
    const before = (await ok('publish', 'http://127.0.0.1:1', '--delay', '1h', '--label', 'tailed')).stdout.split(
      ' ',
    )[0]!;
    const interrupt = new AbortController();
    let isPublished = false;
    const ran = await cli(['tail', '--label', 'tailed', '--since', '2026-01-01', '--json'], {
      interrupted: interrupt.signal,
      onOutput: (all) => {
        if (all.includes('CANCELLED')) interrupt.abort('SIGINT');
        if (isPublished) return;
        isPublished = true;
        void ok('messages', 'cancel', before);
      },
    });
    assert.equal(ran.code, EXIT.interrupted, ran.stderr);
    const events = ran.records<Event>();
    const states = events.map(({ state }) => state);
    assert.deepEqual(states, ['CREATED', 'CANCEL_REQUESTED', 'CANCELLED'], 'each once');
    assert.ok(events.every(({ messageId }) => messageId === before));
  });
});

test('tail shows what happened while the connection was cut, even if nothing had happened before', async (t) => {
  const cut: Socket[] = [];
  let isAway = false;
  const server = createProxy((incoming) => {
    if (isAway) incoming.destroy();
    else {
      const onward = connect(Number(new URL(rider().url).port), '127.0.0.1');
      incoming.pipe(onward).pipe(incoming);
      for (const socket of [incoming, onward]) socket.on('error', () => {});
      cut.push(incoming, onward);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const interrupt = new AbortController();
  let notes = '';
  const env = { POSTRIDER_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const tailing = cli(['tail', '--label', 'cut-off'], {
    ...{ env, isHurried: true, interrupted: interrupt.signal },
    onOutput: (all) => {
      if (all.includes('/after')) interrupt.abort('SIGINT');
    },
    onError: (all) => {
      notes = all;
    },
  });
  const publish = (path: string) => ok('publish', `http://127.0.0.1:1${path}`, '--delay', '1h', '--label', 'cut-off');
  await waitFor('the stream', () => notes.includes('as they happen'));
  isAway = true;
  for (const socket of cut.splice(0)) socket.destroy();
  await waitFor('the loss', () => notes.includes('The connection is lost'));
  await publish('/meanwhile');
  isAway = false;
  await waitFor('the connection', () => notes.includes('The connection is back'));
  await publish('/after');
  const ran = await tailing;
  assert.match(ran.stdout, /^.*CREATED.*\/meanwhile\n.*CREATED.*\/after\n$/);
  assert.match(ran.stderr, /^Events of .*\nThe connection is lost \(.*\nThe connection is back\.\n$/, 'each once');
});

suite('a service that is away, is another one, or refuses', () => {
  const CALLS = COMMAND_TABLE.filter(({ scope, name }) => scope !== undefined && !NEEDS_MORE.includes(name));
  const argvOf = ({ name, arguments: words = [], flags = [] }: (typeof CALLS)[number]) => [
    ...name.split(' '),
    ...words.map(({ values }) => values?.[0] ?? 'x'),
    ...(flags.some((flag) => flag.name === 'yes') ? ['--yes'] : []),
    ...(flags.some((flag) => flag.name === 'cron') ? ['--cron', '* * * * *'] : []),
    ...(flags.some((flag) => flag.name === 'new-url') ? ['--new-url', 'http://127.0.0.1:1'] : []),
    ...(flags.some((flag) => flag.name === 'target') ? ['--target', 'http://127.0.0.1:1'] : []),
  ];

  test('every command says that nothing listens, and exits with 5', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    for (const spec of CALLS) {
      const { code, stdout, stderr } = await runCli(argvOf(spec), { env: { POSTRIDER_URL: url } });
      assert.deepEqual([code, stdout], [EXIT.unreachable, ''], `${spec.name}: ${stderr}`);
      assert.match(stderr, /cannot reach the service at http:.*: nothing listens there\n {2}Is the service running\?/);
    }
  });

  test('every command says that the token is wrong, and exits with 6, without showing it', async () => {
    for (const spec of CALLS) {
      const { code, stdout, stderr } = await cli(argvOf(spec), { token: 'pr_wrong_secret' });
      assert.deepEqual([code, stdout], [EXIT.denied, ''], `${spec.name}: ${stderr}`);
      assert.match(stderr, /does not accept the token/);
      assert.ok(!stderr.includes('pr_wrong_secret'));
    }
  });

  test('a missing token is told from a wrong one, although that of dev was tried', async (t) => {
    const answer = JSON.stringify({ error: 'the token is not known', code: 'unauthorized' });
    const server = createServer((_, response) =>
      response.writeHead(401, { 'Content-Type': 'application/json' }).end(answer),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, stderr } = await runCli(['messages', '--url', url]);
    assert.equal(code, EXIT.denied);
    assert.match(stderr, /needs a token, and none was given\n {2}Give one by POSTRIDER_TOKEN, .*token create --admin/);
  });

  test('a port that speaks no HTTP, and a connection that is cut, are told', async (t) => {
    const cases: readonly (readonly [onData: (socket: Socket) => void, said: RegExp])[] = [
      [
        (socket) => socket.end('SSH-2.0-OpenSSH_9\r\n'),
        /: the program that listens there does not use HTTP\n {2}Check the port/,
      ],
      [
        (socket) => socket.end(),
        /: the connection was closed before the response\n {2}The service may still have carried out the call/,
      ],
      [(socket) => socket.resetAndDestroy(), /: the connection was closed before the response\n/],
    ];
    for (const [onData, said] of cases) {
      const server = createProxy((socket) => socket.on('error', () => {}).once('data', () => onData(socket)));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      t.after(() => server.close());
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { code, stderr } = await runCli(['account', 'create', 'shop', '--url', url]);
      assert.equal(code, EXIT.unreachable, stderr);
      assert.match(stderr, said);
    }
  });

  test('a token without the scope is told from a wrong one', async () => {
    const { accountId } = (await rider().call('GET', '/v2/account')).json<{ accountId: string }>();
    const { token } = await rider().tokenFor(accountId, ['publish']);
    const list = await cli(['messages'], { token });
    assert.equal(list.code, EXIT.denied);
    assert.match(list.stderr, /the token may not do this: .*read.*\n {2}"postrider account" shows the scopes/);
    const wait = await cli(['publish', 'http://127.0.0.1:1', '--wait'], { token });
    assert.deepEqual([wait.code, /^msg_/.test(wait.stdout)], [EXIT.denied, true]);
    assert.match(wait.stderr, /the message is accepted, but the token lacks the scope read/);
  });

  const foreign: readonly (readonly [status: number, headers: Record<string, string>, body: string, said: RegExp])[] = [
    [200, { 'Content-Type': 'text/html' }, '<h1>Sign in</h1>', /returned 200 with text\/html; Postrider returns JSON/],
    [502, { 'Content-Type': 'text/html' }, '<h1>Bad gateway</h1>', /returned 502 with text\/html/],
    [502, {}, 'Bad gateway', /returned 502 with no Content-Type; Postrider returns JSON/],
    [
      301,
      { Location: 'https://elsewhere.example/' },
      '',
      /redirects to https:\/\/elsewhere\.example\/.*\n {2}The command follows no redirect/,
    ],
    [200, { 'Content-Type': 'application/json' }, '[{"messageId', /with text that is not JSON/],
    [404, { 'Content-Type': 'application/json' }, '{"detail":"no"}', /the service returned 404/],
  ];
  for (const [status, headers, body, said] of foreign) {
    test(`an answer that is not the service's is told: ${status} ${body.slice(0, 20)}`, async (t) => {
      const server = createServer((_request, response) => response.writeHead(status, headers).end(body));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      t.after(() => server.close());
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const ran = await runCli(['messages', '--url', url]);
      assert.ok(ran.code === EXIT.unreachable || ran.code === EXIT.notFound, ran.stderr);
      assert.match(ran.stderr, said);
      assert.ok(!ran.stderr.includes('\u001b'));
    });
  }

  test('every command says that another service has answered with JSON, sends it no token, and exits with 5', async (t) => {
    let answer = '';
    const server = createServer((request, response) => {
      request.resume();
      assert.equal(request.headers.authorization, undefined);
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(answer);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const env = { POSTRIDER_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    const file = join(temporaryFolder(t), 'one.ndjson');
    writeFileSync(file, '{"destination":"http://127.0.0.1:1"}\n');
    const more = [
      ['batch', file],
      ['messages', 'cancel', '--all', '--yes'],
      ['token', 'create', '--admin'],
    ];
    const all = [...CALLS.filter(({ name }) => name !== 'tail').map(argvOf), ...more];
    for (answer of ['{"hello":"world"}', '[]', '"hello"', '17', 'null', '{"messages":7}']) {
      for (const argv of all) {
        const { code, stdout, stderr } = await runCli([...argv, ...(answer === '17' ? ['--json'] : [])], { env });
        assert.deepEqual([code, stdout], [EXIT.unreachable, ''], `${argv.join(' ')}, ${answer}: ${stderr}`);
        assert.match(stderr, /returned JSON, but not that of a Postrider service/, argv.join(' '));
      }
    }
  });

  test('a service whose root a proxy keeps to itself can be called, and an answer that is not its own is told', async (t) => {
    let answer = '{"messages":[]}';
    const server = createServer(({ url }, response) => {
      if (url === '/') response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>Shop</h1>');
      else response.writeHead(200, { 'Content-Type': 'application/json' }).end(answer);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const env = { POSTRIDER_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    assert.equal((await runCli(['messages'], { env })).code, EXIT.done);
    answer = '{"messages":7}';
    const odd = await runCli(['messages'], { env });
    assert.deepEqual([odd.code, odd.stderr.split('\n').length], [EXIT.unreachable, 3], odd.stderr);
    assert.match(odd.stderr, /returned a response that this command does not understand/);
  });

  test('an address with a path that no proxy takes away is told with the address that is meant', async () => {
    const { code, stderr } = await cli(['messages'], { env: { POSTRIDER_URL: `${rider().url}/foo` } });
    assert.equal(code, EXIT.unreachable);
    assert.ok(
      stderr.includes(
        `The address has the path /foo. Without a proxy that removes the path, the address is ${rider().url}.`,
      ),
      stderr,
    );
  });

  test('an address or a token that cannot be used is refused before any call', async (t) => {
    const file = join(temporaryFolder(t), 'token');
    writeFileSync(file, '\n');
    const cases: readonly (readonly [argv: readonly string[], said: RegExp])[] = [
      [['--url', 'localhost:8411'], /must start with http/],
      [['--url', 'https://a:b@c.example'], /must not contain a password/],
      [['--url', 'nonsense'], /is not a URL/],
      [['--token', 'a b'], /has a character that no token has/],
      [['--token-file', file], /contains no token: it is empty/],
      [['--token-file', `${file}.none`], /there is no such file/],
      [['--profile', 'none'], /there is no profile "none"/],
      [['--config', `${file}.none`], /cannot read the config file/],
    ];
    for (const [argv, said] of cases) {
      const { code, stderr } = await runCli(['messages', ...argv]);
      assert.equal(code, EXIT.usage, stderr);
      assert.match(stderr, said);
    }
  });

  test('the config file names service and token, and its token goes to no other service', async (t) => {
    const config = join(temporaryFolder(t), 'config.json');
    const { accountId } = (await rider().call('GET', '/v2/account')).json<{ accountId: string }>();
    const { token } = await rider().tokenFor(accountId, ['read']);
    const set = await runCli(['config', 'set', '--config', config, '--url', rider().url, '--token-file', '-'], {
      stdin: `${token}\n`,
    });
    assert.equal(set.code, EXIT.done, set.stderr);
    assert.ok(!set.stdout.includes(token));
    assert.equal((await runCli(['messages'], { env: { POSTRIDER_CONFIG: config } })).code, EXIT.done);
    let seen: string | undefined = 'nothing';
    const server = createServer((request, response) => {
      seen = request.headers.authorization;
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"postrider","messages":[]}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    await runCli([
      'messages',
      '--url',
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      '--config',
      config,
    ]);
    assert.equal(seen, 'Bearer dev_postrider');
  });

  test('nothing is sent under the usual prefix to a service that has another one', async (t) => {
    const other = await startRider(t, { flags: ['--header-prefix', 'Upstash-'] });
    const env = { POSTRIDER_URL: other.url, POSTRIDER_TOKEN: other.token! };
    const file = join(temporaryFolder(t), 'lines');
    writeFileSync(file, '{"destination":"https://a.example"}\n');
    const calls = [
      ['publish', 'https://a.example', '--delay', '1h'],
      ['enqueue', 'q', 'https://a.example', '--retries', '1'],
      ['schedules', 'create', 'https://a.example', '--cron', '@daily'],
      ['batch', file],
    ];
    for (const argv of calls) {
      const { code, stdout, stderr } = await runCli(argv, { env });
      assert.deepEqual([code, stdout], [EXIT.usage, ''], stderr);
      assert.match(
        stderr,
        /settings of this service start with Upstash-, not with Service-\n.*--header-prefix Upstash-/,
      );
    }
    for (const list of ['messages', 'schedules']) {
      assert.deepEqual(
        (await runCli([list, '--json'], { env })).stdout.replaceAll(/\s/g, '').match(/"(?:messageId|scheduleId)"/g),
        null,
      );
    }
    for (const [index, argv] of calls.entries()) {
      const restart = index === 3 ? ['--restart'] : [];
      const ran = await runCli([...argv, ...restart, '--header-prefix', 'Upstash-'], { env });
      assert.equal(ran.code, EXIT.done, ran.stderr);
    }
  });

  test('a profile or a config file that a flag names wins over the variables', async (t) => {
    const config = join(temporaryFolder(t), 'config.json');
    const own = { url: rider().url, token: rider().token, headerPrefix: 'X-' };
    writeFileSync(config, JSON.stringify({ ...own, profiles: { staging: own, bare: {} } }), { mode: 0o600 });
    const env = {
      POSTRIDER_URL: 'http://127.0.0.1:1',
      POSTRIDER_TOKEN: 'wrong',
      POSTRIDER_HEADER_PREFIX: 'Y-',
      POSTRIDER_CONFIG: config,
    };
    assert.equal(
      (await runCli(['messages'], { env })).code,
      EXIT.unreachable,
      'the variables win over the default file',
    );
    const byProfile = { env: { ...env, POSTRIDER_PROFILE: 'staging' } };
    assert.equal((await runCli(['messages'], byProfile)).code, EXIT.unreachable, 'and over a profile of a variable');
    for (const flags of [
      ['--profile', 'staging'],
      ['--config', config],
    ]) {
      const ran = await runCli(['messages', ...flags], { env });
      assert.equal(ran.code, EXIT.done, `${flags[0]}: ${ran.stderr}`);
      const { client } = (await runCli(['config', 'show', '--sources', '--json', ...flags], { env })).json<{
        client: Record<string, { value: string; source: string }>;
      }>();
      assert.deepEqual([client['header-prefix'], client.token!.source], [{ value: 'X-', source: config }, config]);
    }
    const bare = await runCli(['messages', '--profile', 'bare'], { env });
    assert.equal(bare.code, EXIT.unreachable, 'what the profile does not say comes from the variables');
    const elsewhere = await runCli(['messages', '--profile', 'staging', '--url', 'http://127.0.0.1:1'], { env });
    assert.equal(elsewhere.code, EXIT.unreachable, 'an address by a flag wins over all');
  });
});

suite('as a process', () => {
  test('an answer that cannot be written is told in words', { skip: lacks('linux') }, async () => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [BIN, 'version'], { stdio: ['ignore', full, 'pipe'] });
    const [stderr] = await Promise.all([text(child.stderr!), once(child, 'close')]);
    closeSync(full);
    assert.equal(child.exitCode, EXIT.failed);
    assert.match(
      stderr,
      /^postrider: cannot write the result: ENOSPC.*\n {2}The call may have been carried out\..*\n$/,
    );
  });

  test('a reader that leaves a pipe, Ctrl-C, and a token on the command line', async (t) => {
    for (let n = 0; n < 3; n += 1) await ok('publish', 'http://127.0.0.1:1', '--delay', '1h', '--label', 'piped');
    const env = { ...process.env, POSTRIDER_URL: rider().url, POSTRIDER_TOKEN: rider().token! };
    const tail = `'${process.execPath}' '${BIN}' tail --since 2026-01-01 --label piped --json`;
    const piped = spawn('sh', ['-c', `{ ${tail}; echo "ended with $?" >&2; } | head -n 1`], { env });
    let [stdout, stderr] = ['', ''];
    piped.stdout.on('data', (data) => {
      stdout += data;
    });
    piped.stderr.on('data', (data) => {
      stderr += data;
    });
    const tailed = spawn(process.execPath, [BIN, 'tail', '--token', rider().token!], { env });
    let notes = '';
    tailed.stderr.on('data', (data) => {
      notes += data;
    });
    const ticking = setInterval(() => rider().clock.advance(TICK_MS), 10);
    t.after(() => clearInterval(ticking));
    await waitFor('the stream', () => notes.includes('Ctrl-C ends it'));
    if (process.platform === 'linux') {
      assert.ok(!readFileSync(`/proc/${tailed.pid}/cmdline`, 'utf8').includes(rider().token!));
    }
    tailed.kill('SIGINT');
    const [code] = (await once(tailed, 'close')) as [number | null];
    assert.deepEqual([code, notes.split('\n').length], [EXIT.interrupted, 2], notes);
    // The pipe is found broken at the next event.
    await waitFor('the end of the pipe', async () => {
      if (piped.exitCode !== null) return true;
      await ok('publish', 'http://127.0.0.1:1', '--delay', '1h', '--label', 'piped');
      return false;
    });
    assert.deepEqual([piped.exitCode, stdout.split('\n').length, stderr], [0, 2, 'ended with 0\n']);
  });
});
