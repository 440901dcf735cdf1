// Builds the Dockerfile with buildah, on images made from packages of Debian, and runs it with podman as
// docs/deployment.md says: read-only, without rights, stopped while it delivers, and started again on the same volume.
// With --storage <folder> the images stay there, and the next run is faster.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BUILD_IMAGE, makeBaseImages, npmFolderOf, RUNTIME_IMAGE } from './image-base.ts';

const ROOT = join(import.meta.dirname, '..');
const IMAGE = 'localhost/postrider:check';
const BYTES_MAX = 200e6;
const VOLUME = 'postrider-check-data';
/** Numbers of open files and of processes that every machine can give. */
const LIMITS = ['--ulimit', 'nofile=8192:8192', '--ulimit', 'nproc=4096:4096'];
const FEW_RIGHTS = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
const TRIES_MAX = 600;
const TRY_AGAIN_MS = 100;

const onPath = (name: string) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)));

/** Why it cannot be run here, or null. */
function whyNot(): string | null {
  if (process.platform !== 'linux') return 'buildah and podman run on Linux';
  if (npmFolderOf(process.env) === null) return 'start it with npm run check:image';
  const missing = ['buildah', 'podman', 'mmdebstrap', 'dpkg-deb', 'apt-get'].filter((name) => !onPath(name));
  return missing.length === 0
    ? null
    : `${missing.join(', ')} not installed (Debian: apt-get install ${missing.join(' ')})`;
}

class Engine {
  readonly #storage: readonly string[];
  readonly #runtime: readonly string[];

  constructor(folder: string) {
    const at = (driver: string) => [
      ...['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', driver],
    ];
    const isLayered = spawnSync('buildah', [...at('overlay'), 'from', '--name', 'try', 'scratch']).status === 0;
    if (isLayered) spawnSync('buildah', [...at('overlay'), 'rm', 'try']);
    else rmSync(folder, { recursive: true, force: true });
    this.#storage = at(isLayered ? 'overlay' : 'vfs');
    // crun, which Debian installs, refuses machines with two kinds of control groups.
    this.#runtime = onPath('runc') ? ['--runtime', 'runc'] : [];
  }

  readonly buildah = (...args: string[]): string => run('buildah', [...this.#storage, ...args]);

  has(image: string): boolean {
    return this.tried('image', 'exists', image).status === 0;
  }

  /** With its steps kept, a later build repeats only what has changed. */
  build(isKept: boolean): void {
    const images = [`BUILD_IMAGE=${BUILD_IMAGE}`, `RUNTIME_IMAGE=${RUNTIME_IMAGE}`];
    execFileSync(
      'buildah',
      [
        ...[...this.#storage, 'build', '--isolation', 'chroot', '--network', 'host', '--format', 'docker'],
        `--layers=${isKept}`,
        ...['--pull=false', ...images.flatMap((each) => ['--build-arg', each]), '--tag', IMAGE, ROOT],
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
  }

  readonly podman = (...args: string[]): string => run('podman', [...this.#runtime, ...this.#storage, ...args]);

  /** The exit code, and what was printed. */
  tried(...args: string[]): { readonly status: number | null; readonly text: string } {
    const { status, stdout, stderr } = spawnSync('podman', [...this.#runtime, ...this.#storage, ...args], {
      encoding: 'utf8',
    });
    return { status, text: `${stdout}${stderr}` };
  }

  /** Stops a container as `docker stop` does, beside what this process does meanwhile. */
  async stop(name: string): Promise<void> {
    const stopping = spawn('podman', [...this.#runtime, ...this.#storage, 'stop', '--time', '45', name], {
      stdio: 'ignore',
    });
    const [code] = (await once(stopping, 'exit')) as [number | null];
    assert.equal(code, 0, 'podman stop');
  }
}

function run(program: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 });
  assert.equal(status, 0, `${program} ${args.slice(6).join(' ')}: ${error ?? stderr}`);
  return stdout.trim();
}

async function until<T>(what: string, look: () => Promise<T | null> | T | null): Promise<T> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const found = await look();
    if (found !== null) return found;
    await pause(TRY_AGAIN_MS);
  }
  throw new Error(`gave up waiting: ${what}`);
}

/** Holds each answer until it is told. */
async function startReceiver() {
  const waiting: ServerResponse[] = [];
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    request.resume();
    waiting.push(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    count: () => count,
    answer: () => {
      for (const response of waiting.splice(0)) response.end('ok');
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

function checkSize(engine: Engine): void {
  const bytes = Number(engine.podman('image', 'inspect', '--format', '{{.Size}}', IMAGE));
  const base = Number(engine.podman('image', 'inspect', '--format', '{{.Size}}', RUNTIME_IMAGE));
  const megabytes = (size: number) => `${Math.round(size / 1e6)} MB`;
  assert.ok(bytes > base && bytes <= BYTES_MAX, `the image has ${megabytes(bytes)}, at most ${megabytes(BYTES_MAX)}`);
  say(`size: ${megabytes(bytes)}, of these ${megabytes(base)} are the image it is built on`);
}

function say(text: string): void {
  process.stdout.write(`check:image: ${text}\n`);
}

class Container {
  readonly #engine: Engine;
  readonly name: string;
  readonly url: string;

  constructor(engine: Engine, name: string, port: number) {
    this.#engine = engine;
    this.name = name;
    this.url = `http://127.0.0.1:${port}`;
    // The network of the machine, because the receiver is on it too.
    engine.podman(
      ...['run', '--detach', '--init', '--name', name, ...FEW_RIGHTS, ...LIMITS, '--network', 'host'],
      ...[
        '--env',
        `POSTRIDER_PORT=${port}`,
        '--env',
        'POSTRIDER_ALLOW_CIDR=127.0.0.0/8',
        '--volume',
        `${VOLUME}:/data`,
        IMAGE,
      ],
    );
  }

  async ready(): Promise<void> {
    await until(`${this.name} is ready`, async () => {
      const answer = await fetch(`${this.url}/readyz`).catch(() => null);
      if (answer?.ok) return true;
      assert.equal(this.inspect('{{.State.Running}}'), 'true', this.#engine.tried('logs', this.name).text);
      return null;
    });
  }

  inspect(format: string): string {
    return this.#engine.podman('inspect', '--format', format, this.name);
  }

  exec(...args: string[]) {
    return this.#engine.tried('exec', this.name, ...args);
  }

  logs(): string {
    return this.#engine.tried('logs', this.name).text;
  }

  async api(token: string, method: string, path: string): Promise<{ status: number; body: Record<string, unknown> }> {
    const answer = await fetch(`${this.url}${path}`, { method, headers: { Authorization: `Bearer ${token}` } });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  }
}

/** What it may not do, and what it may. */
function checkRights(container: Container): void {
  const script = "const fs = require('node:fs'); fs.writeFileSync(process.argv[1], 'x'); fs.rmSync(process.argv[1])";
  const write = (path: string) => container.exec('/usr/local/bin/node', '-e', script, path);
  for (const path of ['/x', '/opt/postrider/x', '/usr/local/bin/x']) {
    const { status, text } = write(path);
    assert.notEqual(status, 0, `${path} was written`);
    assert.match(text, /EROFS/, path);
  }
  const own = write('/data/x');
  assert.equal(own.status, 0, own.text);
  const { text: ids } = container.exec('/usr/local/bin/node', '-p', '[process.getuid(), process.getgid()].join(":")');
  assert.equal(ids.trim(), '10001:10001');
  assert.notEqual(container.exec('/bin/sh', '-c', 'true').status, 0, 'there is a shell');
  say('runs as 10001:10001 with a read-only root, writes to /data alone, and has no shell');
}

function checkHealth(engine: Engine, container: Container): void {
  const health = engine.tried('healthcheck', 'run', container.name);
  assert.equal(health.status, 0, health.text);
  // The same check where nothing listens.
  const check = JSON.parse(
    engine.podman('image', 'inspect', '--format', '{{json .Config.Healthcheck.Test}}', IMAGE),
  ) as string[];
  const away = engine.tried('exec', '--env', 'POSTRIDER_PORT=1', container.name, ...check.slice(1));
  assert.equal(away.status, 1, away.text);
  say('its health check passes, and fails where nothing listens');
}

async function checkLife(engine: Engine): Promise<void> {
  const receiver = await startReceiver();
  try {
    const port = await freePort();
    const first = new Container(engine, 'postrider-check-1', port);
    await first.ready();
    const token = await until('the token is in the log', () => /"token":"(pr_[^"]+)"/.exec(first.logs())?.[1] ?? null);
    checkRights(first);
    checkHealth(engine, first);
    const made = first.exec('postrider', 'token', 'create', '--admin', '--json');
    assert.equal(made.status, 0, made.text);
    const second = (JSON.parse(made.text.split('\n')[0]!) as { token: string }).token;
    const accepted = await first.api(second, 'POST', `/v2/publish/${receiver.url}`);
    const messageId = String(accepted.body.messageId);
    assert.ok(accepted.status === 200 || accepted.status === 201 || accepted.status === 202, JSON.stringify(accepted));
    await until('the delivery arrives', () => (receiver.count() === 1 ? true : null));
    const stopped = engine.stop(first.name);
    await until('it drains', () => (/Finishing the attempts in flight/.test(first.logs()) ? true : null));
    // Cut off, the attempt would be made a second time by the next container.
    receiver.answer();
    await stopped;
    assert.equal(first.inspect('{{.State.ExitCode}}'), '0');
    say('a stop waits for the attempt in flight, and exits with 0');
    engine.podman('rm', first.name);
    const again = new Container(engine, 'postrider-check-2', port);
    await again.ready();
    const { body } = await again.api(token, 'GET', `/v2/messages/${messageId}`);
    assert.equal(body.state, 'DELIVERED', JSON.stringify(body));
    assert.doesNotMatch(again.logs(), /"token":"pr_/, 'a first token was made a second time');
    assert.equal(receiver.count(), 1, 'it was delivered twice');
    say('a new container on the same volume knows the token and the message, and delivers nothing twice');
    await engine.stop(again.name);
    assert.equal(again.inspect('{{.State.ExitCode}}'), '0');
  } finally {
    receiver.close();
  }
}

async function main(): Promise<void> {
  const why = whyNot();
  if (why !== null) {
    say(`skipped: ${why}`);
    return;
  }
  const { values } = parseArgs({ options: { storage: { type: 'string' } } });
  const isKept = values.storage !== undefined;
  const folder = values.storage ?? mkdtempSync(join(tmpdir(), 'postrider-engine-'));
  const engine = new Engine(folder);
  try {
    if (!engine.has(BUILD_IMAGE)) makeBaseImages(engine.buildah, npmFolderOf(process.env)!);
    engine.build(isKept);
    checkSize(engine);
    await checkLife(engine);
  } finally {
    engine.tried('rm', '--all', '--force', '--time', '0');
    engine.tried('volume', 'rm', '--all', '--force');
    if (!isKept) rmSync(folder, { recursive: true, force: true });
  }
}

await main();
