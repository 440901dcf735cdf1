// Every code block of README.md, the quick start and the guides is run as a reader would: pasted into a shell, in the
// order of the page, against the service that the page starts. Addresses, ports, ids and folders are those of the test.
// What cannot be run here is listed with the reason, and read instead.

import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { parse as parseYaml } from 'yaml';
import { runCli } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { waitFor } from '../support/wait.ts';
import { type Block, blocksOf, brokenTables, commandProblem, commandsIn, ROOT, readPage } from './blocks.ts';

const shell = promisify(execFile);
const GUIDES = globSync('docs/guides/*.md', { cwd: ROOT }).sort();
const PAGES = ['README.md', 'server/README.md', 'docs/quick-start.md', 'docs/concepts.md', 'docs/README.md', ...GUIDES];
const BIN = join(ROOT, 'server', 'bin', 'postrider.js');
const TOKEN = 'dev_postrider';

/** What is not run, by its page and a part of its text. Each is still read by the shell, and its commands are looked up. */
const NOT_RUN: readonly (readonly [page: string, part: string, why: string])[] = [
  ['README.md', 'docker build', 'needs Docker and the network; deploy.test.ts reads the Dockerfile'],
  ['README.md', 'npm ci && npm run dev', 'installs this checkout again; .ci/run begins with npm ci'],
  ['README.md', 'npm run pack', 'takes a minute; packages.test.ts packs, installs and starts the package'],
  ['README.md', 'npm install --global', 'installs from the registry; packages.test.ts installs the package'],
  ['README.md', '--store postgres://', 'needs a database called db.internal; all of outside/ runs on PostgreSQL'],
  ['server/README.md', 'npm install --global', 'installs from the registry; packages.test.ts installs the package'],
  ['server/README.md', 'startDev', 'a part of a test; packages.test.ts runs startDev'],
  ['docs/guides/backups.md', 'pg_dump', 'needs a database called db.internal'],
  ['docs/guides/upgrades.md', 'systemctl', 'installs from the registry, and restarts a unit of systemd'],
];

/** What a receiver of a page must have printed at the end of the page. */
const PRINTED = new Map([
  ['docs/quick-start.md', /^msg_\w+ hello, receiver$/m],
  ['docs/guides/from-bullmq.md', /mail to ada@example\.com[\s\S]*mail to grace@example\.com/],
]);

interface Service {
  readonly url: string;
  readonly folder: string;
  readonly greeting: string;
}

const folder = mkdtempSync(join(tmpdir(), 'postrider-docs-'));
let path: string;
const services = new Map<string, Service>();
const children: ChildProcess[] = [];

before(() => {
  const shims = join(folder, 'bin');
  mkdirSync(shims);
  const shim = (name: string, text: string) => {
    writeFileSync(join(shims, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(shims, name), 0o755);
  };
  shim('postrider', `exec '${process.execPath}' '${BIN}' "$@"`);
  // The package is not published. As npx does, it runs the command of this name.
  shim('npx', `test "$1" = postrider || exit 90; shift; exec postrider "$@"`);
  shim('node', `exec '${process.execPath}' "$@"`);
  // A refusal of the service fails the block.
  shim('curl', `PATH='${process.env.PATH}' exec curl --silent --show-error --fail-with-body "$@"`);
  path = `${shims}${delimiter}${process.env.PATH}`;
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});

after(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'close');
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:POSTRIDER_|NODE_TEST|NODE_OPTIONS)/.test(name),
  );
  return { ...Object.fromEntries(inherited), PATH: path, POSTRIDER_LOG_LEVEL: 'silent', HOME: folder, ...more };
}

/** Starts something that goes on, and returns what it has printed so far. */
function startInBackground(command: string, args: readonly string[], cwd: string, env = environment()): () => string {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (printed += text));
  return () => printed;
}

/** The same words start the same service for all pages. */
async function startService(text: string): Promise<Service> {
  const known = services.get(text);
  if (known) return known;
  const home = join(folder, `service-${services.size}`);
  mkdirSync(home);
  const output = startInBackground('bash', ['-c', text.replace(/--port \d+/, '--port 0')], home, {
    ...environment(),
    POSTRIDER_PORT: '0',
  });
  const url = await waitFor(`the greeting of ${text}`, () => /API +(http:\S+)\n[\s\S]*Token/.exec(output())?.[1]);
  const service = { url, folder: home, greeting: output() };
  services.set(text, service);
  return service;
}

const isStart = ({ language, text }: Block) =>
  language === 'sh' && /^(?:npx )?postrider (?:dev|serve)(?: --\S+(?: [^-\s]\S*)?)*(?: +#.*)?$/.test(text);

/** What the page as a whole is run with. */
class PageRun {
  readonly page: string;
  readonly work: string;
  #service: Service | null = null;
  #portOfPage = '8411';
  #receiverPort = 0;
  #receiver: (() => string) | null = null;
  #lastOutput = '';
  #lastId = '';

  constructor(page: string) {
    this.page = page;
    this.work = join(folder, page.replaceAll('/', '-'));
    mkdirSync(this.work);
  }

  async run(block: Block, index: number): Promise<void> {
    this.#receiverPort ||= await freePort();
    if (isStart(block)) {
      this.#portOfPage = /--port (\d+)/.exec(block.text)?.[1] ?? '8411';
      const started = await startService(block.text.replace(/ +#.*$/, ''));
      if (started.greeting.includes(TOKEN)) this.#service = started;
      return;
    }
    this.#service ??= await startService('npx postrider dev');
    if (block.language === 'sh' || block.language === 'bash') return this.#shell(block);
    if (block.language === 'js') return this.#program(block, index);
    return this.#read(block);
  }

  /** The text with what is the test's own in place of what the page says. */
  #here(text: string): string {
    const { url, folder: home } = this.#service!;
    return text
      .replaceAll(`http://127.0.0.1:${this.#portOfPage}`, url)
      .replaceAll('127.0.0.1:3000', `127.0.0.1:${this.#receiverPort}`)
      .replaceAll('listen(3000', `listen(${this.#receiverPort}`)
      .replaceAll(/msg_[0-9A-Z]{26}/g, this.#lastId)
      .replaceAll('--data /var/lib/postrider', `--data ${this.#directory(text, home)}`)
      .replaceAll('/backup/', `${this.work}/`)
      .replaceAll('postrider-2026-01-31.db', globSync('postrider-*.db', { cwd: this.work })[0] ?? 'none');
  }

  /** A restore is made into an empty directory. */
  #directory(text: string, home: string): string {
    return text.includes('restore') ? join(this.work, 'restored') : join(home, '.postrider');
  }

  async #shell({ text }: Block): Promise<void> {
    const env = environment({ POSTRIDER_URL: this.#service!.url, POSTRIDER_TOKEN: TOKEN, TZ: 'UTC' });
    const { stdout } = await shell('bash', ['-euo', 'pipefail', '-c', this.#here(text)], {
      cwd: this.work,
      env,
      timeout: 120_000,
    });
    this.#lastOutput = stdout;
    this.#lastId = /msg_[0-9A-Z]{26}/.exec(stdout)?.[0] ?? this.#lastId;
  }

  async #program({ text }: Block, index: number): Promise<void> {
    const file = join(this.work, `block-${index}.mjs`);
    writeFileSync(file, this.#here(text));
    if (!text.includes('.listen(')) {
      await shell(process.execPath, [file], { cwd: this.work, env: environment(), timeout: 120_000 });
      return;
    }
    const output = startInBackground(process.execPath, [file], this.work);
    await waitFor('the receiver of the page', () => output().includes('listening'));
    this.#receiver = output;
  }

  async #read({ language, text }: Block): Promise<void> {
    if (language === 'json') this.#checkJson(text);
    else if (language === 'text') this.#checkGreeting(text);
    else if (language === 'yaml') await this.#checkYaml(text);
    else if (language === 'ini') assert.ok(text.split('\n').every((line) => /^(?:\[\w+\]|\w+=.+|#.*|)$/.test(line)));
    else if (language === 'nginx') assert.match(text, /^(?:location (?:= )?\/\S+ \{(?: [a-z_]+ [^;{}]+;)+ \}\n?)+$/);
    // Run with a real delivery by signatures.test.ts.
    else assert.equal(this.page, 'docs/guides/signatures.md', `nothing runs ${language}`);
  }

  /** An answer as the command before it has printed it, with other values. */
  #checkJson(text: string): void {
    const shape = (value: object) => Object.keys(value).sort();
    assert.deepEqual(shape(JSON.parse(text)), shape(JSON.parse(this.#lastOutput)));
  }

  #checkGreeting(text: string): void {
    const { greeting, url } = this.#service!;
    const plain = (line: string) =>
      line.replaceAll(/in \S+ \(kept\) · .*/g, 'in').replaceAll(url, 'http://127.0.0.1:8411');
    const printed = greeting.split('\n').map(plain);
    for (const line of text.split('\n'))
      assert.ok(printed.includes(plain(line)), `${line}\nis not printed:\n${greeting}`);
  }

  async #checkYaml(text: string): Promise<void> {
    const { url } = this.#service!;
    if ('groups' in parseYaml(text)) {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      for (const [name] of text.matchAll(/postrider_\w+/g)) assert.match(metrics, new RegExp(`^# TYPE ${name} `, 'm'));
      return;
    }
    const file = join(this.work, 'resources.yaml');
    writeFileSync(file, this.#here(text));
    const { code, stderr } = await runCli(['apply', '-f', file, '--url', url, '--token', TOKEN]);
    assert.equal(code, 0, stderr);
  }

  /** What the receivers of the page got. */
  async end(): Promise<void> {
    const wanted = PRINTED.get(this.page);
    if (wanted) await waitFor(`${wanted} from the receiver`, () => wanted.test(this.#receiver!()));
    else if (this.#receiver) {
      const answer = await fetch(`http://127.0.0.1:${this.#receiverPort}/`, { method: 'POST', body: '{}' });
      assert.equal(answer.status, 200);
    }
  }
}

suite('the code blocks of the documentation', () => {
  for (const page of PAGES) {
    const blocks = blocksOf(page);
    if (blocks.length === 0) continue;
    test(`${page}: every block works as it is pasted`, async (t) => {
      const run = new PageRun(page);
      for (const [index, block] of blocks.entries()) {
        const left = NOT_RUN.find(([of, part]) => of === page && block.text.includes(part));
        try {
          if (left) {
            t.diagnostic(`line ${block.line} is not run: ${left[2]}`);
            if (block.language === 'sh') await shell('bash', ['-n', '-c', block.text]);
          } else await run.run(block, index);
        } catch (error) {
          const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string };
          throw new Error(`${page}:${block.line}: ${message}\n${stdout}\n${stderr}`, { cause: error });
        }
      }
      await run.end();
    });
  }

  test('what is not run is there, and is listed once', () => {
    for (const [page, part] of NOT_RUN) {
      assert.equal(blocksOf(page).filter(({ text }) => text.includes(part)).length, 1, `${page}: ${part}`);
    }
  });

  test('every command and flag of ours that a page names exists, and every npm script', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
    let count = 0;
    for (const page of PAGES) {
      const text = readPage(page);
      for (const words of commandsIn(text)) {
        count += 1;
        assert.equal(commandProblem(words), null, `${page}: postrider ${words.join(' ')}`);
      }
      for (const [, script] of text.matchAll(/npm run ([\w:-]+)/g)) assert.ok(Object.hasOwn(scripts, script!), script!);
    }
    assert.ok(count > 20, `found only ${count}`);
    assert.match(commandProblem(['publish', '--dealy', '1s']) ?? '', /--dealy/);
    assert.match(commandProblem(['pubilsh', 'x']) ?? '', /no command/);
  });

  test('every block for a shell is right for zsh too', () => {
    for (const { page, line, text } of PAGES.flatMap(blocksOf).filter(({ language }) => language === 'sh')) {
      const unquoted = text.replaceAll(/'[^']*'|"[^"]*"/g, 'Q');
      assert.doesNotMatch(unquoted, /https?:\S*[?&*[]/, `${page}:${line}: zsh reads this as a pattern`);
      assert.doesNotMatch(unquoted, /(?:^|\s)#/m, `${page}:${line}: zsh knows no comments at its prompt`);
    }
  });

  test('no table of the documentation is cut in two', () => {
    const pages = ['README.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: ROOT })];
    for (const page of pages) assert.deepEqual(brokenTables(page), [], page);
  });
});
