// Those who do the same job, or a part of it, as far as they run on this machine without a container. Their packages
// are installed when they are asked for, into a folder of their own; Redis is the one of the system.

import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import type { PostgresServer } from '../server/test/postgres/server.ts';
import { Child } from './child.ts';
import { wait } from './clock.ts';
import { BODY, type RequestShape } from './request.ts';
import {
  databaseBytes,
  HERE,
  makeFolder,
  postgresCpuMs,
  preloads,
  Running,
  type StartOptions,
  type Target,
} from './targets.ts';

const FOLDER = join(HERE, 'peers');
const INSTALLED = join(FOLDER, 'node_modules/.package-lock.json');
const READY_MS_MAX = 30_000;
/** A line for each message is no part of the job. */
const QUIET = { NODE_ENV: 'production', RESTATE_LOGGING: 'ERROR' };
/** Its default is 24, which looked slower here in a short trial. */
const RESTATE_PARTITIONS = '4';

export async function peers(server: PostgresServer): Promise<Target[]> {
  install();
  return [
    withRedis('BullMQ', 'everysec', (running, port, options) => running.front('bullmq.js', [port], options)),
    withRedis('BullMQ', 'always', (running, port, options) => running.front('bullmq.js', [port], options)),
    withRedis('Quirrel', 'everysec', startQuirrel),
    onPostgresServer('pg-boss', 'pg-boss.js', server),
    onPostgresServer('graphile-worker', 'graphile-worker.js', server),
    {
      name: 'Restate, with a relay',
      durability: 'fsync (its own log)',
      isPeer: true,
      start: startRestate,
    },
  ];
}

/** Again when the list of packages has changed since. Their scripts are not run: none is needed. */
function install(): void {
  const lock = statSync(join(FOLDER, 'package-lock.json')).mtimeMs;
  if (existsSync(INSTALLED) && statSync(INSTALLED).mtimeMs >= lock) return;
  process.stderr.write('installing the packages of the peers\n');
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: FOLDER, stdio: 'inherit' });
}

class Peer extends Running {
  /** Its processes that stand for a database. */
  readonly databases: Child[] = [];
  shapeOf: ((destination: string) => RequestShape) | null = null;
  server: PostgresServer | null = null;
  database = '';

  async front(file: string, argv: readonly string[], options: StartOptions): Promise<void> {
    const child = this.add(new Child([...preloads(options), join(FOLDER, file), ...argv], { cwd: FOLDER }));
    this.apis = [await child.says<string>('api')];
  }

  override shape(destination: string): RequestShape {
    return this.shapeOf?.(destination) ?? super.shape(destination);
  }

  override get databaseCpuMs(): number {
    if (this.server !== null) return postgresCpuMs(this.server);
    return this.databases.reduce((sum, child) => sum + child.cpuMs, 0);
  }

  override get rssBytes(): number {
    return this.databases.reduce((sum, child) => sum + child.rssBytes, super.rssBytes);
  }

  override async fileBytes(): Promise<number | null> {
    return this.server === null ? null : databaseBytes(this.server, this.database);
  }

  override async stop(): Promise<void> {
    for (const child of this.children.splice(0).toReversed()) await child.end();
    for (const child of this.databases) await child.end();
    await super.stop();
    if (this.server !== null) await this.server.dropDatabase(this.database);
  }
}

/** Stops what was started when the rest does not start. */
async function started(begin: (running: Peer) => Promise<void>): Promise<Peer> {
  const running = new Peer();
  try {
    await begin(running);
    return running;
  } catch (error) {
    await running.stop();
    throw error;
  }
}

function withRedis(
  name: string,
  flush: 'everysec' | 'always',
  begin: (running: Peer, port: string, options: StartOptions) => Promise<void>,
): Target {
  return {
    name: `${name} on Redis, appendfsync ${flush}`,
    durability: flush === 'always' ? 'fsync (AOF, always)' : 'in memory; fsync each second (AOF)',
    isPeer: true,
    start: (options = {}) =>
      started(async (running) => {
        const port = String(await freePort());
        const argv = ['--port', port, '--bind', '127.0.0.1', '--dir', running.folder, '--save', ''];
        const redis = new Child([...argv, '--appendonly', 'yes', '--appendfsync', flush], { command: 'redis-server' });
        running.databases.push(redis);
        await answers(redis, port);
        await begin(running, port, options);
      }),
  };
}

async function startQuirrel(running: Peer, redisPort: string, options: StartOptions): Promise<void> {
  await running.front('quirrel.js', [redisPort, String(await freePort())], options);
  // It pushes over HTTP itself and knows no headers of a message: they are left out.
  running.shapeOf = (destination) => ({
    path: `/queues/${encodeURIComponent(destination)}`,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ body: BODY, retry: [1000, 7000, 55_000] }),
    messages: 1,
  });
}

function onPostgresServer(name: string, file: string, server: PostgresServer): Target {
  return {
    name: `${name} on PostgreSQL`,
    durability: 'commit (fsync of the WAL)',
    isPeer: true,
    start: (options = {}) =>
      started(async (running) => {
        running.database = await server.createEmptyDatabase();
        running.server = server;
        await running.front(file, [server.url(running.database)], options);
      }),
  };
}

function startRestate(): Promise<Running> {
  return started(async (running) => {
    const relay = running.add(new Child([join(FOLDER, 'restate-relay.js')], { cwd: FOLDER, env: QUIET }));
    const relayPort = await relay.says<number>('port');
    const [ingress, admin, fabric] = [await freePort(), await freePort(), await freePort()];
    const env = {
      RESTATE_BASE_DIR: makeFolder(join(running.folder, 'restate')),
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_BIND_ADDRESS: `127.0.0.1:${fabric}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${fabric}`,
      RESTATE_DEFAULT_NUM_PARTITIONS: RESTATE_PARTITIONS,
      RESTATE_DISABLE_TELEMETRY: 'true',
      RUST_LOG: 'warn',
    };
    const arch = process.arch === 'arm64' ? 'arm64' : 'x64';
    const command = join(
      FOLDER,
      `node_modules/@restatedev/restate-server-${process.platform}-${arch}/bin/restate-server`,
    );
    const child = running.add(new Child(['--no-logo'], { env, command, cwd: running.folder }));
    await register(child, admin, relayPort);
    running.apis = [`http://127.0.0.1:${ingress}`];
    running.shapeOf = (url) => ({
      path: '/relay/deliver/send',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        url,
        headers: { 'content-type': 'application/octet-stream', 'x-one': 'first', 'x-two': 'second' },
        body: BODY,
      }),
      messages: 1,
    });
  });
}

async function register(child: Child, admin: number, relayPort: number): Promise<void> {
  const deadline = performance.now() + READY_MS_MAX;
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${admin}/deployments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri: `http://127.0.0.1:${relayPort}`, force: true }),
    }).catch(() => null);
    if (response?.ok) return;
    if (child.hasEnded || performance.now() > deadline) {
      throw new Error(`Restate did not accept the relay: ${response ? await response.text() : child.output}`);
    }
    await wait(200);
  }
}

/** Until somebody listens on the port. */
async function answers(child: Child, port: string): Promise<void> {
  const deadline = performance.now() + READY_MS_MAX;
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: Number(port) });
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isOpen) return;
    if (child.hasEnded || performance.now() > deadline) throw new Error(`the peer did not start: ${child.output}`);
    await wait(50);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}
