// What is measured: how each is started, where its publishers send, what its processes have cost so far, and what it
// promises when it has answered.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PostgresServer } from '../server/test/postgres/server.ts';
import { Child, childrenOf, cpuMsOf, cpuMsOfChildren } from './child.ts';
import { publishOf, type RequestShape } from './request.ts';

export const HERE = import.meta.dirname;
const BIN = join(HERE, '../server/bin/postrider.js');
const ALLOCATIONS = join(HERE, 'allocations.ts');

/** What may be asked of every start. */
export interface StartOptions {
  readonly countsAllocations?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  /** The command, if it is not the one of the checkout. */
  readonly bin?: string;
  /** Warnings only, unless given. */
  readonly logLevel?: string;
}

export interface Target {
  readonly name: string;
  /** What an answer means. */
  readonly durability: string;
  /** It may be missing here, which ends no run. */
  readonly isPeer?: boolean;
  start(options?: StartOptions): Promise<Running>;
}

/** Started, empty, and to be stopped. */
export abstract class Running {
  readonly children: Child[] = [];
  apis: string[] = [];
  token = '';
  readonly folder = mkdtempSync(join(tmpdir(), 'postrider-bench-'));

  /** A message to the sink at that port. */
  shape(destination: string): RequestShape {
    return publishOf(destination, this.token);
  }

  /** Of our side: all processes but the database. */
  get cpuMs(): number {
    return this.children.reduce((sum, child) => sum + child.cpuMs, 0);
  }

  get databaseCpuMs(): number {
    return 0;
  }

  get rssBytes(): number {
    return this.children.reduce((sum, child) => sum + child.rssBytes, 0);
  }

  /** By the JavaScript of all threads of all processes, if it is counted. */
  get allocatedBytes(): number {
    let sum = 0;
    for (const { said } of this.children) {
      for (const [name, bytes] of Object.entries(said)) if (name.startsWith('allocated')) sum += Number(bytes);
    }
    return sum;
  }

  /** What it has on disk; null where that says nothing about messages. */
  async fileBytes(): Promise<number | null> {
    return null;
  }

  add(child: Child): Child {
    this.children.push(child);
    return child;
  }

  async stop(): Promise<void> {
    for (const child of this.children.toReversed()) await child.end();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function preloads({ countsAllocations = false }: StartOptions): string[] {
  return countsAllocations ? ['--import', ALLOCATIONS] : [];
}

class OnFile extends Running {
  override async fileBytes(): Promise<number> {
    return bytesIn(this.folder);
  }
}

export function floor(hasWorker: boolean, isSigned: boolean): Target {
  const threads = hasWorker ? 'store in a worker' : 'one thread';
  return {
    name: `floor: ${threads}${isSigned ? ', signed' : ''}`,
    durability: 'fsync (SQLite, FULL)',
    async start(options = {}) {
      const running = new OnFile();
      const flags = [...(hasWorker ? ['--worker'] : []), ...(isSigned ? ['--sign'] : [])];
      const argv = [...preloads(options), join(HERE, 'floor.ts'), '--data', running.folder, ...flags];
      const child = running.add(new Child(argv, { env: options.env ?? {} }));
      running.apis = [await child.says<string>('api')];
      return running;
    },
  };
}

const FLAGS = ['--host', '127.0.0.1', '--port', '0', '--json', '--allow-cidr', '127.0.0.0/8'];

async function addNode(running: Running, store: readonly string[], options: StartOptions): Promise<Child> {
  const { bin = BIN, flags = [], logLevel = 'warn' } = options;
  const argv = [...preloads(options), bin, 'serve', ...store, ...FLAGS, '--log-level', logLevel, ...flags];
  const node = running.add(new Child(argv, { env: options.env ?? {} }));
  running.apis.push(await node.says<string>('api'));
  if (node.said.token !== undefined) running.token = String(node.said.token);
  return node;
}

export class SqliteNode extends OnFile {
  async begin(options: StartOptions): Promise<void> {
    await addNode(this, this.#store, options);
  }

  /** Ends it as a restart would, and starts it again on the same file; how long the start took, in milliseconds. */
  async restart(options: StartOptions = {}): Promise<number> {
    await this.children.pop()!.end('SIGTERM');
    this.apis = [];
    const startedAt = performance.now();
    await addNode(this, this.#store, options);
    return performance.now() - startedAt;
  }

  get #store(): string[] {
    return ['--data', this.folder];
  }
}

export const onSqlite = {
  name: 'Postrider on SQLite',
  durability: 'fsync (SQLite, FULL)',
  async start(options: StartOptions = {}) {
    const running = new SqliteNode();
    await running.begin(options);
    return running;
  },
} satisfies Target;

class OnPostgres extends Running {
  readonly #server: PostgresServer;
  database = '';

  constructor(server: PostgresServer) {
    super();
    this.#server = server;
  }

  async begin(nodes: number, options: StartOptions): Promise<void> {
    this.database = await this.#server.createEmptyDatabase();
    const store = ['--store', this.#server.url(this.database)];
    for (let index = 0; index < nodes; index += 1) await addNode(this, store, options);
  }

  override get databaseCpuMs(): number {
    return postgresCpuMs(this.#server);
  }

  override async fileBytes(): Promise<number> {
    return databaseBytes(this.#server, this.database);
  }

  override async stop(): Promise<void> {
    await super.stop();
    await this.#server.dropDatabase(this.database);
  }
}

export function postgresCpuMs(server: PostgresServer): number {
  return cpuMsOf(server.pid) + cpuMsOfChildren(server.pid);
}

export async function databaseBytes(server: PostgresServer, database: string): Promise<number> {
  const sql = 'SELECT pg_database_size($1)::float8 AS bytes';
  const { rows } = await server.query<{ bytes: number }>(sql, [database]);
  return rows[0]!.bytes;
}

export function onPostgres(server: PostgresServer, nodes = 1) {
  return {
    name: `Postrider on PostgreSQL${nodes === 1 ? '' : `, ${nodes} nodes`}`,
    durability: 'commit (fsync of the WAL)',
    async start(options: StartOptions = {}) {
      const running = new OnPostgres(server);
      await running.begin(nodes, options);
      return running;
    },
  } satisfies Target;
}

/** Settings for a database that shares a small machine: enough memory, and no checkpoint in the middle of a run. */
export const POSTGRES_SETTINGS = ['shared_buffers=256MB', 'max_wal_size=2GB'];

export function bytesIn(folder: string): number {
  let sum = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    sum += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return sum;
}

export function makeFolder(path: string): string {
  mkdirSync(path, { recursive: true });
  return path;
}

/** Of a process with all that descend from it and live. */
export function cpuMsOfTree(pid: number): number {
  return childrenOf(pid).reduce((sum, child) => sum + cpuMsOfTree(child), cpuMsOf(pid));
}
