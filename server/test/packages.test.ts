// The packages as a user gets them: built, packed, and installed into an empty folder without a network. Then the command
// runs by its name and as a single file, and programs in JavaScript and TypeScript use what they import. What runs also runs
// on the other versions of Node.js that the package promises.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { buildPackages } from '../../packaging/build.ts';
import { installed as installedOnce } from '../../packaging/installed.ts';
import { folderOfNode, majorsFor } from '../../packaging/node-versions.ts';
import { buildSingleFile } from '../../packaging/single-file.ts';
import { part } from './support/campaign.ts';
import { chromiumPath, lacks } from './support/machine.ts';
import { waitFor } from './support/wait.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const NODE = dirname(process.execPath);
const TSC = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const MB = 1_000_000;

/** What may be in a package; everything else is a mistake. */
const OF_SERVER = [
  /^(?:package\.json|README\.md|LICENSE|THIRD-PARTY-LICENSES\.md|bin\/postrider\.js|dist\/index\.(?:d\.ts|d\.cts|cjs))$/,
  /^dist\/(?:[\w-]+|cli\/main|node\/lane|store\/sqlite\/(?:files|thread)\/(?:backup-|checkpointer-)?thread)\.js(?:\.map)?$/,
  /^dist\/store\/(?:sqlite|postgres)\/migrations\/\d{4}-[a-z-]+\.sql$/,
  /^dist\/console\/(?:index\.html|icon\.svg|theme\.js|licenses\.md|assets\/[\w-]+\.(?:js|css))$/,
];
const OF_SDK = [
  /^(?:package\.json|README\.md|LICENSE)$/,
  /^dist\/(?:adapters\/)?[a-z0-9-]+\.(?:js|js\.map|cjs|d\.ts|d\.cts)$/,
];

/** In JavaScript: the service in the program's own process, called through the SDK. */
const PROGRAM = `
import { startDev } from 'postrider';
import { Postrider } from 'postrider-sdk';
import { startPostrider } from 'postrider-sdk/testing';
import { receive } from 'postrider-sdk/workers';
const service = await startDev(['--port', '0', '--data', 'data-of-program', '--log-level', 'silent']);
const postrider = new Postrider({ baseUrl: service.url, token: service.token });
const { messageId } = await postrider.publish({ url: service.url + '/dev/sink/ok', json: 'hello' });
const message = await postrider.waitFor(messageId);
const receiver = receive({ keys: ['sig_1'] }, () => {});
const { status } = await receiver(new Request('http://localhost/', { method: 'POST', body: 'forged' }));
const refused = await startDev(['--prot', '0']).catch((error) => error.message);
await service.close();
const inside = await startPostrider({ inProcess: true });
const { clock } = await inside.clock.advance('1h');
await inside.close();
console.log(JSON.stringify({ state: message.state, status, refused, clock }));
`;

/** In TypeScript: what is right compiles, and what is wrong does not. */
const TYPED = `
import { type DevService, startDev } from 'postrider';
import { type Client, createClient, type MessageWithAttempts, Postrider } from 'postrider-sdk';
import { receive } from 'postrider-sdk/hono';
import { type Verdict, verifySignature } from 'postrider-sdk/receiver';
import { startPostrider, type TestClock } from 'postrider-sdk/testing';
export async function use(): Promise<MessageWithAttempts> {
  const service: DevService = await startDev(['--port', '0']);
  const client: Client = createClient({ baseUrl: service.url, token: service.token });
  // @ts-expect-error: a setting that does not exist
  await client.publish({ destination: 'https://example.com', settings: { Dealy: '1s' } });
  const postrider = new Postrider({ baseUrl: service.url, token: service.token });
  // @ts-expect-error: an option that does not exist
  await postrider.publish({ url: 'https://example.com', retires: 3 });
  const [slot] = await postrider.batch([{ url: 'https://example.com', delay: '5m' }]);
  if (slot.isAccepted) console.log(slot.messageId, receive({ keys: [] }, (delivery) => console.log(delivery.json())));
  // @ts-expect-error: a number is no token
  createClient({ baseUrl: service.url, token: 7 });
  const verdict: Verdict = await verifySignature({ signature: '', body: '', keys: [] });
  if (!verdict.isValid) console.log(verdict.reason);
  await service.close();
  await using tested = await startPostrider({ flags: ['--log-level', 'silent'] });
  const clock: TestClock = tested.clock;
  const { now, underWay } = await clock.advance('1h');
  // @ts-expect-error: a clock is not moved by a date
  await clock.advance(new Date(now));
  console.log(underWay.length);
  return client.getMessage('msg_1');
}
`;

/** The same classes, whether they are imported or required. */
const REQUIRED = `
import { Postrider, PostriderError } from 'postrider-sdk';
import { startPostrider } from 'postrider-sdk/testing';
import { startDev } from 'postrider';
void (async () => {
  const imported = await import('postrider-sdk');
  console.log(Object.is(imported.Postrider, Postrider), PostriderError.name, typeof startPostrider, typeof startDev);
})();
`;

suite('the packages, installed', () => {
  let folder = '';
  let app = '';

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'postrider-packages-'));
    app = join(folder, 'app');
    mkdirSync(app);
    await buildPackages(folder);
    npm(folder, 'pack', './postrider', './postrider-sdk');
    npm(app, 'install', ...globSync('*.tgz', { cwd: folder }).map((name) => join('..', name)));
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Without the settings of the npm that runs the tests, and with nothing but what is in the folder. */
  function environment(folderOf = NODE): NodeJS.ProcessEnv {
    const kept = Object.entries(process.env).filter(([name]) => !/^(?:npm_|POSTRIDER_|NODE_|INIT_CWD)/i.test(name));
    const PATH = [folderOf, process.env.PATH].join(delimiter);
    return { ...Object.fromEntries(kept), PATH, npm_config_cache: join(folder, 'cache'), npm_config_offline: 'true' };
  }

  function npm(cwd: string, command: string, ...args: string[]): void {
    execFileSync('npm', [command, '--silent', '--no-audit', '--no-fund', ...args], { cwd, env: environment() });
  }

  function node(file: string, folderOf = NODE): string {
    return execFileSync(join(folderOf, 'node'), [file], { cwd: app, env: environment(folderOf), encoding: 'utf8' });
  }

  const installed = (name: string) => join(app, 'node_modules', name);

  function filesOf(root: string): { path: string; bytes: number }[] {
    return globSync('**/*', { cwd: root, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({ path: path.slice(root.length + 1).replaceAll('\\', '/'), bytes: statSync(path).size }));
  }

  test('hold what runs and what the licences ask for, and nothing else', () => {
    for (const [name, allowed] of [
      ['postrider', OF_SERVER],
      ['postrider-sdk', OF_SDK],
    ] as const) {
      const paths = filesOf(installed(name)).map(({ path }) => path);
      assert.deepEqual(
        paths.filter((path) => !allowed.some((pattern) => pattern.test(path))),
        [],
      );
      for (const pattern of allowed)
        assert.ok(
          paths.some((path) => pattern.test(path)),
          `${name} has ${pattern}`,
        );
      const manifest = JSON.parse(readFileSync(join(installed(name), 'package.json'), 'utf8')) as object;
      for (const key of ['scripts', 'dependencies', 'devDependencies', 'private']) {
        assert.ok(!Object.hasOwn(manifest, key), `${name} has no ${key}`);
      }
    }
    for (const store of ['sqlite', 'postgres']) {
      const migrations = join('store', store, 'migrations');
      assert.deepEqual(
        readdirSync(join(installed('postrider'), 'dist', migrations)),
        readdirSync(join(ROOT, 'server', 'src', migrations)),
      );
    }
    const licences = readFileSync(join(installed('postrider'), 'THIRD-PARTY-LICENSES.md'), 'utf8');
    for (const name of ['fastify', 'undici', 'pg', 'react', 'uplot'])
      assert.match(licences, new RegExp(`^## ${name} `, 'm'));
  });

  test('are as large as the documents say', () => {
    const page = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8');
    const [, download, disk] = /download of at most ([\d.]+) MB[^.]*?at most ([\d.]+) MB on disk/.exec(page) ?? [];
    const onDisk = filesOf(join(app, 'node_modules')).reduce((sum, { bytes }) => sum + bytes, 0) / MB;
    const packed = statSync(join(folder, globSync('postrider-[0-9]*.tgz', { cwd: folder })[0]!)).size / MB;
    for (const [stated, measured] of [
      [Number(download), packed],
      [Number(disk), onDisk],
    ] as const) {
      assert.ok(measured <= stated && measured > stated * 0.8, `docs/operations.md says ${stated} MB: ${measured} MB`);
    }
    assert.ok(onDisk <= 12);
  });

  /** Starts `postrider dev` as this command, and uses what only an installation can lack: threads, migrations, the console. */
  async function useDev(t: TestContext, command: string, ...args: string[]): Promise<void> {
    const data = mkdtempSync(join(folder, 'data-'));
    const child = spawn(command, [...args, 'dev', '--port', '0', '--json', '--data', data], {
      cwd: app,
      env: environment(),
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    // The group: npx starts the command as a child of its own.
    const end = (signal: NodeJS.Signals) => process.kill(-child.pid!, signal);
    t.after(() => child.exitCode === null && end('SIGKILL'));
    const said = once(child.stdout!.setEncoding('utf8'), 'data') as Promise<[string]>;
    const [line = ''] = (await Promise.race([said, once(child, 'exit').then((): [string?] => [])])) as [string?];
    assert.match(line, /^\{/, 'it has started');
    const { api, token } = JSON.parse(line) as { api: string; token: string };
    const headers = { Authorization: `Bearer ${token}` };
    const ask = (path: string, init: RequestInit = {}) => fetch(`${api}${path}`, { headers, ...init });

    const accepted = await ask(`/v2/enqueue/q/${api}/dev/sink/ok`, { method: 'POST', body: 'hello' });
    const { messageId } = (await accepted.json()) as { messageId: string };
    await waitFor('the delivery', async () => {
      const { state } = (await (await ask(`/v2/messages/${messageId}`)).json()) as { state: string };
      return state === 'DELIVERED';
    });
    const page = await (await ask('/console/')).text();
    const script = /src="\.\/(assets\/[^"]+)"/.exec(page)?.[1];
    assert.equal((await ask(`/console/${script}`)).headers.get('Content-Type'), 'text/javascript; charset=utf-8');
    assert.equal((await ask('/openapi.json')).status, 200);

    const copy = join(data, '..', `${basename(data)}-copy.db`);
    execFileSync(command, [...args, 'backup', '--data', data, '--to', copy], { cwd: app, env: environment() });
    assert.ok(statSync(copy).size > 0);

    end('SIGTERM');
    await once(child, 'exit');
  }

  test('npx postrider dev accepts a message, delivers it, shows the console, and can be backed up', (t) =>
    useDev(t, 'npx', 'postrider'));

  test('the single file does the same, where there is nothing beside it', async (t) => {
    const file = join(mkdtempSync(join(folder, 'alone-')), 'postrider');
    renameSync(await buildSingleFile(folder), file);
    await useDev(t, file);
    assert.deepEqual(readdirSync(dirname(file)), ['postrider']);
  });

  function useProgram(folderOf = NODE): void {
    const name = `program-${basename(mkdtempSync(join(folder, 'run-')))}.mjs`;
    writeFileSync(join(app, name), PROGRAM.replace('data-of-program', `data-of-${name}`));
    const { state, status, refused, clock } = JSON.parse(node(name, folderOf)) as Record<string, unknown>;
    assert.deepEqual([state, status, clock], ['DELIVERED', 401, 'frozen']);
    assert.match(String(refused), /--port/);
  }

  test('a program in JavaScript starts a service and calls it', () => useProgram());

  for (const major of majorsFor('server', part !== 'whole')) {
    test(`the command and a program do the same on Node.js ${major}`, async (t) => {
      const folderOf = await folderOfNode(major);
      await useDev(t, join(folderOf, 'node'), join(installed('postrider'), 'bin', 'postrider.js'));
      useProgram(folderOf);
    });
  }

  /** The sample project and its tests, as they are in the repository, on the installed packages. */
  suite('the example for', () => {
    let runners = '';

    before(async () => {
      runners = join(await installedOnce(join(ROOT, 'sdk', 'test', 'installed', 'runners')), 'node_modules');
      cpSync(join(ROOT, 'sdk', 'examples'), join(app, 'examples'), { recursive: true });
      for (const runner of ['vitest', '@playwright/test']) {
        const link = join(app, 'examples', 'node_modules', runner);
        mkdirSync(dirname(link), { recursive: true });
        symlinkSync(join(runners, runner), link, 'junction');
      }
    });

    function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
      const cwd = join(app, 'examples');
      return spawnSync(command, args, { cwd, env: { ...environment(), ...env }, encoding: 'utf8' });
    }

    function passes(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
      const { status, stdout, stderr } = run(command, args, env);
      assert.equal(status, 0, stdout + stderr);
    }

    test('the test runner of Node.js passes', () => passes('node', ['--test', 'node-test/shop.test.js']));

    /** A busy machine must not be taken for a fault: by themselves the runners wait for ten or thirty seconds. */
    const PATIENCE_MS = 300_000;

    test('Vitest passes', () => {
      const patience = ['--hookTimeout', '--testTimeout'].map((flag) => `${flag}=${PATIENCE_MS}`);
      passes('node', [join(runners, 'vitest/vitest.mjs'), 'run', '--root', 'vitest', ...patience]);
    });

    test('Playwright passes', { skip: lacks('chromium') }, () => {
      const cli = join(runners, '@playwright/test/cli.js');
      passes('node', [cli, 'test', '-c', 'playwright', `--timeout=${PATIENCE_MS}`], { CHROMIUM_PATH: chromiumPath()! });
    });

    test('pytest passes', { skip: lacks('pytest') }, () => {
      // Without the plugins of this machine.
      const env = { PYTEST_DISABLE_PLUGIN_AUTOLOAD: '1' };
      passes('python3', ['-B', '-m', 'pytest', '-p', 'no:cacheprovider', 'pytest'], env);
    });
  });

  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ] as const) {
    test(`a program in TypeScript compiles strictly with moduleResolution ${moduleResolution}`, () => {
      writeFileSync(join(app, 'typed.mts'), TYPED);
      const flags = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--types', '', '--lib', 'es2023,dom'];
      const args = [TSC, ...flags, '--module', module, '--moduleResolution', moduleResolution, 'typed.mts'];
      execFileSync(process.execPath, args, { cwd: app, stdio: 'inherit' });
    });
  }

  test('a program in CommonJS compiles strictly, and requires what it compiled against', () => {
    writeFileSync(join(app, 'common.cts'), TYPED.replace('await using', 'const'));
    writeFileSync(join(app, 'run.cts'), REQUIRED);
    const flags = ['--strict', '--exactOptionalPropertyTypes', '--types', '', '--lib', 'es2023,dom'];
    const module = ['--module', 'node16', '--moduleResolution', 'node16'];
    execFileSync(process.execPath, [TSC, ...flags, ...module, 'common.cts', 'run.cts'], { cwd: app, stdio: 'inherit' });
    assert.equal(node('run.cjs').trim(), 'true PostriderError function function');
  });
});
