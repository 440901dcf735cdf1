// The command as a real child process, for what only a process can show: what it prints, how it starts and fails to,
// and how signals end it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Cleanup } from './receiver.ts';
import { storeOfNow } from './store-under-test.ts';
import { waitFor } from './wait.ts';

/** For a test that looks into the modules of the process that it starts. */
export const SOURCE_BIN = join(import.meta.dirname, '..', '..', 'bin', 'postrider.js');
/** The sources; or another build of the command, such as that of the package. */
export const BIN = process.env.POSTRIDER_TEST_BIN ?? SOURCE_BIN;

export interface Ready {
  readonly api: string;
  readonly token?: string;
}

export class Process {
  readonly child: ChildProcess;
  /** Everything it has written so far. */
  stdout = '';
  stderr = '';
  /** Once it has ended; a signal that killed it in place of a status. */
  readonly exit: Promise<number | NodeJS.Signals>;
  #isOver = false;

  constructor(args: readonly string[], env: Readonly<Record<string, string>>, bin = BIN) {
    this.child = spawn(process.execPath, [bin, ...args], {
      env: cleanEnvironment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.exit = once(this.child, 'close').then(([status, signal]) => {
      this.#isOver = true;
      return (status ?? signal) as number | NodeJS.Signals;
    });
  }

  /** The one line of `--json`. */
  async ready(): Promise<Ready> {
    await this.prints('stdout', /\n/);
    return JSON.parse(this.stdout) as Ready;
  }

  /** Waits until it has written something like this. */
  async prints(where: 'stdout' | 'stderr', pattern: RegExp): Promise<void> {
    await waitFor(`${pattern} on ${where}`, () => {
      if (pattern.test(this[where])) return true;
      if (this.#isOver) throw new Error(`it ended without ${pattern} on ${where}:\n${this.stdout}\n${this.stderr}`);
      return false;
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

/** Killed at the end of the test if it still runs. On the store under test, if it is given a data directory at all. */
export function startProcess(
  t: Cleanup,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  bin?: string,
): Process {
  const data = args[args.indexOf('--data') + 1];
  const store = args.includes('--data') && data !== undefined ? storeOfNow(data) : null;
  const started = new Process([...args, ...(store?.flags ?? [])], env, bin);
  t.after(async () => {
    started.child.kill('SIGKILL');
    await started.exit;
    await store?.release();
  });
  return started;
}

/** Without settings of ours that whoever runs the tests may have. */
function cleanEnvironment(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:POSTRIDER_|NODE_)/.test(name));
  return { ...Object.fromEntries(inherited), ...env };
}
