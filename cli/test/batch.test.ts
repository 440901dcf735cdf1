// `postrider batch` against a real service: all or nothing of a broken file, and no line twice, however often it is
// stopped. `postrider restore`: into an empty directory, and into no other.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemWorld } from '../../server/src/runtime/world.ts';
import { type RunOptions, runCli } from '../../server/test/support/command.ts';
import { sharedRider, startRider, temporaryFolder } from '../../server/test/support/harness.ts';
import { onlySqlite } from '../../server/test/support/store-under-test.ts';
import { readElement, readLines } from '../src/commands/messages/batch-file.ts';
import { EXIT } from '../src/frame/exit-codes.ts';
import { barText, ProgressBar, progressText } from '../src/frame/progress-bar.ts';

const rider = sharedRider();

const cli = (argv: readonly string[], options: RunOptions = {}, url = rider().url) =>
  runCli(argv, { ...options, env: { POSTRIDER_URL: url, POSTRIDER_TOKEN: rider().token! } });

function fileOf(t: TestContext, lines: readonly string[]): string {
  const path = join(temporaryFolder(t), 'batch.ndjson');
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

const element = (label: string, body: string) =>
  JSON.stringify({
    destination: 'http://127.0.0.1:1/',
    headers: { 'Service-Label': label, 'Service-Delay': '1h' },
    body,
  });

async function bodiesOf(label: string): Promise<string[]> {
  const ran = await cli(['messages', '--label', label, '--limit', '0', '--json']);
  const ids = ran.json<{ messageId: string }[]>().map(({ messageId }) => messageId);
  const bodies: string[] = [];
  for (const id of ids) bodies.push((await rider().message(id)).body!);
  return bodies.sort();
}

type Fate = 'pass' | 'cut before' | 'cut after';

/** In front of the service: passes calls on, and does with each batch what `fate` says. */
async function proxy(t: TestContext, fate: (call: number) => Fate | Promise<Fate>): Promise<string> {
  let call = 0;
  const server: Server = createServer(async (incoming, outgoing) => {
    // The question for the prefix is no call of the batch.
    const isCall = incoming.url !== '/';
    if (isCall) call += 1;
    const what = isCall ? await fate(call) : 'pass';
    if (what === 'cut before') {
      incoming.socket.destroy();
      return;
    }
    const { pathname, search } = new URL(incoming.url!, 'http://x');
    const passed = httpRequest(
      `${rider().url}${pathname}${search}`,
      { method: incoming.method!, headers: incoming.headers },
      (answer) => {
        if (what === 'cut after') {
          answer.resume().on('end', () => incoming.socket.destroy());
          return;
        }
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      },
    );
    incoming.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a file is sent whole, and refused lines are named by their number', async (t) => {
  const lines = [element('whole', '1'), '', element('whole', '3'), JSON.stringify({ destination: 'nowhere at all' })];
  const file = fileOf(t, lines);
  const ran = await cli(['batch', file]);
  assert.equal(ran.code, EXIT.failed);
  assert.equal(ran.stdout, '2 accepted, 1 refused.\n');
  assert.match(ran.stderr, /postrider: line 4 is refused: /);
  const nowhere = await cli(['batch', file, '--progress-file', join(file, '..', 'nowhere', 'progress')]);
  assert.equal(nowhere.code, EXIT.failed);
  assert.match(nowhere.stderr, /cannot save the progress: ENOENT.*\n {2}Nothing was sent\./);
  assert.deepEqual(await bodiesOf('whole'), ['1', '3']);
  assert.equal(existsSync(`${file}.progress.lock`), false);
  const json = await cli(['batch', fileOf(t, [element('json', '1')]), '--json']);
  assert.deepEqual([json.code, json.records().map(({ line }) => line)], [EXIT.done, [1]]);
  const piped = await cli(['batch', '-'], { stdin: `${element('piped', '1')}\n${element('piped', '2')}` });
  assert.equal(piped.stdout, '2 accepted, 0 refused.\n');
  const none = await cli(['batch', fileOf(t, [JSON.stringify({ destination: 'nowhere at all' })])]);
  assert.deepEqual([none.code, none.stdout], [EXIT.failed, '0 accepted, 1 refused.\n']);
});

test('a file that an earlier run began to send elsewhere is not sent, and --restart is named', async (t) => {
  const file = fileOf(t, [element('elsewhere', '1')]);
  const url = await proxy(t, () => 'cut before');
  assert.equal((await cli(['batch', file], { isHurried: true }, url)).code, EXIT.unreachable);
  const { code, stderr } = await cli(['batch', file]);
  assert.equal(code, EXIT.usage);
  assert.match(stderr, /: an earlier run began to send this file to \S+, not to \S+\n.*--restart/);
});

test('a list of something else is not taken for accepted messages', async (t) => {
  const server = createServer((request, response) => {
    if (request.url === '/') response.writeHead(404, { 'Content-Type': 'text/html' }).end('<h1>Not found</h1>');
    else response.writeHead(200, { 'Content-Type': 'application/json' }).end('[{},{}]');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const file = join(temporaryFolder(t), 'lines.jsonl');
  writeFileSync(file, `${element('a', '1')}\n${element('a', '2')}\n`);
  const ran = await cli(['batch', file], {}, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  assert.equal(ran.code, EXIT.unreachable, ran.stderr);
  assert.match(ran.stderr, /returned JSON, but not that of a Postrider service/);
  assert.doesNotMatch(ran.stdout, /accepted/);
});

test('a broken line is named, and nothing is sent; what was sent before is not sent again', async (t) => {
  const lines = Array.from({ length: 6 }, (_, index) => element('broken', String(index)));
  const file = fileOf(t, lines);
  const url = await proxy(t, (call) => (call <= 2 ? 'pass' : 'cut before'));
  const cut = await cli(['batch', file, '--chunk', '2'], { isHurried: true }, url);
  assert.equal(cut.code, EXIT.unreachable);
  assert.match(cut.stderr, /4 of 6 lines are done\. To continue after them, run the same command again\./);

  writeFileSync(file, `${[...lines.slice(0, 5), '{"destination": '].join('\n')}\n`);
  const broken = await cli(['batch', file], {}, url);
  assert.equal(broken.code, EXIT.usage);
  assert.match(broken.stderr, /1 of 6 lines of .* cannot be sent:\n {2}- line 6: it is not JSON/);
  writeFileSync(file, `${lines.join('\n')}\n`);
  const elsewhere = await cli(['batch', file]);
  assert.deepEqual(
    [elsewhere.code, /an earlier run has sent 4 lines of this file to/.test(elsewhere.stderr)],
    [EXIT.usage, true],
  );
  const progress = JSON.parse(readFileSync(`${file}.progress`, 'utf8')) as object;
  writeFileSync(`${file}.progress`, JSON.stringify({ ...progress, url: rider().url }));
  writeFileSync(file, `${['{"destination":"http://127.0.0.1:1/other"}', ...lines.slice(1)].join('\n')}\n`);
  const changed = await cli(['batch', file]);
  assert.deepEqual([changed.code, /has changed: the first 4 lines/.test(changed.stderr)], [EXIT.usage, true]);
  writeFileSync(file, `${lines.join('\n')}\n`);
  const done = await cli(['batch', file]);
  assert.deepEqual([done.code, done.stdout], [EXIT.done, '6 accepted, 0 refused.\n']);
  assert.deepEqual(await bodiesOf('broken'), ['0', '1', '2', '3', '4', '5'], 'each once');
});

test('an answer that was lost does not send a line twice; when nobody can know, it asks', async (t) => {
  const lines = Array.from({ length: 4 }, (_, index) => element('doubt', String(index)));
  const file = fileOf(t, lines);
  let [isCut, calls] = [true, 0];
  const url = await proxy(t, () => {
    calls += 1;
    return isCut && calls >= 2 ? 'cut after' : 'pass';
  });
  const interrupt = new AbortController();
  const run = cli(['batch', file, '--chunk', '2'], { interrupted: interrupt.signal }, url);
  while (calls < 2) await new Promise((resolve) => setImmediate(resolve));
  interrupt.abort('SIGINT');
  assert.equal((await run).code, EXIT.interrupted);
  isCut = false;
  const progress = JSON.parse(readFileSync(`${file}.progress`, 'utf8')) as {
    line: number;
    doubt: { toLine: number; at: number };
  };
  assert.deepEqual([progress.line, progress.doubt.toLine], [2, 4]);
  const late = { ...progress, doubt: { ...progress.doubt, at: progress.doubt.at - 3_600_000 } };
  writeFileSync(`${file}.progress`, JSON.stringify(late));
  const asked = await cli(['batch', file], {}, url);
  assert.equal(asked.code, EXIT.usage);
  assert.match(asked.stderr, /it is unknown whether the service has accepted the lines 3 to 4/);
  writeFileSync(`${file}.progress`, JSON.stringify(progress));
  const done = await cli(['batch', file], {}, url);
  assert.equal(done.code, EXIT.done, done.stderr);
  assert.deepEqual(await bodiesOf('doubt'), ['0', '1', '2', '3'], 'each once');
});

test('two runs over one file are not at work at once, and a run that was killed leaves no lock', async (t) => {
  const file = fileOf(t, [element('locked', '0'), element('locked', '1')]);
  let isFirst = true;
  let second: Awaited<ReturnType<typeof cli>> | null = null;
  const url = await proxy(t, async (): Promise<Fate> => {
    if (!isFirst) return 'pass';
    isFirst = false;
    second = await cli(['batch', file], {}, url);
    return 'pass';
  });
  const first = await cli(['batch', file], {}, url);
  assert.deepEqual([first.code, first.stdout], [EXIT.done, '2 accepted, 0 refused.\n']);
  assert.equal(second!.code, EXIT.failed, second!.stderr);
  assert.match(second!.stderr, /another run is sending .*batch\.ndjson\n {2}Nothing was sent/);
  assert.deepEqual(readdirSync(dirname(file)), ['batch.ndjson', 'batch.ndjson.progress'], 'no lock is left behind');
  assert.deepEqual(await bodiesOf('locked'), ['0', '1']);
  writeFileSync(`${file}.progress.lock`, '');
  assert.equal((await cli(['batch', file, '--restart'], {}, url)).code, EXIT.done, 'a file alone is no lock');
});

test('a file that was sent whole is not sent again unless --restart says so; lines that are added are sent alone', async (t) => {
  const file = fileOf(t, [element('again', '0'), element('again', '1')]);
  assert.equal((await cli(['batch', file])).stdout, '2 accepted, 0 refused.\n');
  const again = await cli(['batch', file]);
  assert.deepEqual([again.code, again.stdout], [EXIT.usage, '']);
  assert.match(again.stderr, /an earlier run has sent all 2 lines of .*: 2 accepted, 0 refused\n.*--restart/);
  writeFileSync(file, `${[element('again', '0'), element('again', 'mended')].join('\n')}\n`);
  const changed = await cli(['batch', file]);
  assert.deepEqual([changed.code, /has changed: the first 2 lines/.test(changed.stderr)], [EXIT.usage, true]);
  // The last line without its line break, as some programs leave it.
  const grown = fileOf(t, []);
  writeFileSync(grown, element('grown', '0'));
  assert.equal((await cli(['batch', grown])).code, EXIT.done);
  appendFileSync(grown, 'x');
  assert.equal((await cli(['batch', grown])).code, EXIT.usage, 'another line');
  writeFileSync(grown, [element('grown', '0'), element('grown', '1')].join('\r\n'));
  const more = await cli(['batch', grown, '--json']);
  assert.deepEqual([more.code, more.records().map(({ line }) => line)], [EXIT.done, [2]], more.stderr);
  assert.deepEqual(await bodiesOf('grown'), ['0', '1'], 'each once');
  assert.equal((await cli(['batch', file, '--restart'])).code, EXIT.done);
  assert.deepEqual(await bodiesOf('again'), ['0', '0', '1', 'mended']);
});

test('what only a file can have is refused for standard input, and nothing is sent', async () => {
  for (const flags of [['--restart'], ['--doubtful', 'skip'], ['--progress-file', 'x']]) {
    const ran = await cli(['batch', '-', ...flags], { stdin: element('unfit', '0') });
    assert.deepEqual([ran.code, ran.stdout], [EXIT.usage, ''], flags.join(' '));
    assert.match(ran.stderr, new RegExp(`${flags[0]} has no effect on standard input`));
  }
  assert.deepEqual(await bodiesOf('unfit'), []);
});

/** How many lines a bar writes when it is shown at these times. */
function barLines(isTTY: boolean, ...times: number[]): number {
  let [lines, now] = [0, 0];
  const write = () => {
    lines += 1;
    return true;
  };
  const clock = { ...systemWorld().clock, monotonicMs: () => now };
  const bar = new ProgressBar({ isTTY, write, drained: async () => {} }, clock, false);
  for (now of times) bar.show(1, 2, 'lines');
  return lines;
}

/** What a bar writes in a terminal of this width. */
function barAt(columns: number): string {
  let text = '';
  const write = (data: string | Uint8Array) => {
    text += String(data).replace('\r\u001b[K', '');
    return true;
  };
  const bar = new ProgressBar({ isTTY: true, columns, write, drained: async () => {} }, systemWorld().clock, false);
  bar.show(1, 3, 'lines');
  return text;
}

test('lines are cut where they end, whatever the chunks, and each is checked', async () => {
  const bytes = Buffer.from('\ufeffa\r\nbü\n\nlast');
  for (const size of [1, 2, 3, 100]) {
    const source = (async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    })();
    const lines: [string, number][] = [];
    for await (const { text, endsAt } of readLines(source, { line: 0, bytes: 0 })) lines.push([text, endsAt]);
    assert.deepEqual(lines, [
      ['a', 6],
      ['bü', 10],
      ['', 11],
      ['last', 15],
    ]);
  }
  for (const [text, problem] of [
    ['[]', /must be an object/],
    ['{"destinaton":"x"}', /did you mean "destination"/],
    ['{"body":"x"}', /destination is missing/],
    ['{"destination":"x","body":{}}', /body must be a text/],
    ['{"destination":"x","headers":[]}', /headers must have/],
  ] as const) {
    assert.match((readElement(text) as { problem: string }).problem, problem);
  }
  assert.equal(barText(1, 2), `[${'#'.repeat(12)}${'-'.repeat(12)}]`);
  assert.equal(progressText(50, 100, 'lines', 25, 5000), '50 % · 50 of 100 lines · 5/s · 10s left');
  assert.deepEqual(
    [barLines(false, 0, 4900), barLines(true, 0)],
    [0, 1],
    'a log gets no line of work that is soon done',
  );
  assert.equal(barLines(false, 0, 5000, 9000, 10_000), 2);
  assert.deepEqual(
    [20, 32, 60].map(barAt),
    ['33 % · 1 of 3 lin', '[##-----] 33 % · 1 of 3 lines', '[########----------------] 33 % · 1 of 3 lines'],
    'as wide as the terminal lets it be, with room for ^C',
  );
  assert.equal((await cli(['batch', 'none.ndjson'])).code, EXIT.usage);
});

test('a backup is restored into an empty directory, and into no other', { skip: onlySqlite }, async (t) => {
  const folder = temporaryFolder(t);
  const [data, copy, to] = [join(folder, 'data'), join(folder, 'copy.db'), join(folder, 'deep', 'restored')];
  const first = await startRider(t, { data });
  const { messageId } = (
    await first.call('POST', '/v2/publish/http://127.0.0.1:1', { headers: { 'Service-Delay': '1h' } })
  ).json<{ messageId: string }>();
  const { startBackup } = await import('../../server/src/store/sqlite/files/backup.ts');
  await startBackup(data, copy).done;

  const inUse = await runCli(['restore', copy, '--data', data]);
  assert.equal(inUse.code, EXIT.failed);
  assert.match(inUse.stderr, /already has a store .* is not overwritten[\s\S]*Nothing was restored\./);
  await first.close();
  const restored = await runCli(['restore', copy, '--data', to]);
  assert.equal(restored.code, EXIT.done, restored.stderr);
  assert.match(restored.stdout, /postrider\.db: .*, 1 message and 1 account, written and checked\.\n$/);
  assert.deepEqual(readdirSync(to).sort(), ['postrider.db', 'postrider.lock']);
  assert.equal(statSync(join(to, 'postrider.db')).mode & 0o777, 0o600);
  assert.equal(statSync(to).mode & 0o777, 0o700);
  const again = await startRider(t, { data: to });
  assert.equal((await again.call('GET', `/v2/messages/${messageId}`)).status, 200);
  await again.close();

  assert.equal((await runCli(['restore', copy, '--data', ''])).code, EXIT.usage, 'a variable that is not set');
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const damaged = join(folder, 'damaged.db');
  const bytes = readFileSync(copy);
  bytes.fill(0xff, 8192, 12_288);
  writeFileSync(damaged, bytes);
  const newer = join(folder, 'newer.db');
  const header = readFileSync(copy);
  header.writeUInt32BE(9999, 60);
  writeFileSync(newer, header);
  const text = join(folder, 'text');
  writeFileSync(text, 'not a database at all');
  for (const [file, why] of [
    [damaged, /the backup is damaged: /],
    [newer, /written by a newer postrider/],
    [text, /is not a backup of postrider/],
    [folder, /is not a file/],
    [join(folder, 'none'), /there is no file/],
  ] as const) {
    const refused = await runCli(['restore', file, '--data', empty]);
    assert.deepEqual([refused.code, refused.stdout], [EXIT.failed, ''], file);
    assert.match(refused.stderr, why);
    assert.deepEqual(
      readdirSync(empty).filter((name) => name !== 'postrider.lock'),
      [],
      file,
    );
  }
});
