// The real pgbouncer in front of a PostgreSQL server, where it is installed: in the mode a test asks for, on a port of its
// own, and able to be restarted or to change its mode.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { programPath } from '../support/machine.ts';
import type { Cleanup } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { serverAccount } from './binaries.ts';
import { withClient } from './databases.ts';

export type Mode = 'session' | 'transaction' | 'statement';

export interface BouncerOptions {
  readonly mode: Mode;
  readonly poolSize?: number;
  /** More lines of its file. */
  readonly more?: readonly string[];
}

export class Bouncer {
  /** Of the same database, through it. */
  readonly url: string;
  readonly #folder: string;
  readonly #port: number;
  readonly #server: URL;
  #child: ChildProcess | null = null;

  private constructor(server: URL, port: number) {
    this.#server = server;
    this.#port = port;
    this.#folder = mkdtempSync(join(tmpdir(), 'postrider-pgbouncer-'));
    const url = new URL(server);
    url.port = String(port);
    this.url = url.href;
  }

  /** In front of the database of `url`. Ends with the test. */
  static async start(t: Cleanup, url: string, options: BouncerOptions): Promise<Bouncer> {
    const bouncer = new Bouncer(new URL(url), await freePort());
    t.after(() => bouncer.#clear());
    bouncer.#write(options);
    await bouncer.#run();
    return bouncer;
  }

  /** Every connection breaks, as when it is upgraded. */
  async restart(): Promise<void> {
    await this.#end();
    await this.#run();
  }

  /** As its operator does with RELOAD. */
  change(options: BouncerOptions): void {
    this.#write(options);
    this.#child!.kill('SIGHUP');
  }

  #write({ mode, poolSize = 40, more = [] }: BouncerOptions): void {
    const { hostname, port, username } = this.#server;
    const lines = [
      '[databases]',
      `* = host=${hostname} port=${port} user=${username}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${this.#port}`,
      'unix_socket_dir =',
      'auth_type = any',
      `logfile = ${join(this.#folder, 'log')}`,
      `pool_mode = ${mode}`,
      `default_pool_size = ${poolSize}`,
      'max_client_conn = 200',
      ...more,
    ];
    writeFileSync(this.#file, `${lines.join('\n')}\n`);
  }

  async #run(): Promise<void> {
    // It refuses to run as root, like the server.
    const account = serverAccount();
    if (account) for (const path of [this.#folder, this.#file]) chownSync(path, account.uid, account.gid);
    const child = spawn(programPath('pgbouncer')!, ['-q', this.#file], {
      ...account,
      cwd: this.#folder,
      stdio: 'ignore',
    });
    this.#child = child;
    await waitFor('pgbouncer to answer', async () => {
      if (child.exitCode !== null)
        throw new Error(`pgbouncer ended: ${readFileSync(join(this.#folder, 'log'), 'utf8')}`);
      return withClient(this.url, (client) => client.query('SELECT')).then(
        () => true,
        () => false,
      );
    });
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    // At once: it would wait for its clients otherwise.
    child.kill('SIGKILL');
    await exited;
  }

  async #clear(): Promise<void> {
    await this.#end();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #file(): string {
    return join(this.#folder, 'pgbouncer.ini');
  }
}
