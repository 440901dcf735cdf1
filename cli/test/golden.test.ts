// Every command once, in one session against a real service: what it prints and its exit code stand in golden.txt, so that
// a change of either is seen. Ids, keys, times and ports are replaced by others of the same length.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { VERSION } from '../../server/src/shipped-files.ts';
import { runCli } from '../../server/test/support/command.ts';
import { sharedRider, temporaryFolder } from '../../server/test/support/harness.ts';
import { BIN } from '../../server/test/support/process.ts';
import { startReceiver } from '../../server/test/support/receiver.ts';
import { waitFor } from '../../server/test/support/wait.ts';
import { COMMAND_TABLE, SETTINGS_COMMANDS } from '../src/table/table.ts';

const GOLDEN = join(import.meta.dirname, 'golden.txt');
/** `npx node --test --test-update-snapshots cli/test/golden.test.ts` writes the file anew. */
const IS_WRITTEN = process.execArgv.includes('--test-update-snapshots');
const TICK_MS = 200;

const rider = sharedRider();

/** The same text with the same length for each id, in the order in which they appear. */
function steady(replaced: readonly (readonly [from: string, to: string])[]) {
  const seen = new Map<string, string>();
  return (text: string): string => {
    let out = text;
    for (const [from, to] of replaced) out = out.replaceAll(from, to);
    return (
      out
        .replace(/\b(msg|dlq|tok|acc|tpc|sig|pr)_[\w-]{20,}/g, (id, kind: string) => {
          if (!seen.has(id)) seen.set(id, `${kind}_${String(seen.size + 1).padEnd(id.length - kind.length - 1, '.')}`);
          return seen.get(id)!;
        })
        .replace(/\d{4}-\d\d-\d\d([ T])\d\d:\d\d:\d\d(\.\d{3})?Z/g, (_, gap: string, ms?: string) =>
          ms === undefined ? `2026-01-01${gap}00:00:00Z` : `2026-01-01${gap}00:00:00.000Z`,
        )
        .replace(/(it is delayed until \S+) in .*/, '$1 in …')
        // In the first hour of a day it has no hours.
        .replace(/\d+d(?: \d+h)? behind/, '0d 0h behind')
        .replace(/took \d+m?s/g, 'took 0ms')
        // The settings of the service are listed in docs/configuration.md, and change with it.
        .replace(/(when it is started here without flags:\n)[\s\S]*?(\[\d\]\n)/, '$1…\n$2')
        .replace(/[\d.]+ [KMGT]iB/g, '0 KiB')
        .replace(/Node\.js [\d.]+, SQLite [\d.]+, \w+ \w+/, 'Node.js, SQLite, platform')
        .replaceAll(VERSION, '0.0.0')
    );
  };
}

interface Step {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const shownStep = (argv: readonly string[], { code, stdout, stderr }: Step) =>
  [
    `$ postrider ${argv.map((each) => (/^[\w./:@=-]+$/.test(each) ? each : JSON.stringify(each))).join(' ')}`,
    ...(stdout === '' ? [] : [stdout.replace(/\n$/, '')]),
    ...(stderr === ''
      ? []
      : stderr
          .replace(/\n$/, '')
          .split('\n')
          .map((line) => `2> ${line}`)),
    `[${code}]`,
    '',
  ].join('\n');

/** The commands that start a service or work on a store, as processes. */
function asProcess(argv: readonly string[]): Promise<Step> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [BIN, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (data) => {
      stdout += data;
    });
    child.stderr.on('data', (data) => {
      stderr += data;
    });
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

test('every command prints what golden.txt says, and exits with its code', async (t) => {
  const receiver = await startReceiver(t, (arrival) =>
    arrival.target === '/bad' ? { status: 503, body: 'away' } : 200,
  );
  const folder = temporaryFolder(t);
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const { url, token } = rider();
  const away = `http://127.0.0.1:${receiver.port}`;
  const show = steady([
    [url, 'http://service...:00000'],
    [away, 'http://receiver..:00000'],
    [`127.0.0.1:${receiver.port}`, 'receiver.:00000'],
    [`port ${new URL(url).port}`, 'port 00000'],
    [folder, '/folder'],
  ]);
  const steps: string[] = [];
  const called = new Set<string>();
  async function cli(line: string, ...more: string[]): Promise<string> {
    const argv = [...line.split(' '), ...more];
    called.add(COMMAND_TABLE.find(({ name }) => line === name || line.startsWith(`${name} `))?.name ?? line);
    const interrupt = new AbortController();
    const ticking = setInterval(() => rider().clock.advance(TICK_MS), 10);
    const onOutput = (all: string) => {
      if (line.startsWith('tail') && all.includes('DELIVERED')) interrupt.abort('SIGINT');
    };
    const env = { POSTRIDER_URL: url, POSTRIDER_TOKEN: token! };
    const ran = await runCli(argv, { env, interrupted: interrupt.signal, onOutput });
    clearInterval(ticking);
    steps.push(show(shownStep(argv, ran)));
    return ran.stdout;
  }

  // Before the first attempt: how long attempts take differs each time.
  await cli('hosts list');
  await cli('hosts get none.example');
  await cli('hosts resume none.example');
  await cli('hosts park parked.example');
  await cli('hosts resume parked.example');
  await cli('ack http://127.0.0.1:1/v2/acks/x');
  await cli('ack http://127.0.0.1:1/v2/acks/x --ok');
  const good = (await cli(`publish ${away}/good --wait`, '-d', '{"a":1}', '-H', 'X-Tenant: acme')).split(' ')[0]!;
  await cli(`tail --message ${good} --since 2026-01-01`);
  const later = (await cli(`publish ${away}/later --delay 10d -q --label later`)).trim();
  const waiting = (await cli(`enqueue orders ${away}/good --delay 10d -q`)).trim();
  await cli(`batch ${file('two.ndjson', `{"destination":"${away}/good"}\n{"destination":"nowhere"}\n`)}`);
  await cli(`enqueue orders ${away}/bad --retries 0 --order-key k --wait`);
  await cli(`enqueue orders ${away}/bad --retries 0 --order-key k --wait -q`);
  await cli(`messages --label later`);
  await cli(`messages list --state FAILED`);
  await cli(`messages get ${good}`);
  await cli(`messages body ${good}`);
  await cli(`messages events ${good}`);
  await cli('messages count --label later');
  await cli(`why ${later}`);
  await cli(`messages update ${later} --new-url ${away}/good --data new --label later --if-version 0-0`);
  await cli(`messages update ${later} --delay 1h --if-version 0-0`);
  await cli(`messages update ${later}`);
  await cli(`messages retry ${later}`);
  await waitFor('the delivery', async () => (await rider().message(later)).state === 'DELIVERED');
  await cli(`messages release ${later}`);
  await cli(`messages cancel ${waiting}`);
  await cli('messages get msg_none');

  const letters = JSON.parse(
    (await runCli(['dlq', '--json'], { env: { POSTRIDER_URL: url, POSTRIDER_TOKEN: token! } })).stdout,
  ) as { dlqId: string }[];
  await cli('dlq list');
  await cli('dlq groups');
  await cli(`dlq get ${letters[0]!.dlqId}`);
  await cli(`dlq retry ${letters[0]!.dlqId} --new-url ${away}/good`);
  await cli(`dlq delete ${letters[1]!.dlqId}`);
  await cli('dlq delete --all --dry-run');

  await waitFor('the empty queue', async () => {
    const { lag } = (await rider().call('GET', '/v2/queues/orders')).json<{ lag: number }>();
    return lag === 0;
  });
  await cli('queues list');
  await cli('queues set mail --parallelism 2');
  for (const verb of ['get', 'pause', 'resume', 'delete']) await cli(`queues ${verb} mail`);
  await cli('topics add news https://a.example/x shop=https://b.example/y');
  await cli('topics get news');
  await cli('topics list');
  await cli('topics remove news shop');
  await cli('topics delete news');
  await cli('topics delete news');
  await cli(`schedules create ${away}/good --id daily --cron`, '0 9 * * *');
  for (const verb of ['get', 'pause', 'resume', 'run']) await cli(`schedules ${verb} daily`);
  await cli('schedules list');
  await cli('schedules next', '0 9 * * 1-5');
  await cli('schedules change daily --overlap skip --cron', '@every 1h');
  await cli(`publish ${away}/good -q --flow-key k --flow-limit`, 'rate=5, period=1m');
  await waitFor('the end of it', async () => {
    const { parallelismCount } = (await rider().call('GET', '/v2/flowControl/k')).json<{ parallelismCount: number }>();
    return parallelismCount === 0;
  });
  for (const verb of ['get k', 'pin k --parallelism 3', 'pause k', 'list', 'resume k', 'unpin k', 'reset-rate k'])
    await cli(`flow ${verb}`);
  await cli(`alerts create messageFailed --label bill --id bills --target ${away}/good`);
  for (const verb of ['get', 'test']) await cli(`alerts ${verb} bills`);
  await cli('alerts list');
  await cli(`apply -f ${file('wanted.yaml', 'queues:\n  - name: orders\n    parallelism: 4\n')}`);
  await cli('export');
  await cli('schedules delete daily');
  await cli('alerts delete bills');

  await cli('account show');
  await cli('account set-outage park');
  await cli('account set-outage retry');
  await cli('account list');
  await cli('account create shop');
  await cli('account set-tier shop paid');
  await cli('account suspend shop');
  await cli('account resume shop');
  await cli('account recount');
  await cli('token create --account shop --scope publish --name laptop');
  await cli('token create --account shop --scope read --name guest --expires-in 36500d --address 10.0.0.0/8');
  // The service lives in the past, the command does not.
  await cli('token create --account shop --scope read --name past --expires-in 1s --address 10.0.0.1');
  await cli('token create --account shop --scope read --name past --expires-in 1s');
  await cli('token list --account shop');
  await cli('token revoke tok_none --account shop --yes');
  await cli('keys show');
  await cli('keys rotate --yes');
  await cli('usage');
  await cli('audit --target shop');
  await cli('account delete shop');
  await cli('account delete shop --yes');
  await cli('account resume shop');
  await cli('account delete default --yes');
  await cli('account list');

  const config = join(folder, 'config.json');
  await cli(`config set --config ${config} --url https://postrider.example.com`);
  await cli(`config show --sources --config ${config}`);
  await cli(`doctor --data ${join(folder, 'none')} --port ${new URL(url).port} --url ${url}`);
  await cli('completion none');
  await cli('version');
  await cli(`restore ${join(folder, 'none.db')} --data ${join(folder, 'store')}`);

  const processes = [
    ['dev', '--drain', 'soon'],
    ['serve', '--port', 'x', '--dta', folder],
    ['backup', '--data', folder],
    ['check', '--data', folder],
    ['migrate-store', '--data', folder],
  ];
  const ends = await Promise.all(processes.map(asProcess));
  for (const [index, argv] of processes.entries()) steps.push(show(shownStep(argv, ends[index]!)));

  const missing = COMMAND_TABLE.filter(({ name }) => !called.has(name)).map(({ name }) => name);
  const others = SETTINGS_COMMANDS.filter(({ name }) => !processes.some(([first]) => first === name));
  assert.deepEqual([missing, others], [[], []], 'commands that are not in the session');
  const text = `${steps.join('\n')}`;
  if (IS_WRITTEN) writeFileSync(GOLDEN, text);
  assert.equal(text, readFileSync(GOLDEN, 'utf8'));
});
