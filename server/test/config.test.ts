// The settings: every one by flag and by environment, what wins, what is refused and how it is said, and that help and
// docs/configuration.md list them all.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import {
  COMMANDS,
  type Command,
  type Config,
  type Environment,
  environmentName,
  parseConfig,
  SETTING_KEYS,
  SETTINGS,
  type Setting,
  type SettingKey,
  TEMPORARY_DATA,
} from '../src/node/settings/config.ts';
import { DEFAULT_TIERS } from '../src/rules/limits/tier.ts';

function configOf(argv: readonly string[], env: Environment = {}, command: Command = 'serve'): Config {
  const result = parseConfig(command, argv, env);
  assert.ok('config' in result, 'problems' in result ? result.problems.join('\n') : 'help');
  return result.config;
}

function problemsOf(argv: readonly string[], env: Environment = {}, command: Command = 'serve'): string[] {
  const result = parseConfig(command, argv, env);
  assert.ok('problems' in result, 'expected problems');
  return result.problems;
}

/** For every setting: a value as text, what it becomes, and one that must be refused. */
const EXAMPLES: { readonly [K in SettingKey]: { text: string; value: Config[K]; bad: string } } = {
  port: { text: '0', value: 0, bad: '65536' },
  host: { text: '::1', value: '::1', bad: 'two words' },
  publicUrl: { text: 'https://queue.example.com', value: 'https://queue.example.com', bad: 'queue.example.com/' },
  data: { text: 'some/where', value: 'some/where', bad: 'a\0b' },
  store: { text: 'postgres://me@localhost/db', value: 'postgres://me@localhost/db', bad: 'mysql://localhost/db' },
  role: { text: 'all', value: 'all', bad: 'boss' },
  headerPrefix: { text: 'Upstash-', value: 'Upstash-', bad: 'Upstash' },
  trustedProxy: { text: '10.0.0.0/8, fd00::/8', value: ['10.0.0.0/8', 'fd00::/8'], bad: '10.0.0.1' },
  allowCidr: { text: '10.0.0.0/8, fd00::/8', value: ['10.0.0.0/8', 'fd00::/8'], bad: '10.0.0.0/33' },
  adminTokenFile: { text: '/run/secrets/token', value: '/run/secrets/token', bad: 'a\0b' },
  adminToken: { text: 'a'.repeat(32), value: 'a'.repeat(32), bad: 'too short' },
  metricsToken: { text: 'a-token-of-metrics', value: 'a-token-of-metrics', bad: 'too short' },
  metricsPort: { text: '0', value: 0, bad: '65536' },
  clock: { text: 'manual', value: 'manual', bad: 'sundial' },
  untilStdinEnds: { text: 'true', value: true, bad: 'perhaps' },
  json: { text: 'true', value: true, bad: 'yes please' },
  httpReader: { text: 'node', value: 'node', bad: 'nginx' },
  logLevel: { text: 'debug', value: 'debug', bad: 'loud' },
  logSuccesses: { text: '2.5%', value: 0.025, bad: '101%' },
  auditDays: { text: '0', value: 0, bad: '-1' },
  concurrency: { text: '7', value: 7, bad: '0' },
  hostConcurrency: { text: '8', value: 8, bad: '1.5' },
  accountConcurrency: { text: '9', value: 9, bad: '-1' },
  lanes: { text: '3', value: 3, bad: '0' },
  drainMs: { text: '1m30s', value: 90_000, bad: 'soon' },
  requestBytesMax: { text: '10MB', value: 10_000_000, bad: '10 parsecs' },
  batchMax: { text: '50', value: 50, bad: '1e3' },
  forwardHeadersMax: { text: '0', value: 0, bad: 'many' },
  forwardHeaderBytesMax: { text: '1KiB', value: 1024, bad: '2MiB' },
  hopsMax: { text: '1', value: 1, bad: 'NaN' },
  deduplicationWindowMs: { text: '90s', value: 90_000, bad: 'often' },
  tiers: {
    text: '{"free":{"bodyBytesMax":null}}',
    value: { ...DEFAULT_TIERS, free: { ...DEFAULT_TIERS.free, bodyBytesMax: null } },
    bad: '{"gold":{}}',
  },
  minFreeDiskBytes: { text: '1024', value: 1024, bad: '-1' },
  allowHost: { text: 'box.example, *.tunnel.example', value: ['box.example', '*.tunnel.example'], bad: 'http://x' },
  allowOrigin: {
    text: 'https://app.example, http://localhost:3000',
    value: ['https://app.example', 'http://localhost:3000'],
    bad: 'app.example',
  },
  strictSettings: { text: 'true', value: true, bad: 'maybe' },
  takeOverDev: { text: 'true', value: true, bad: 'maybe' },
  to: { text: 'copy.db', value: 'copy.db', bad: 'a\0b' },
  repair: { text: 'true', value: true, bad: 'please' },
  admin: { text: 'true', value: true, bad: 'everything' },
  scope: { text: 'read, publish', value: ['publish', 'read'], bad: 'read,write' },
  account: { text: 'shop', value: 'shop', bad: 'two words' },
  tokenName: { text: 'laptop', value: 'laptop', bad: 'a/b' },
  tokenExpiresIn: { text: '90d', value: 90 * 86_400_000, bad: '40000d' },
  tokenAddresses: { text: '10.0.0.0/8,fd00::/8', value: ['10.0.0.0/8', 'fd00::/8'], bad: '10.0.0.1' },
};

/** A command that has the setting, and what else it needs. */
function useOf(key: SettingKey): { readonly command: Command; readonly rest: readonly string[] } {
  const { commands } = SETTINGS[key];
  const command = commands.find((each) => each === 'serve') ?? commands[0]!;
  return { command, rest: command === 'token create' && key !== 'admin' && key !== 'scope' ? ['--admin'] : [] };
}

for (const key of SETTING_KEYS) {
  const { flag } = SETTINGS[key];
  const variable = environmentName(flag);
  const { text, value, bad } = EXAMPLES[key];

  suite(`the setting ${key}`, () => {
    const { command, rest } = useOf(key);

    test(`is read from --${flag} and from ${variable}`, () => {
      const attached = `--${flag}=${text}`;
      assert.deepEqual(configOf([...rest, attached], {}, command)[key], value);
      assert.deepEqual(configOf(rest, { [variable]: text }, command)[key], value);
      if (SETTINGS[key].kind.placeholder !== null)
        assert.deepEqual(configOf([...rest, `--${flag}`, text], {}, command)[key], value);
    });

    test('is refused when it cannot be used, naming where the value came from', () => {
      const byFlag = problemsOf([...rest, `--${flag}=${bad}`], {}, command);
      assert.deepEqual([byFlag.length, byFlag[0]!.split(/[ :]/, 1)[0]], [1, `--${flag}`]);
      const byVariable = problemsOf(rest, { [variable]: bad }, command);
      assert.deepEqual([byVariable.length, byVariable[0]!.split(/[ :]/, 1)[0]], [1, variable]);
    });

    test('has defaults that it would accept itself', () => {
      for (const service of ['dev', 'serve'] as const) {
        const { kind, defaults }: Setting<unknown> = SETTINGS[key];
        const byDefault = configOf([], {}, service)[key];
        assert.deepEqual(byDefault, defaults[service]);
        // Shown as words: nothing to give.
        if (
          [
            'tiers',
            'allowCidr',
            'trustedProxy',
            'allowHost',
            'allowOrigin',
            'store',
            'scope',
            'account',
            'tokenExpiresIn',
            'tokenAddresses',
            'to',
            'lanes',
            'metricsToken',
            'metricsPort',
            'publicUrl',
            'adminToken',
            'adminTokenFile',
          ].includes(key)
        )
          continue;
        assert.deepEqual(kind.parse(kind.show(byDefault)), { value: byDefault });
      }
    });
  });
}

test('a flag wins over the environment, and the environment over the default', () => {
  assert.equal(configOf(['--port', '1'], { POSTRIDER_PORT: '2' }).port, 1);
  assert.equal(configOf([], { POSTRIDER_PORT: '2' }).port, 2);
  assert.equal(configOf([]).port, 8411);
});

test('a flag hides a variable that could not be used', () => {
  assert.equal(configOf(['--port', '1'], { POSTRIDER_PORT: 'x' }).port, 1);
});

test('an empty variable counts as absent, an empty flag does not', () => {
  assert.equal(configOf([], { POSTRIDER_PORT: '' }).port, 8411);
  assert.deepEqual(problemsOf(['--port=']), ['--port needs a value: --port <number>']);
});

test('dev stays on this machine and keeps its data apart; serve can be reached', () => {
  const dev = configOf([], {}, 'dev');
  const serve = configOf([], {}, 'serve');
  assert.deepEqual([dev.command, dev.host, dev.data, dev.logLevel], ['dev', '127.0.0.1', '.postrider', 'warn']);
  assert.deepEqual(
    [serve.command, serve.host, serve.data, serve.logLevel],
    ['serve', '0.0.0.0', 'postrider-data', 'info'],
  );
});

test('a switch needs no value and takes none from the next argument', () => {
  assert.equal(configOf(['--json']).json, true);
  assert.equal(configOf(['--json=false'], { POSTRIDER_JSON: '1' }).json, false);
  assert.deepEqual(problemsOf(['--json', 'false']), ['unexpected argument "false"']);
});

test('all problems are listed at once', () => {
  const argv = [
    '--port',
    'x',
    '--drain',
    '--batch-max=0',
    'extra',
    '--nonsense',
    '1',
    '--tiers',
    '{"free":{"a":1,"b":2}}',
  ];
  const problems = problemsOf(argv, { POSTRIDER_LOG_LEVEL: 'loud', POSTRIDER_HOST: 'a b' });
  const starts = problems.map((problem) => problem.split(/[ :]/, 1)[0]);
  assert.deepEqual(starts.toSorted(), [
    '--batch-max',
    '--drain',
    '--port',
    '--tiers',
    '--tiers',
    'POSTRIDER_HOST',
    'POSTRIDER_LOG_LEVEL',
    'unexpected',
    'unknown',
  ]);
});

test('an unknown flag is a problem, with the one that was probably meant', () => {
  assert.deepEqual(problemsOf(['--prot', '1']), ['unknown flag --prot; did you mean --port?']);
  assert.deepEqual(problemsOf(['--concurency=1']), ['unknown flag --concurency; did you mean --concurrency?']);
  assert.deepEqual(problemsOf(['--headerPrefix', 'X-']), [
    'unknown flag --headerPrefix; did you mean --header-prefix?',
  ]);
  assert.deepEqual(problemsOf(['--data-dir', 'x']), ['unknown flag --data-dir; did you mean --data?']);
  assert.deepEqual(problemsOf(['--zebra']), ['unknown flag --zebra; --help lists all']);
  assert.deepEqual(problemsOf(['--constructor']), ['unknown flag --constructor; --help lists all']);
  assert.deepEqual(problemsOf(['-p', '1']), ['unknown flag -p; --help lists all']);
});

test('an unknown variable is a problem only when it is clearly misspelt', () => {
  assert.deepEqual(problemsOf([], { POSTRIDER_CONCURENCY: '1' }), [
    'unknown variable POSTRIDER_CONCURENCY; did you mean POSTRIDER_CONCURRENCY?',
  ]);
  configOf([], { POSTRIDER_SERVICE_HOST: '10.0.0.1', POSTRIDER_TOKEN: 'x', HOME: 'x' });
});

test('the POSTRIDER_PORT of a Kubernetes service link is refused, and the error names the cause', () => {
  assert.match(problemsOf([], { POSTRIDER_PORT: 'tcp://10.0.0.1:8411' })[0]!, /service link/);
});

test('a setting given twice is a problem, except for a list, which grows', () => {
  assert.deepEqual(problemsOf(['--port', '1', '--port', '2']), ['--port is given more than once']);
  const { allowCidr } = configOf(['--allow-cidr', '10.0.0.0/8,192.168.0.0/16', '--allow-cidr=fd00::/8']);
  assert.deepEqual(allowCidr, ['10.0.0.0/8', '192.168.0.0/16', 'fd00::/8']);
});

test('token create needs either --admin or --scope', () => {
  const either = 'give --admin for a token that may do everything, or --scope with its scopes, but not both';
  for (const argv of [[], ['--admin', '--scope', 'read'], ['--admin=false']]) {
    assert.deepEqual(problemsOf(argv, {}, 'token create'), [either]);
  }
  assert.deepEqual(problemsOf(['--scope', 'write,own'], {}, 'token create').slice(0, 2), [
    '--scope: "write" is not one of publish, read, manage, admin',
    '--scope: "own" is not one of publish, read, manage, admin',
  ]);
  assert.deepEqual(configOf(['--scope=admin', '--scope=read'], {}, 'token create').scope, ['read', 'admin']);
  assert.deepEqual(problemsOf(['--admin', '--port', '1'], {}, 'token create'), [
    'unknown flag --port; --help lists all',
  ]);
});

test('an ambiguous address range is refused', () => {
  for (const cidr of ['10.1.2.3/8', '0x0a.0.0.0/8', '010.0.0.0/8', '10/8', 'fd00::1/8', 'fe80::%eth0/64']) {
    assert.equal(problemsOf(['--allow-cidr', cidr]).length, 1, cidr);
  }
  for (const cidr of ['10.0.0.1', '::1', '::ffff:10.0.0.0/104', '', 'localhost/8', '10.0.0.0/-1']) {
    assert.equal(problemsOf([`--allow-cidr=10.0.0.0/8,${cidr}`]).length, 1, cidr);
  }
  for (const cidr of ['0.0.0.0/0', '127.0.0.0/8', '10.0.0.1/32', '::/0', '::1/128', 'FD00:0::/8']) {
    assert.deepEqual(configOf(['--allow-cidr', cidr]).allowCidr, [cidr]);
  }
});

test('--help works for every command and lists every setting', () => {
  for (const command of COMMANDS) {
    for (const argv of [['--help'], ['--port', 'x', '-h']]) {
      const result = parseConfig(command, argv, {});
      assert.ok('help' in result);
      for (const key of SETTING_KEYS) {
        const isIts = SETTINGS[key].commands.includes(command);
        const entry = new RegExp(`\n  --${SETTINGS[key].flag}[ \n]`);
        assert.equal(entry.test(result.help), isIts, `${command}: ${key}`);
        assert.equal(result.help.includes(`${environmentName(SETTINGS[key].flag)}.`), isIts, `${command}: ${key}`);
      }
      assert.ok(result.help.split('\n').every((line) => line.length <= 100));
    }
  }
});

test('flags and variables have one name each', () => {
  const flags = SETTING_KEYS.map((key) => SETTINGS[key].flag);
  assert.equal(new Set(flags).size, flags.length);
  for (const flag of flags) assert.match(flag, /^[a-z]+(?:-[a-z]+)*$/);
});

test('the generated pages of docs/ are up to date', () => {
  const script = join(import.meta.dirname, '..', 'scripts', 'generate-docs.ts');
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});

test('a manual clock is for dev, and has a store of its own unless a directory is named', () => {
  const manual = ['--clock', 'manual'];
  assert.equal(configOf(manual, {}, 'dev').data, TEMPORARY_DATA);
  assert.equal(configOf([...manual, '--data', 'there'], {}, 'dev').data, 'there');
  assert.equal(configOf([], { POSTRIDER_CLOCK: 'manual', POSTRIDER_DATA: 'there' }, 'dev').data, 'there');
  assert.match(problemsOf([...manual, '--store', 'postgres://me@localhost/db'], {}, 'dev').join(), /--clock manual/);
  assert.match(problemsOf(manual, {}, 'serve').join(), /--clock/);
  assert.equal(configOf([], { POSTRIDER_CLOCK: 'manual' }, 'serve').clock, 'real');
});
