// The real server as a child process on loopback: started, killed, stopped, and never left behind.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A campaign builds the program after this module was loaded. */
const built = () => process.env.POSTRIDER_TEST_BIN;
const SOURCE_BIN = join(import.meta.dirname, '..', '..', 'bin', 'postrider.js');
const READY_MS_MAX = 60_000;
const STDERR_KEPT = 20_000;

export interface Ready {
  readonly api: string;
  /** Only from the first start on an empty directory. */
  readonly token: string | null;
  readonly readyMs: number;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const living = new Set<ChildProcess>();

/** For the end of a test that went wrong: its servers would keep the test's own process alive. */
export async function endServers(): Promise<void> {
  const ended = [...living].map((child) => new Promise((resolve) => child.once('close', resolve)));
  for (const child of living) child.kill('SIGKILL');
  await Promise.all(ended);
}

process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

let cacheFolder: string | null = null;

/** Halves the time of a start. A process that is killed leaves nothing in it, so one that ends by itself fills it. */
function compileCache(): string | undefined {
  // Compiled before the tests began.
  if (built() !== undefined) return process.env.NODE_COMPILE_CACHE;
  if (cacheFolder === null) {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-compiled-'));
    process.once('exit', () => rmSync(folder, { recursive: true }));
    spawnSync(process.execPath, [SOURCE_BIN, 'version'], { env: { ...process.env, NODE_COMPILE_CACHE: folder } });
    cacheFolder = folder;
  }
  return cacheFolder;
}

export class ServerProcess {
  readonly ready: Promise<Ready>;
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  #stderr = '';

  /** `flags` name its store, and its port if it must be known before. */
  constructor(flags: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const argv = ['serve', '--json', '--host', '127.0.0.1', '--allow-cidr', '127.0.0.0/8', '--log-level', 'error'];
    if (!flags.includes('--port')) argv.push('--port', '0');
    const spawnedAt = performance.now();
    const child = spawn(process.execPath, [built() ?? SOURCE_BIN, ...argv, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache(), ...env },
    });
    this.#child = child;
    living.add(child);
    child.stderr!.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-STDERR_KEPT);
    });
    this.exited = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        living.delete(child);
        resolve({ code, signal });
      });
    });
    this.ready = this.#firstLine(spawnedAt);
    this.ready.catch(() => {}); // a process that is killed while it starts is nobody's failure
  }

  /** The end of what it wrote to stderr. */
  get stderr(): string {
    return this.#stderr;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** It has ended, or was told to. */
  get isEnding(): boolean {
    return this.#child.killed || this.#child.exitCode !== null;
  }

  /** We ended it, or told it to end. */
  get isToldToEnd(): boolean {
    return this.#child.killed;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exited;
  }

  /** Stands still until `thaw`, as if its machine had: it sees nothing, and its connections stay open. */
  freeze(): void {
    process.kill(this.#child.pid!, 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.#child.pid!, 'SIGCONT');
  }

  async stop(): Promise<Exit> {
    this.#child.kill('SIGTERM');
    return this.exited;
  }

  #firstLine(spawnedAt: number): Promise<Ready> {
    return new Promise((resolve, reject) => {
      let text = '';
      const fail = (what: string) => reject(new Error(`the server ${what} before it was ready: ${this.#stderr}`));
      const timer = setTimeout(() => fail(`took over ${READY_MS_MAX} ms`), READY_MS_MAX);
      this.#child.stdout!.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        if (!text.includes('\n')) return;
        clearTimeout(timer);
        const { api, token = null } = JSON.parse(text) as { api: string; token?: string };
        resolve({ api, token, readyMs: performance.now() - spawnedAt });
      });
      void this.exited.then(({ code, signal }) => {
        clearTimeout(timer);
        fail(`ended (${signal ?? code})`);
      });
    });
  }
}
