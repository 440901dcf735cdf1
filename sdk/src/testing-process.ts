// Finds the package `postrider` and starts its service for a test. The service runs inside the process of the test, or
// as a child process that ends by itself when the process of the test has ended, however that ended.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface StartedService {
  readonly url: string;
  readonly token: string;
  /** Why the service has stopped, or null while it runs. */
  whyGone(): string | null;
  close(): Promise<void>;
}

const CLOSING_MS_MAX = 10_000;
/** How many characters of the service's last output are kept. Error messages contain them. */
const SAID_LENGTH_MAX = 8_000;
/** Variables of the test runner and of the user's own services. They are not passed to this service. */
const NOT_PASSED_ON = /^(?:POSTRIDER_.*|NODE_OPTIONS|NODE_V8_COVERAGE|NODE_TEST_CONTEXT|NODE_CHANNEL_FD)$/;

const INSTALL = 'install it with npm install --save-dev postrider';
const MISSING =
  `postrider-sdk/testing needs the command postrider, which was not found: ${INSTALL}, ` +
  "or name it, as in startPostrider({ command: ['/path/to/postrider'] })";

export async function startProcess(
  command: readonly [string, ...string[]] | null,
  flags: readonly string[],
  startMs: number,
): Promise<StartedService> {
  const [file, ...first] = command ?? findCommand();
  const args = ['dev', ...flagsWith(flags), '--json', '--until-stdin-ends'];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !NOT_PASSED_ON.test(name)));
  const child = spawn(file, [...first, ...args], { stdio: ['pipe', 'pipe', 'pipe'], env });
  const service = new Child(child);
  try {
    const { api, token } = await service.ready(startMs);
    return { url: api, token, whyGone: () => service.whyGone, close: () => service.close() };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/** The flags of every service for tests, followed by those of the caller. */
function flagsWith(flags: readonly string[]): readonly string[] {
  // A short drain, so that attempts that hang at the end of a test end soon.
  const drain = flags.some((flag) => flag.startsWith('--drain')) ? [] : ['--drain', '1s'];
  return ['--clock', 'manual', '--port', '0', ...drain, ...flags];
}

interface ServerModule {
  startDev(flags: readonly string[], env: object): Promise<Omit<StartedService, 'whyGone'>>;
}

/** Starts the service on the event loop of the test. */
export async function startInside(flags: readonly string[]): Promise<StartedService> {
  if (!isNode() || Number.parseInt(process.versions.node, 10) < 24)
    throw new Error('inProcess: the service needs Node.js 24 or newer; without inProcess it is started as a process');
  const found = find('postrider');
  if (found === null) throw new Error(`postrider-sdk/testing needs the package postrider: ${INSTALL}`);
  const module = (await import(pathToFileURL(found).href)) as ServerModule & { readonly default?: ServerModule };
  // `resolve` finds the file for CommonJS, whose exports are all properties of `default`.
  const { startDev } = module.default ?? module;
  const quiet = flags.some((flag) => flag.startsWith('--log-level')) ? [] : ['--log-level', 'silent'];
  const { url, token, close } = await startDev(flagsWith([...quiet, ...flags]), {});
  let closing: Promise<void> | null = null;
  return {
    url,
    token,
    whyGone: () => (closing === null ? null : 'the service was closed'),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** The path of a file of the package, which is installed beside the test or beside the SDK. */
function find(name: string): string | null {
  for (const from of [join(process.cwd(), 'test.js'), import.meta.url]) {
    try {
      return createRequire(from).resolve(name);
    } catch {
      // Not found.
    }
  }
  return null;
}

function findCommand(): readonly [string, ...string[]] {
  const manifest = find('postrider/package.json');
  const bin = manifest === null ? '' : join(dirname(manifest), 'bin', 'postrider.js');
  // The service needs Node.js. In another runtime, `process.execPath` is not Node.js.
  return existsSync(bin) ? [isNode() ? process.execPath : 'node', bin] : ['postrider'];
}

function isNode(): boolean {
  const { bun, deno } = process.versions as { readonly bun?: string; readonly deno?: string };
  return bun === undefined && deno === undefined;
}

function readyLine(line: string): { readonly api: string; readonly token: string } {
  try {
    return JSON.parse(line) as { readonly api: string; readonly token: string };
  } catch {
    throw new Error(`the command did not start a service: it printed ${JSON.stringify(line.slice(0, 200))}`);
  }
}

class Child {
  readonly #child: ChildProcess;
  readonly #gone: Promise<string>;
  #whyGone: string | null = null;
  #said = '';
  #isClosing = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdin!.on('error', () => {}); // the process has ended: `#gone` says why
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-SAID_LENGTH_MAX);
    });
    this.#gone = new Promise((resolve) => {
      const end = (why: string) => {
        this.#whyGone ??= why;
        resolve(this.#whyGone);
      };
      child.once('error', (error: NodeJS.ErrnoException) =>
        end(error.code === 'ENOENT' ? MISSING : `postrider cannot be started: ${error.message}`),
      );
      child.once('close', (status, signal) => {
        const how = this.#isClosing ? 'was closed' : `ended with ${signal ?? `status ${status}`}`;
        end(`the service ${how}${this.#said === '' ? '' : `, and printed:\n${this.#said}`}`);
      });
    });
  }

  get whyGone(): string | null {
    return this.#whyGone;
  }

  /** Reads the one line that the service prints on standard output when it has started. */
  async ready(startMs: number): Promise<{ readonly api: string; readonly token: string }> {
    let cancel = () => {};
    const late = new Promise<string>((resolve) => {
      const timer = setTimeout(
        () => resolve(`the service has not started within ${startMs} ms\n${this.#said}`),
        startMs,
      );
      cancel = () => clearTimeout(timer);
    });
    const failed = Promise.race([this.#gone, late]).then((why) => {
      throw new Error(why);
    });
    try {
      const line = await Promise.race([this.#firstLine(), failed]);
      // Without this, a test that forgets to close the service would not end. The service ends with the test.
      this.#keepAlive(false);
      return readyLine(line);
    } finally {
      cancel();
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#whyGone !== null) return;
    this.#keepAlive(true);
    // The service ends when its standard input does. On some systems a signal would not let it clean up.
    this.#child.stdin!.end();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), CLOSING_MS_MAX);
    await this.#gone;
    clearTimeout(timer);
  }

  #firstLine(): Promise<string> {
    return new Promise((resolve) => {
      let text = '';
      this.#child.stdout!.setEncoding('utf8').on('data', (more: string) => {
        text += more;
        const end = text.indexOf('\n');
        if (end >= 0) resolve(text.slice(0, end));
      });
    });
  }

  /** Whether the process of the test waits for the process of the service before it ends. */
  #keepAlive(isWanted: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    for (const each of [this.#child, stdin, stdout, stderr] as { ref?(): void; unref?(): void }[]) {
      if (isWanted) each.ref?.();
      else each.unref?.();
    }
  }
}
