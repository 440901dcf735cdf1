// A PostgreSQL server of the tests' own: on a free port of this machine, with its data in memory where there is room,
// as durable in its settings as a real one. It never outlives the process that started it, however that ends.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, openSync, readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.ts';
import { processorMsOf } from '../support/processor-time.ts';
import { findInstallation, type Installation } from './binaries.ts';
import { BorrowedServer, Databases, withClient } from './databases.ts';

const MEMORY = '/dev/shm';
const ROOM_BYTES_MIN = 2 * 1024 ** 3;
const READY_MS_MAX = 60_000;
const POLL_MS = 10;
const STARTS_MAX = 3;
const LOG_SHOWN = 2000;

const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=600',
  'shared_buffers=64MB',
  'max_wal_size=256MB',
  // The service refuses a server without the first.
  'fsync=on',
  'synchronous_commit=on',
];

/**
 * Reads the ids of the server's processes, one a line. When the pipe is closed, which the end of its writer does in any
 * case, it ends the last of them and removes the folder. A server that has ended has removed the file with its id; its
 * process may still be there, because nobody collects it.
 */
const WATCHDOG = `
while read -r line; do pid=$line; done
if [ -n "$pid" ] && kill -QUIT "$pid" 2>/dev/null; then
  tries=0
  while [ -e "$1/data/postmaster.pid" ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -KILL "$pid" 2>/dev/null
fi
rm -rf "$1"
`;

export interface ServerOptions {
  /** More of `name=value`; the last one of a name counts. */
  readonly settings?: readonly string[];
  /** On a disk, also where memory would do: for measurements, in which a flush must cost what it costs. */
  readonly onDisk?: boolean;
}

export class PostgresServer extends Databases {
  readonly #postmaster: Postmaster;

  private constructor(homeUrl: string, postmaster: Postmaster) {
    super(homeUrl);
    this.#postmaster = postmaster;
  }

  static async start({ settings = [], onDisk = false }: ServerOptions = {}): Promise<PostgresServer> {
    const postmaster = new Postmaster([...SETTINGS, ...settings], onDisk ? tmpdir() : roomyFolder());
    try {
      await postmaster.initialise();
      const url = await postmaster.startOnFreePort();
      return new PostgresServer(await Databases.makeHome(url), postmaster);
    } catch (error) {
      await postmaster.stop();
      throw error;
    }
  }

  get pid(): number {
    return this.#postmaster.pid;
  }

  get port(): number {
    return this.#postmaster.port;
  }

  /** Of the server and of its sessions that have ended. */
  processorMs(): number | null {
    return processorMsOf(this.pid);
  }

  /** Like a crash of the server: every connection breaks, and the log is replayed before it answers again. */
  async restartImmediate(): Promise<void> {
    await this.#postmaster.end();
    await this.#postmaster.run();
  }

  /** The first half of `restartImmediate`, for an outage that lasts. */
  async stopImmediate(): Promise<void> {
    await this.#postmaster.end();
  }

  async startAgain(): Promise<void> {
    await this.#postmaster.run();
  }

  /** A standby that follows this server from now on. This server is stopped for a moment, and its files are copied. */
  async startStandby(): Promise<PostgresServer> {
    const follows = `primary_conninfo=host=127.0.0.1 port=${this.port} user=postgres`;
    const postmaster = new Postmaster([...SETTINGS, follows], roomyFolder());
    try {
      await this.#postmaster.end();
      await postmaster.copy(this.#postmaster);
      await this.#postmaster.run();
      await postmaster.startOnFreePort();
    } catch (error) {
      await postmaster.stop();
      throw error;
    }
    const url = new URL(this.homeUrl);
    url.port = String(postmaster.port);
    return new PostgresServer(url.href, postmaster);
  }

  async stop(): Promise<void> {
    await this.endConnections();
    await this.#postmaster.stop();
  }
}

class Postmaster {
  pid = 0;
  port = 0;
  readonly #folder: string;
  readonly #settings: readonly string[];
  readonly #watchdog: ChildProcess;
  #installation: Installation | null = null;
  #child: ChildProcess | null = null;

  constructor(settings: readonly string[], parent: string) {
    this.#settings = settings;
    this.#folder = mkdtempSync(join(parent, 'postrider-postgres-'));
    // In sessions of their own, so that Ctrl-C in a terminal ends the tests first and the server after them.
    this.#watchdog = spawn('sh', ['-c', WATCHDOG, 'sh', this.#folder], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#watchdog.unref();
    unref(this.#watchdog.stdin!);
  }

  async initialise(): Promise<void> {
    this.#installation = findInstallation(this.#folder);
    const argv = [
      '-D',
      this.#data,
      '--username=postgres',
      '--auth=trust',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ];
    await promisify(execFile)(join(this.#installation.folder, 'initdb'), argv, this.#options);
  }

  /** Of a server that is stopped. What it had not finished is finished at the start, from its log. */
  async copy(primary: Postmaster): Promise<void> {
    this.#installation = findInstallation(this.#folder);
    await promisify(execFile)('cp', ['-a', primary.#data, this.#data]);
    await promisify(execFile)('touch', [join(this.#data, 'standby.signal')], this.#options);
  }

  /** Somebody else may take the port before the server does; then another one. */
  async startOnFreePort(): Promise<string> {
    for (let tries = 1; ; tries += 1) {
      this.port = await freePort();
      try {
        await this.run();
        return this.#url;
      } catch (error) {
        if (tries === STARTS_MAX) throw error;
      }
    }
  }

  /** Until it answers. */
  async run(): Promise<void> {
    const log = openSync(this.#log, 'a');
    const settings = this.#settings.flatMap((setting) => ['-c', setting]);
    const argv = ['-D', this.#data, '-p', String(this.port), ...settings];
    const child = spawn(join(this.#installation!.folder, 'postgres'), argv, {
      ...this.#options,
      detached: true,
      stdio: ['ignore', log, log],
    });
    child.unref();
    this.#child = child;
    this.pid = child.pid!;
    this.#watchdog.stdin!.write(`${this.pid}\n`);
    const deadline = performance.now() + READY_MS_MAX;
    while (!(await this.#isAnswering())) {
      const isOver = child.exitCode !== null || child.signalCode !== null;
      if (isOver || performance.now() > deadline) {
        throw new Error(`PostgreSQL did not start: ${readFileSync(this.#log, 'utf8').slice(-LOG_SHOWN)}`);
      }
      await wait(POLL_MS);
    }
  }

  /** Immediately, as far as the server is concerned: nothing is written any more. */
  async end(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const exited = once(child, 'exit');
    child.kill('SIGQUIT');
    await exited;
  }

  async stop(): Promise<void> {
    await this.end();
    this.#watchdog.ref();
    const cleared = once(this.#watchdog, 'exit');
    this.#watchdog.stdin!.end();
    await cleared;
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  get #log(): string {
    return join(this.#folder, 'log');
  }

  get #url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  get #options() {
    return { ...this.#installation!.account, cwd: this.#folder, env: { PATH: process.env.PATH, LC_ALL: 'C' } };
  }

  async #isAnswering(): Promise<boolean> {
    try {
      await withClient(this.#url, (client) => client.query('SELECT'));
      return true;
    } catch {
      return false;
    }
  }
}

let shared: Promise<Databases> | null = null;

/** For test files: the server of the whole run, else one for this process. */
export function sharedServer(): Promise<Databases> {
  const home = process.env.POSTRIDER_TEST_POSTGRES;
  shared ??= home ? Promise.resolve(new Databases(home)) : startTestServer();
  return shared;
}

/** The server of DATABASE_URL, or one of our own. */
export function startTestServer(): Promise<PostgresServer | BorrowedServer> {
  const given = process.env.DATABASE_URL;
  return given ? BorrowedServer.start(given) : PostgresServer.start();
}

/** A flush costs nothing in memory. A small one, as in many containers, would soon be full. */
export function roomyFolder(bytesMin = ROOM_BYTES_MIN): string {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    // The folder may be as large as all memory, of which others use a part.
    return Math.min(bavail * bsize, process.availableMemory()) >= bytesMin ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** A pipe to a child is a socket, which the type does not say. */
function unref(pipe: Writable): void {
  (pipe as Writable & { unref(): void }).unref();
}
