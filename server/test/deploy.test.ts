// The files for deployments agree with the program: each variable is a setting, each path a route, each port, time and size
// the one in the tables. systemd and nginx read their own files where they are installed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { EXIT } from '../../cli/src/frame/exit-codes.ts';
import { environmentName, parseConfig, SETTINGS, type Setting } from '../src/node/settings/config.ts';
import { eachMax } from '../src/rules/limits/budgets.ts';
import { lacks, programPath } from './support/machine.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SERVE = Object.values<Setting<unknown>>(SETTINGS).filter(({ commands }) => commands.includes('serve'));
const VARIABLES: ReadonlySet<string> = new Set(SERVE.map(({ flag }) => environmentName(flag)));
const PORT = SETTINGS.port.defaults.serve;
const STOP_SECONDS_MIN = SETTINGS.drainMs.defaults.serve / 1000 + 10;

function read(...path: string[]): string {
  return readFileSync(join(ROOT, ...path), 'utf8');
}

function assertSettings(names: Iterable<string>, where: string): void {
  for (const name of names) assert.ok(VARIABLES.has(name), `${where}: ${name} is no setting of serve`);
}

function assertRoute(path: string): void {
  const folder = join(ROOT, 'server', 'src', 'inbound', 'api', 'routes');
  const files = globSync('**/*.ts', { cwd: folder });
  const isRoute = files.some((file) => readFileSync(join(folder, file), 'utf8').includes(`path: '${path}'`));
  assert.ok(isRoute, `${path} is no route`);
}

function all(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1]!);
}

function one(text: string, pattern: RegExp): string {
  const [found, ...others] = all(text, pattern);
  assert.ok(found !== undefined && others.length === 0, `${pattern} is there ${others.length + (found ? 1 : 0)} times`);
  return found;
}

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'deploy-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

function runs(program: string, ...args: string[]): string {
  const { error, status, stdout, stderr } = spawnSync(programPath(program)!, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${error ?? ''}${stdout}${stderr}`);
  return `${stdout}${stderr}`;
}

suite('the unit of systemd', () => {
  const unit = read('deploy', 'systemd', 'postrider.service');

  test('names settings, and stops and restarts as the program does', () => {
    assertSettings([...all(unit, /^Environment=(\w+)=/gm), ...all(unit, /(POSTRIDER_\w+)/g)], 'unit');
    assert.equal(one(unit, /^ExecStart=(.*)$/gm), 'postrider serve');
    assert.ok(Number(one(unit, /^TimeoutStopSec=(\d+)s$/gm)) > STOP_SECONDS_MIN);
    assert.ok(Number(one(unit, /^LimitNOFILE=(\d+)$/gm)) >= 8192);
    assert.equal(one(unit, /^RestartPreventExitStatus=(.*)$/gm), `${EXIT.usage} ${EXIT.outdated}`);
    assert.match(
      read('deploy', 'systemd', 'postrider.sysusers.conf'),
      new RegExp(`^u ${one(unit, /^User=(.*)$/gm)} `, 'm'),
    );
  });

  test('systemd understands every line', { skip: lacks('systemd-analyze') }, (t) => {
    const file = join(folderFor(t), 'postrider.service');
    // The command is not installed where this runs.
    writeFileSync(file, unit.replace('ExecStart=postrider', `ExecStart=${process.execPath}`));
    // It ends with 0 when it leaves out a line that it does not understand. Other units may have faults of their own.
    assert.doesNotMatch(runs('systemd-analyze', 'verify', '--man=no', file), /postrider\.service/);
  });
});

suite('the image', () => {
  const dockerfile = read('Dockerfile');
  const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));

  test('has settings, port, health check and user', () => {
    assertSettings(all(dockerfile, /(POSTRIDER_\w+)/g), 'Dockerfile');
    assert.equal(one(last, /^EXPOSE (\d+)$/gm), String(PORT));
    assert.equal(one(last, /POSTRIDER_PORT \|\| (\d+)/g), String(PORT));
    assertRoute(one(last, /\}(\/\w+)`\)/g));
    assert.match(one(last, /^USER (.*)$/gm), /^[1-9]\d+:[1-9]\d+$/);
    assert.equal(one(last, /^STOPSIGNAL (.*)$/gm), 'SIGTERM');
    assert.equal(one(last, /^VOLUME \["(.*)"\]$/gm), one(last, /POSTRIDER_DATA=(\S+)/g));
    assert.deepEqual(JSON.parse(one(last, /^CMD (.*)$/gm)), ['serve']);
    assert.doesNotMatch(last, /^RUN /m, 'an image without a shell can run nothing while it is built');
    for (const argument of all(dockerfile, /^FROM \$\{(\w+)\}/gm))
      assert.match(dockerfile, new RegExp(`^ARG ${argument}=`, 'm'));
  });

  test('is not checked where the programs for it are missing, and that is said', (t) => {
    const env = { PATH: folderFor(t), npm_execpath: join(ROOT, 'none', 'bin', 'npm-cli.js') };
    const script = join(ROOT, 'packaging', 'check-image.ts');
    const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8', env });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^check:image: skipped: (?:buildah, podman, mmdebstrap|.* run on Linux)/);
  });

  test('is built by a script that there is', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const name of all(dockerfile, /npm run ([\w:-]+)/g)) assert.ok(Object.hasOwn(scripts, name), name);
  });
});

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly build?: { readonly context: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly stop_grace_period?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks?: Readonly<Record<string, unknown>>;
}

suite('compose', () => {
  const { version } = JSON.parse(read('server', 'package.json')) as { version: string };
  for (const file of ['compose.yaml', 'compose.three-nodes.yaml']) {
    const { services, volumes, networks = {} } = parse(read('deploy', 'docker', file), { merge: true }) as Compose;
    const ours = Object.values(services).filter(({ image }) => image.startsWith('postrider:'));

    test(`${file}: the nodes run the image with settings that are understood, and few rights`, () => {
      assert.ok(ours.length > 0);
      assert.equal(ours.filter(({ build }) => build).length, 1, 'the image is built once');
      for (const each of ours) {
        assert.equal(each.image, `postrider:${version}`);
        const [command, ...flags] = each.command ?? [];
        assert.equal(command, 'serve');
        const given = Object.entries(each.environment ?? {});
        assertSettings(new Map(given).keys(), file);
        const env = Object.fromEntries(given.map(([name, value]) => [name, value.replace(/\$\{[^}]*\}/, 'secret')]));
        const parsed = parseConfig('serve', flags, env);
        assert.ok('config' in parsed, JSON.stringify(parsed));
        assert.ok(Number.parseInt(each.stop_grace_period ?? '', 10) > STOP_SECONDS_MIN);
        assert.equal(each.read_only, true);
        assert.deepEqual(each.cap_drop, ['ALL']);
      }
    });

    test(`${file}: what a service names is there`, () => {
      for (const [name, each] of Object.entries(services)) {
        const needed = each.depends_on ?? [];
        for (const other of Array.isArray(needed) ? needed : Object.keys(needed))
          assert.ok(Object.hasOwn(services, other));
        for (const other of each.networks ?? []) assert.ok(Object.hasOwn(networks, other), `${name}: ${other}`);
        for (const volume of each.volumes ?? []) {
          const [from] = volume.split(':');
          if (from!.startsWith('./')) read('deploy', 'docker', from!);
          else assert.ok(Object.hasOwn(volumes, from!), `${name}: ${volume}`);
        }
        for (const port of each.ports ?? []) assert.equal(port, `127.0.0.1:${PORT}:${PORT}`);
      }
    });
  }

  for (const file of ['compose.yaml', 'compose.three-nodes.yaml']) {
    test(`${file}: docker-compose finds nothing wrong by its schema`, { skip: lacks('docker-compose') }, (t) => {
      const folder = folderFor(t);
      // Its first version, the one that Debian has, knows all of it but the name of the project.
      writeFileSync(join(folder, file), read('deploy', 'docker', file).replace(/^name: .*$/m, ''));
      writeFileSync(join(folder, '.env'), 'POSTRIDER_DB_PASSWORD=secret\n');
      runs('docker-compose', '--project-directory', folder, '--file', join(folder, file), 'config', '--quiet');
    });
  }

  test('the proxy of three nodes sends to each of them', () => {
    const { services } = parse(read('deploy', 'docker', 'compose.three-nodes.yaml'), { merge: true }) as Compose;
    const nodes = Object.keys(services).filter((name) => services[name]!.image.startsWith('postrider:'));
    const addresses = one(read('deploy', 'docker', 'Caddyfile'), /reverse_proxy (.*) \{/g);
    assert.equal(addresses, nodes.map((name) => `${name}:${PORT}`).join(' '));
  });
});

suite('proxies', () => {
  const bodyMebibytes = SETTINGS.requestBytesMax.defaults.serve / 1024 ** 2;
  const nginx = read('deploy', 'proxy', 'nginx.conf');

  test('nginx has the sizes, times and paths of the service', () => {
    assert.equal(one(nginx, /^ *client_max_body_size (.*);$/gm), `${bodyMebibytes}m`);
    assert.ok(Number(one(nginx, /^ *keepalive_timeout (\d+)s;$/gm)) < eachMax('idleSeconds'));
    assert.ok(Number(one(nginx, /^ *proxy_read_timeout (\d+)s;$/gm)) > eachMax('requestSeconds'));
    for (const path of all(nginx, /location = (\S+)/g)) assertRoute(path);
    assert.match(nginx, /location = \/v2\/events\/stream \{[^}]*proxy_buffering off;/);
    assert.deepEqual(
      new Set(all(nginx, /proxy_pass (.*);/g)),
      new Set(['http://postrider']),
      'a path would be rewritten',
    );
    assert.match(nginx, new RegExp(`server 127\\.0\\.0\\.1:${PORT};`));
    assert.doesNotMatch(nginx.replaceAll(/#.*/g, ''), /non_idempotent|http_503/, 'a publish would be sent twice');
  });

  test('nginx understands every line', { skip: lacks('nginx') }, (t) => {
    const folder = folderFor(t);
    // No certificate, and no port that needs rights or that another program may use.
    const sites = nginx
      .replaceAll(/^ *ssl_certificate.*$/gm, '')
      .replaceAll(/^ *listen \[.*$/gm, '')
      .replaceAll(/listen (\d+)(?: ssl)?/g, (_, port: string) => `listen unix:${folder}/${port}`);
    writeFileSync(join(folder, 'sites.conf'), sites);
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    const http = `http { access_log off; ${paths.join(' ')} include ${folder}/sites.conf; }`;
    writeFileSync(join(folder, 'nginx.conf'), `pid ${folder}/pid; error_log stderr; events {} ${http}`);
    runs('nginx', '-t', '-q', '-e', 'stderr', '-c', join(folder, 'nginx.conf'));
  });

  for (const path of [join('proxy', 'Caddyfile'), join('docker', 'Caddyfile')]) {
    test(`${path} has the sizes, times and paths of the service`, () => {
      const caddy = read('deploy', path);
      assert.equal(one(caddy, /max_size (.*)$/gm), `${bodyMebibytes}MiB`);
      assert.ok(Number(one(caddy, /keepalive (\d+)s$/gm)) < eachMax('idleSeconds'));
      assertRoute(one(caddy, /health_uri (.*)$/gm));
      assertRoute(one(caddy, /@metrics path (.*)$/gm));
      assert.equal(one(caddy, /flush_interval (.*)$/gm), '-1');
      for (const port of all(caddy, /reverse_proxy .*?:(\d+)/g)) assert.equal(port, String(PORT));
    });
  }
});

suite('the chart', () => {
  const folder = join('deploy', 'helm', 'postrider');
  const values = parse(read(folder, 'values.yaml')) as Record<string, unknown>;
  const schema = JSON.parse(read(folder, 'values.schema.json')) as {
    readonly properties: { readonly settings: { readonly propertyNames: { readonly enum: readonly string[] } } };
  };
  const templates = readdirSync(join(ROOT, folder, 'templates')).map((file) => ({
    file,
    text: read(folder, 'templates', file).replaceAll(/\{\{\/\*.*?\*\/\}\}/g, ''),
  }));
  const whole = templates.map(({ text }) => text).join('\n');

  test('its schema takes its values, and refuses several nodes over one volume and unknown names', () => {
    const isValid = new Ajv({ strict: false }).compile(schema);
    const store = { existingSecret: 'database', key: 'url', url: '' };
    assert.ok(isValid(values), JSON.stringify(isValid.errors));
    assert.ok(isValid({ ...values, replicas: 3, store }), JSON.stringify(isValid.errors));
    assert.ok(!isValid({ ...values, replicas: 3 }));
    assert.ok(!isValid({ ...values, replica: 1 }));
    assert.ok(!isValid({ ...values, settings: { POSTRIDER_LOG_LEVELS: 'warn' } }));
    assert.ok(!isValid({ ...values, persistence: { size: '10 GB', storageClass: '' } }));
    assert.ok(!isValid({ ...values, serviceMonitor: { enabled: true, interval: '30', labels: {} } }));
    const metrics = { port: 9411, existingSecret: 'scrapes', key: 'token' };
    assert.ok(isValid({ ...values, metrics }), JSON.stringify(isValid.errors));
    assert.ok(!isValid({ ...values, metrics: { ...metrics, port: PORT } }), 'the port of the API');
  });

  test('its settings are those of serve, without the ones that it sets itself', () => {
    const given = ['PORT', 'HOST', 'DATA', 'STORE', 'DRAIN', 'JSON', 'METRICS_PORT', 'METRICS_TOKEN', 'ADMIN_TOKEN'];
    const own = given.map((name) => `POSTRIDER_${name}`);
    const names = schema.properties.settings.propertyNames.enum;
    assert.deepEqual(new Set([...names, ...own]), VARIABLES);
    assertSettings(all(whole, /- name: (POSTRIDER_\w+)/g), 'chart');
  });

  test('its templates use values and parts that there are, and close what they open', () => {
    for (const path of all(whole, /\.Values\.([\w.]+)/g)) {
      const found = path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], values);
      assert.notEqual(found, undefined, `values.yaml has no ${path}`);
    }
    const parts = new Set(all(whole, /define "([^"]+)"/g));
    for (const part of all(whole, /include "([^"]+)"/g)) assert.ok(parts.has(part), part);
    for (const { file, text } of templates) {
      const opened = all(text, /\{\{-? (if|with|range|define) /g).length;
      assert.equal(all(text, /\{\{-? (end) /g).length, opened, file);
    }
  });

  test('its templates are YAML, with the port, probes and user of the image', () => {
    for (const { file, text } of templates) {
      const pieces = text
        .split(/^\{\{- define .*$/m)
        .filter((piece) => file.endsWith('.yaml') || piece.startsWith('\nmetadata:'));
      for (const piece of pieces) {
        const plain = piece.replaceAll(/^ *\{\{-.*\}\}$/gm, '').replaceAll(/\{\{.*?\}\}/g, 'x');
        assert.equal(typeof parse(plain), 'object', file);
      }
    }
    for (const path of all(whole, /^ *path: (.*)$/gm)) assertRoute(path);
    assert.equal(one(whole, /containerPort: (\d+)/g), String(PORT));
    assert.equal(one(whole, /runAsUser: (\d+)/g), one(read('Dockerfile'), /^USER (\d+):/gm));
    assert.equal((values.drainSeconds as number) * 1000, SETTINGS.drainMs.defaults.serve);
    const { appVersion } = parse(read(folder, 'Chart.yaml')) as { appVersion: string };
    assert.equal(appVersion, (JSON.parse(read('server', 'package.json')) as { version: string }).version);
  });
});
