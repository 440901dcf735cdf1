// A PostgreSQL server on a small file system of its own, which the test can fill: mounted in a namespace of the process. It
// ends with the test.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, globSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fillUntilFull } from '../crash/small-disk.ts';
import { freePort } from '../support/free-port.ts';
import { lacks } from '../support/machine.ts';
import { waitFor } from '../support/wait.ts';
import { findInstallation } from './binaries.ts';
import { withClient } from './databases.ts';

/** Segments of 1 MiB, so that the log of the server soon needs a new one. */
const START = `
mount -t tmpfs -o size="$1",mode=1777 tmpfs "$2" && shift 2
exec "$@"`;
const SERVE = `
cd / && "$1/initdb" -D "$2" $4 --wal-segsize=1 --username=postgres --auth=trust --encoding=UTF8 --locale=C --no-sync >&2 &&
exec "$1/postgres" -D "$2" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c shared_buffers=16MB \\
  -c min_wal_size=2MB -c max_wal_size=1GB -c autovacuum_naptime=1s -c max_connections=80`;

/** Why it cannot be made on this machine; false when it can: what `node:test` takes as `skip`. */
export function noSmallDatabase(): string | false {
  return lacks('linux', 'mounts');
}

export class SmallDatabase {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly url: string;
  stderr = '';

  private constructor(child: ChildProcess, folder: string, url: string) {
    this.#child = child;
    this.#folder = folder;
    this.url = url;
    child.stderr!.on('data', (data) => {
      this.stderr = (this.stderr + data).slice(-20_000);
    });
  }

  /** `isLogApart`: its log is in `folder`, but not on the small file system. */
  static async start(folder: string, bytes: number, isLogApart: boolean): Promise<SmallDatabase> {
    chmodSync(folder, 0o1777);
    const [disk, log] = [join(folder, 'disk'), join(folder, 'log')];
    mkdirSync(disk);
    mkdirSync(log);
    // The programs of the server may have to be copied.
    const { folder: programs, account } = findInstallation(log);
    const port = await freePort();
    const logPlace = isLogApart ? `-X ${join(log, 'wal')}` : '';
    // The server refuses to run as root, which mounting needs.
    const [owner, asOther] = account
      ? [['-m'], ['setpriv', `--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups', '--pdeathsig=QUIT']]
      : [['-rm'], ['unshare', '-U', '--map-user=1000', '--map-group=1000', 'setpriv', '--pdeathsig=QUIT']];
    const serve = ['sh', '-c', SERVE, 'sh', programs, join(disk, 'data'), String(port), logPlace];
    const argv = [...owner, 'sh', '-c', START, 'sh', String(bytes), disk, ...asOther, ...serve];
    const child = spawn('unshare', argv, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    });
    const database = new SmallDatabase(child, disk, `postgres://postgres@127.0.0.1:${port}/postgres`);
    await waitFor('the small database', () => database.isAnswering());
    return database;
  }

  async isAnswering(): Promise<boolean> {
    if (this.hasEnded) throw new Error(`the server has ended: ${this.stderr}`);
    return withClient(this.url, (client) => client.query('SELECT')).then(
      () => true,
      () => false,
    );
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Until nothing is free. */
  fill(): void {
    fillUntilFull(this.#filler);
  }

  empty(): void {
    rmSync(this.#filler);
  }

  /** Removes the files that a session needs to start, as a vacuum does. The next session writes them. */
  removeSessionFiles(): void {
    for (const file of globSync('data/{global,base/*}/pg_internal.init', { cwd: this.#disk }))
      rmSync(join(this.#disk, file));
  }

  async stop(): Promise<void> {
    if (this.hasEnded) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGQUIT');
    await exited;
  }

  get #filler(): string {
    return join(this.#disk, 'filler');
  }

  /** As others see the file system of the process. */
  get #disk(): string {
    return join(`/proc/${this.#child.pid}/root`, this.#folder);
  }
}
