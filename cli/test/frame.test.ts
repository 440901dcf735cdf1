// The frame of the command: how arguments are read, what help, completion and errors say, and how text of others is
// shown.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { parseConfig } from '../../server/src/node/settings/config.ts';
import { VERSION } from '../../server/src/shipped-files.ts';
import { runCli } from '../../server/test/support/command.ts';
import { lacks } from '../../server/test/support/machine.ts';
import type { FlagSpec } from '../src/frame/arguments.ts';
import { parseArguments } from '../src/frame/arguments.ts';
import { readClientFile, writeClientFile } from '../src/frame/client-file.ts';
import { EXIT, EXIT_MEANINGS } from '../src/frame/exit-codes.ts';
import { cutTo, printable, safeJson, widthOf } from '../src/frame/printable.ts';
import { tableText } from '../src/frame/table-text.ts';
import { readTime, spanText, timeText } from '../src/frame/time-text.ts';
import { writeWhole } from '../src/frame/whole-file.ts';
import { sharedFlags } from '../src/table/flags.ts';
import { COMMAND_TABLE, SECTIONS } from '../src/table/table.ts';

const BIN = join(import.meta.dirname, '..', '..', 'server', 'bin', 'postrider.js');
const NOW = Date.parse('2026-01-01T00:00:00Z');

const FLAGS: readonly FlagSpec[] = [
  { name: 'data', short: 'd', placeholder: '<body>', about: '' },
  { name: 'header', short: 'H', placeholder: '<header>', isList: true, about: '' },
  { name: 'delay', placeholder: '<duration>', kind: 'duration', about: '' },
  { name: 'limit', short: 'n', placeholder: '<number>', kind: 'number', about: '' },
  { name: 'from', placeholder: '<time>', kind: 'time', about: '' },
  { name: 'wait', about: '' },
];
const SHAPE = { arguments: [{ name: 'destination', about: 'where to' }], flags: FLAGS };

function given(...argv: string[]) {
  const parsed = parseArguments(SHAPE, argv, NOW);
  assert.ok('given' in parsed, JSON.stringify(parsed));
  return parsed.given;
}

function problems(...argv: string[]): readonly string[] {
  const parsed = parseArguments(SHAPE, argv, NOW);
  assert.ok('problems' in parsed, JSON.stringify(parsed));
  return parsed.problems;
}

suite('arguments', () => {
  test('flags are read in every form, before and after the words', () => {
    const all = given('-d', '{"a":1}', 'x', '-H', 'A: 1', '-HB: 2', '--header=C: 3', '--delay=1m30s', '-n5', '--wait');
    assert.deepEqual(all.words, ['x']);
    assert.equal(all.text('data'), '{"a":1}');
    assert.deepEqual(all.list('header'), ['A: 1', 'B: 2', 'C: 3']);
    assert.deepEqual([all.duration('delay'), all.number('limit'), all.has('wait')], [90_000, 5, true]);
    assert.equal(given('x', '--from', '1h').time('from'), NOW - 3_600_000);
    assert.equal(given('x').text('data'), undefined);
  });

  test('a body may start with a dash, and "--" ends the flags', () => {
    assert.equal(given('x', '-d', '-').text('data'), '-');
    assert.equal(given('x', '-d', '-5').text('data'), '-5');
    assert.equal(given('x', '--data=--wait').text('data'), '--wait');
    assert.deepEqual(given('--', '--x').words, ['--x']);
  });

  test('all problems are listed at once, each with what was probably meant', () => {
    assert.deepEqual(problems('a', 'b', '--delay', 'soon', '-n', 'x', '-d', '1', '-d', '2', '--from', 'then'), [
      '-d is given more than once',
      '--delay must be a duration such as 30s, 1h30m or 250ms, not "soon"',
      '--limit must be a whole number, not "x"',
      '--from must be a time such as 2026-01-31T12:00:00Z, or how long ago, such as 1h, not "then"',
      'unexpected argument "b"',
    ]);
    assert.deepEqual(problems('a', '--wiat', 'b'), ['unknown flag --wiat; did you mean --wait?']);
    assert.deepEqual(problems('a', '-z'), ['unknown flag -z; --help lists all']);
    assert.deepEqual(problems('a', '--wait=maybe'), ['--wait is a switch and takes no value']);
    assert.deepEqual(problems(), ['<destination> is missing: where to']);
    assert.deepEqual(problems('a', '--data', '--wait'), ['--data needs a value: --data <body>']);
    assert.deepEqual(problems(''), ['an argument is empty: is a shell variable not set?']);
    assert.deepEqual(problems('a', '--\u001b[31m'), ['unknown flag --\\u001b[31m; --help lists all']);
  });
});

suite('text for people', () => {
  test('control characters are shown and not obeyed', () => {
    assert.equal(printable('a\u001b[2Jb\r\n\u009b\u202e\ud800'), 'a\\u001b[2Jb\\r\\n\\u009b\\u202e\\ud800');
    assert.equal(printable('Grüße 👋'), 'Grüße 👋');
    const nasty = { id: '\u001b]0;x\u0007\u009c\u007f\u202e' };
    const text = safeJson(nasty);
    assert.match(text, /^[\x20-\x7e]*$/);
    assert.deepEqual(JSON.parse(text), nasty, 'the value is the same');
  });

  test('a table is aligned, drops empty columns, and is cut only where a width is given', () => {
    const columns = [{ title: 'NAME' }, { title: 'LAG', isNumber: true }, { title: 'GONE' }, { title: 'URL' }];
    const rows = [
      ['a', '7', '', 'https://example.com/a/long/path'],
      ['日本', '1200', '', 'x\ty'],
    ];
    assert.deepEqual(tableText(columns, rows).lines, [
      'NAME   LAG  URL',
      'a        7  https://example.com/a/long/path',
      '日本  1200  x\\ty',
    ]);
    assert.equal(tableText(columns, rows, 30).lines[1], 'a        7  https://example.c…');
    const extra = columns.map((column) => ({ ...column, isExtra: column.title === 'LAG' }));
    assert.deepEqual(tableText(extra, rows, 30), {
      lines: ['NAME  URL', 'a     https://example.com/a/l…', '日本  x\\ty'],
      leftOut: ['LAG'],
    });
    assert.equal(widthOf('日本'), 4);
    assert.equal(cutTo('日本語', 5), '日本…');
  });

  test('times and spans are exact and short', () => {
    assert.equal(timeText(NOW + 5123), '2026-01-01 00:00:05Z');
    assert.deepEqual([12, 999, 40_000, 125_000, 3_600_000, 7_260_000, 273_600_000].map(spanText), [
      '12ms',
      '999ms',
      '40s',
      '2m 5s',
      '1h',
      '2h 1m',
      '3d 4h',
    ]);
    assert.equal(readTime('1767225600', 0), NOW);
    assert.equal(readTime('2026-01-01', 0), NOW);
    assert.equal(readTime('yesterday', 0), null);
  });
});

suite('help, version and completion', () => {
  test('every command has help that lists its flags, within the width of a terminal', async () => {
    for (const { name, flags = [] } of COMMAND_TABLE) {
      const { code, stdout } = await runCli([...name.split(' '), '--help']);
      assert.equal(code, 0);
      assert.ok(stdout.startsWith(`Usage: postrider ${name}`), stdout);
      for (const flag of flags) assert.ok(stdout.includes(`--${flag.name}`), `${name}: ${flag.name}`);
      for (const line of stdout.split('\n')) assert.ok(line.length <= 120, `${name}: ${line}`);
    }
    const all = await runCli(['help']);
    for (const { commands } of SECTIONS) for (const { name } of commands) assert.ok(all.stdout.includes(` ${name} `));
    assert.deepEqual([all.code, (await runCli([])).code], [0, 2]);
    const backup = parseConfig('backup', ['--help'], {});
    assert.ok(
      'help' in backup && backup.help.includes('postrider restore'),
      'who makes a backup sees how it is put back',
    );
  });

  test('the table has no name twice, and no flag that hides a shared one', () => {
    const names = SECTIONS.flatMap(({ commands }) => commands.map(({ name }) => name));
    assert.equal(new Set(names).size, names.length);
    const codes = EXIT_MEANINGS.map(([code]) => code);
    assert.deepEqual(codes, Object.values(EXIT));
    for (const spec of COMMAND_TABLE) {
      const own = [...(spec.flags ?? []), ...sharedFlags(spec)];
      const flags = own.flatMap(({ name, short }) => [name, ...(short ? [short] : [])]);
      assert.deepEqual(
        flags.filter((flag, index) => flags.indexOf(flag) !== index),
        [],
        spec.name,
      );
    }
  });

  test('every command refuses an unknown flag, a missing argument and one too many, and does nothing', async () => {
    for (const { name, arguments: words = [] } of COMMAND_TABLE) {
      const needed = words.filter(({ isOptional }) => !isOptional).map(({ values }) => values?.[0] ?? 'x');
      const unknown = await runCli([...name.split(' '), ...needed, '--nonsense']);
      assert.equal(unknown.code, EXIT.usage, name);
      assert.match(
        unknown.stderr,
        new RegExp(`^postrider ${name}: unknown flag --nonsense; --help lists all\n {2}postrider`),
      );
      if (needed.length > 0) {
        const missing = await runCli([...name.split(' ')]);
        assert.equal(missing.code, EXIT.usage, name);
        assert.match(missing.stderr, / is missing: /);
      }
      if (words.at(-1)?.isRepeated) continue;
      const more = await runCli([...name.split(' '), ...words.map(({ values }) => values?.[0] ?? 'x'), 'more']);
      assert.match(more.stderr, /unexpected argument "more"/, name);
    }
  });

  test('an unknown command is named with the one that may be meant, and errors are JSON with --json', async () => {
    const wrong = await runCli(['versoin']);
    assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
    assert.equal(
      wrong.stderr,
      'postrider: there is no command "versoin"; did you mean "version"?\n  postrider help lists all commands.\n',
    );
    const json = await runCli(['version', '--jso', '--json']);
    assert.equal(json.code, 2);
    assert.equal((JSON.parse(json.stderr) as { error: { exit: number } }).error.exit, 2);
    assert.equal((await runCli(['version'])).stdout, `${VERSION}\n`);
    assert.equal((await runCli(['version', '--json'])).json<{ version: string }>().version, VERSION);
    assert.match((await runCli(['\u001b[2J'])).stderr, /"\\u001b\[2J"/);
    const byVariable = await runCli(['versoin'], { env: { POSTRIDER_JSON: '1' } });
    assert.equal((JSON.parse(byVariable.stderr) as { error: { exit: number } }).error.exit, 2);
  });

  test('what would be lost or is missing is refused before any call', async () => {
    const cases: readonly (readonly [argv: readonly string[], why: RegExp])[] = [
      [['publish', 'http://x', '-d', '-', '--token-file', '-'], /can be read only once, .*--token-file - and --data -/],
      [['batch', '-', '--token-file', '-'], /can be read only once, .*--token-file - and the file -/],
      [['apply', '-f', '-', '--token-file', '-'], /can be read only once, .*--token-file - and --file -/],
      [['schedules', 'create', 'http://x'], /no cron expression is given: use --cron/],
      [['queues', '--token', ''], /the token from --token is empty\n {2}Is a shell variable not set/],
    ];
    for (const [argv, why] of cases) {
      const { code, stderr } = await runCli(argv, { env: { POSTRIDER_URL: 'http://127.0.0.1:1' }, stdin: '' });
      assert.equal(code, EXIT.usage, `${argv.join(' ')}: ${stderr}`);
      assert.match(stderr, why);
    }
  });

  test('bash completes commands, verbs and flags', { skip: lacks('bash') }, async () => {
    const { stdout: script } = await runCli(['completion', 'bash']);
    const ask = (words: string) =>
      `COMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _postrider; echo "\${COMPREPLY[*]}"`;
    const lines = [
      'postrider comp',
      'postrider completion z',
      'postrider token cr',
      'postrider serve --take',
      'postrider version --js',
      'postrider messages --stat',
      "postrider topics ''",
      'postrider help wh',
    ];
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-u', '-c', `${script}\n${lines.map(ask).join('\n')}`], {
      encoding: 'utf8',
    });
    assert.equal(stderr, '');
    assert.deepEqual(stdout.trim().split('\n'), [
      ...['completion', 'zsh', 'create', '--take-over-dev', '--json', '--state --status'],
      ...['list get add remove delete', 'why'],
    ]);
    for (const shell of ['zsh', 'fish']) {
      const other = await runCli(['completion', shell]);
      assert.ok(other.stdout.includes('take-over-dev') && other.stdout.includes('migrate-store'), shell);
    }
  });

  test('fish completes them too', { skip: lacks('fish') }, async (t) => {
    const { stdout: script } = await runCli(['completion', 'fish']);
    const lines = ['postrider comp', 'postrider queues de', 'postrider publish --wait-', 'postrider help wh'];
    const asked = lines.map((line) => `complete -C '${line}'`).join('\n');
    // In a file: the script is longer than an argument may be.
    const home = mkdtempSync(join(tmpdir(), 'postrider-cli-'));
    t.after(() => rmSync(home, { recursive: true }));
    writeFileSync(join(home, 'asked.fish'), `${script}\n${asked}\n`);
    const argv = ['--no-config', join(home, 'asked.fish')];
    const env = { PATH: process.env.PATH, HOME: home };
    const { error, stdout, stderr } = spawnSync('fish', argv, { env, encoding: 'utf8' });
    assert.equal(error, undefined);
    assert.equal(stderr, '');
    const found = stdout
      .trim()
      .split('\n')
      .map((line) => line.split('\t')[0]);
    assert.deepEqual(found, ['completion', 'delete', '--wait-max', 'why']);
  });
});

suite('the config file of the command', () => {
  test('it is written for its owner alone, and refused with a token that others can read', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-cli-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'deep', 'config.json');
    writeClientFile(path, { url: 'https://a.example', token: 'pr_secret' });
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(readClientFile(path, true), { url: 'https://a.example', token: 'pr_secret' });
    chmodSync(path, 0o644);
    assert.throws(() => readClientFile(path, true), /holds a token, and others on this machine can read it/);
    writeFileSync(path, '{"url":1,"tokn":"x","profiles":{"a":[]}}');
    assert.throws(() => readClientFile(path, true), /url must be a text\n.*tokn is not known.*\n.*profiles\.a must be/);
    writeFileSync(path, 'url: x');
    assert.throws(() => readClientFile(path, true), /is not JSON/);
    assert.equal(readClientFile(join(path, 'none'), false), null);
    assert.throws(() => readClientFile(join(path, 'none'), true), /cannot read the config file/);
  });
});

suite('files that a command writes', () => {
  test('a file that cannot be written whole leaves what was there, and nothing beside it', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-cli-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'config.json');
    const before = { url: 'https://a.example', token: 'x'.repeat(3000) };
    writeClientFile(path, before);
    // As on a full disk: no file of this process may be larger than one block.
    const call = `ulimit -f 1; '${process.execPath}' '${BIN}' config set --config '${path}' --url https://b.example`;
    const { status, stderr } = spawnSync('sh', ['-c', call], { encoding: 'utf8' });
    assert.equal(status, EXIT.failed, stderr);
    assert.match(
      stderr,
      /^postrider config set: cannot write \S+config\.json: it is larger than the file system allows\n$/,
    );
    assert.deepEqual([readClientFile(path, true), readdirSync(folder)], [before, ['config.json']]);
  });

  test('why it cannot be written is said in words, and a link stays a link', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-cli-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const [file, link] = [join(folder, 'file'), join(folder, 'link')];
    const write = (path: string, isReplacing: boolean) =>
      writeWhole({ path, data: 'new', mode: 0o600, isReplacing, hintIfThere: 'choose another name' });
    writeFileSync(file, 'old');
    symlinkSync(file, link);
    assert.throws(() => write(file, false), /cannot write \S+: it already exists; choose another name$/);
    assert.throws(() => write(join(folder, 'none', 'file'), true), /: there is no such directory$/);
    assert.throws(() => write(join(file, 'file'), true), /: a part of the path is a file, not a directory$/);
    assert.throws(() => write(folder, true), /: it is a directory$/);
    assert.equal(readFileSync(file, 'utf8'), 'old');
    write(link, true);
    assert.deepEqual([readFileSync(file, 'utf8'), lstatSync(link).isSymbolicLink()], ['new', true]);
    const { code, stderr } = await runCli(['config', 'set', '--config', join(file, 'x'), '--url', 'https://a.example']);
    assert.deepEqual([code, stderr.split('\n').length], [EXIT.failed, 2], stderr);
  });
});

/** Which files of ours a process loads, by their paths below server/src. */
function loadedBy(...argv: string[]): string[] {
  const hook =
    'import{registerHooks}from"node:module";' +
    'registerHooks({resolve(s,c,n){const r=n(s,c);process.stderr.write("loads "+r.url+"\\n");return r}})';
  const { stderr } = spawnSync(process.execPath, ['--import', `data:text/javascript,${hook}`, BIN, ...argv], {
    encoding: 'utf8',
  });
  const paths = [...stderr.matchAll(/^loads file:.*\/((?:server|cli)\/src\/.*)$/gm)].map(([, path]) => path!);
  assert.ok(paths.includes('cli/src/main.ts'), stderr);
  return paths;
}

test('the commands that work on a store say with --json what is wrong as JSON, as all others do', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-cli-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const cases: readonly (readonly [argv: readonly string[], exit: number])[] = [
    [['backup'], EXIT.failed],
    [['check'], EXIT.failed],
    [['token', 'create', '--admin'], EXIT.failed],
    [['migrate-store', '--store', 'postgres://127.0.0.1:1/none'], EXIT.failed],
    [['check', '--jsno', '--daat'], EXIT.usage],
  ];
  const ran = cases.map(([argv]) =>
    spawnSync(process.execPath, [BIN, ...argv, '--json', '--data', folder], { encoding: 'utf8' }),
  );
  for (const [index, [argv, exit]] of cases.entries()) {
    const { status, stdout, stderr } = ran[index]!;
    assert.deepEqual([status, stdout], [exit, ''], `${argv.join(' ')}: ${stderr}`);
    const { error } = JSON.parse(stderr) as { error: { message: string; exit: number } };
    assert.equal(error.exit, exit);
    assert.match(
      error.message,
      exit === EXIT.usage ? /^\n {2}- unknown flag/ : /^there is no store in/,
      argv.join(' '),
    );
  }
});

test('help is shown for the commands that start a service too', () => {
  const { status, stdout } = spawnSync(process.execPath, [BIN, 'help', 'serve'], { encoding: 'utf8' });
  assert.deepEqual([status, stdout.split('\n')[0]], [EXIT.done, 'Usage: postrider serve [settings]']);
});

test('a call of the command loads nothing of the service, and the service nothing of the commands', () => {
  const isOfService = (path: string) =>
    /^server\/src\/(?:node\/(?!settings\/)|inbound\/|delivery\/|store\/)/.test(path);
  assert.deepEqual(loadedBy('version').filter(isOfService), []);
  const service = loadedBy('serve', '--data', BIN);
  assert.ok(service.some(isOfService));
  const commands = service.filter((path) => /^cli\/src\/(?:frame|table|commands)\//.test(path));
  assert.deepEqual(commands, ['cli/src/frame/exit-codes.ts', 'cli/src/frame/exit-codes.ts']);
});
