// Runs the code blocks of one page as a reader would: pasted into a shell, in the order of the page, against the service
// that the page starts. Addresses, ports, ids and folders are those of the test.

import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { parse as parseYaml } from 'yaml';
import { readClientFile } from '../../../cli/src/frame/client-file.ts';
import { COMMANDS } from '../../src/node/settings/config.ts';
import { runCli } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { programPath } from '../support/machine.ts';
import { waitFor } from '../support/wait.ts';
import { type Block, callsIn, ROOT } from './blocks.ts';
import { judgedByNginx, judgedBySystemd, type OnMissing } from './judged-by.ts';

export const shell = promisify(execFile);
const BIN = join(ROOT, 'server', 'bin', 'postrider.js');
const TOKEN = 'dev_postrider';

/** Compiled by sdk/test/installed/documents.test.ts. */
const COMPILED = ['sdk/README.md', 'docs/sdk.md', 'docs/sdk-from-qstash.md', 'docs/guides/long-jobs.md'];

/** What a receiver of a page must have printed at the end of the page. */
const PRINTED = new Map([
  ['docs/quick-start.md', /^msg_\w+ hello, receiver$/m],
  ['docs/guides/from-bullmq.md', /mail to ada@example\.com[\s\S]*mail to grace@example\.com/],
]);

/** What the reader of a page has written already: it stands before the programs of the page. */
const WRITTEN_BEFORE = new Map([
  ['server/README.md', `const folder = 'data-of-the-reader';\n`],
  [
    'docs/testing.md',
    `import { startShop as start } from '${join(ROOT, 'sdk', 'examples', 'shop.js')}';
const stateOf = (shop) => (id) => shop.orders.get(id).state;
async function startShop(client) {
  const shop = await start(client);
  return Object.assign(shop, { isBankDown: true, stateOf: stateOf(shop) });
}
`,
  ],
]);

/** What a reader of docs/cli.md has: files in the folder, and things in the service. */
const AT_HAND = {
  files: {
    'news.json': '{"news":1}',
    'order.json': '{"order":1}',
    'orders.ndjson': '{"destination":"news","body":"1"}\n',
    'orders.json': '[{"destination":"news","body":"2"}]',
    'token.txt': `${TOKEN}\n`,
    'postrider.yaml': 'queues:\n  - name: orders\n    parallelism: 2\n',
  },
  folders: ['.zfunc', join('.config', 'fish', 'completions')],
  calls: [
    ['topics', 'add', 'news', 'http://127.0.0.1:3000/hook'],
    ['account', 'create', 'shop'],
    ['publish', 'http://127.0.0.1:3000/hook', '--delay', '1d', '--quiet'],
  ],
} as const;

interface Service {
  readonly url: string;
  readonly folder: string;
  readonly greeting: string;
}

const folder = mkdtempSync(join(tmpdir(), 'postrider-docs-'));
let path: string;
const services = new Map<string, Service>();
const children: ChildProcess[] = [];

export function openShell(): void {
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
  shim(
    'curl',
    `case " $* " in *' --fail '*) ;; *) set -- --fail-with-body "$@" ;; esac
PATH='${process.env.PATH}' exec curl --silent --show-error "$@"`,
  );
  path = `${shims}${delimiter}${process.env.PATH}`;
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
}

export async function closeShell(): Promise<void> {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'close');
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function environment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:POSTRIDER_|NODE_TEST|NODE_OPTIONS|XDG_)/.test(name),
  ) as [string, string][];
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
  const here = text
    .replace(/--port \d+/, '--port 0')
    .replace('--host 0.0.0.0', '--host 127.0.0.1')
    .replace('--data /var/lib/postrider', '--data data');
  const output = startInBackground('bash', ['-c', here], home, environment({ POSTRIDER_PORT: '0' }));
  const greeting = /API +(http:\S+)\n[\s\S]*Token|^\{"api":"(http:[^"]+)".*\}\n/;
  const [, shown, asJson] = await waitFor(`the greeting of ${text}`, () => greeting.exec(output()) ?? undefined);
  const service = { url: (shown ?? asJson)!, folder: home, greeting: output() };
  services.set(text, service);
  return service;
}

const isStart = ({ language, text }: Block) =>
  language === 'sh' && /^(?:npx )?postrider (?:dev|serve)(?: --\S+(?: (?:[^-\s']\S*|'[^']*'))?)*$/.test(text);

/** What the page as a whole is run with. */
export class PageRun {
  readonly page: string;
  readonly work: string;
  #service: Service | null = null;
  #data: string | null = null;
  #portOfPage = '8411';
  #receiverPort = 0;
  #receiver: (() => string) | null = null;
  #lastOutput = '';
  #lastId = '';
  #ackUrl = '';

  constructor(page: string) {
    this.page = page;
    this.work = join(folder, page.replaceAll('/', '-'));
    mkdirSync(this.work);
  }

  /** A program that is not on this machine is told to `onMissing`. */
  async run(block: Block, index: number, onMissing: OnMissing): Promise<void> {
    this.#receiverPort ||= await freePort();
    if (isStart(block)) {
      this.#portOfPage = /--port (\d+)/.exec(block.text)?.[1] ?? '8411';
      const started = await startService(block.text);
      if (started.greeting.includes(TOKEN)) this.#service = started;
      if (block.text.includes('--data /var/lib/postrider')) this.#data = join(started.folder, 'data');
      return;
    }
    if (this.#service === null) {
      this.#service = await startService('npx postrider dev');
      if (this.page === 'docs/cli.md') await this.#layOut();
    }
    if (block.language === 'sh' || block.language === 'bash') return this.#shell(block);
    if (block.language === 'js') return this.#program(block, index);
    return this.#read(block, onMissing);
  }

  async #layOut(): Promise<void> {
    for (const [name, text] of Object.entries(AT_HAND.files)) writeFileSync(join(this.work, name), text);
    for (const name of AT_HAND.folders) mkdirSync(join(this.work, name), { recursive: true });
    for (const call of AT_HAND.calls) await this.#inProcess(call);
  }

  /** The text with what is the test's own in place of what the page says. */
  #here(text: string): string {
    const { url, folder: home } = this.#service!;
    return text
      .replaceAll(`http://127.0.0.1:${this.#portOfPage}`, url)
      .replaceAll('https://postrider.example.com', url)
      .replaceAll('https://example.com/hook', `${url}/dev/sink/ok`)
      .replaceAll('127.0.0.1:3000', `127.0.0.1:${this.#receiverPort}`)
      .replaceAll('listen(3000', `listen(${this.#receiverPort}`)
      .replaceAll(/msg_(?:[0-9A-Z]{26}|…)/g, this.#lastId)
      .replaceAll('--data /var/lib/postrider', `--data ${this.#directory(text, home)}`)
      .replaceAll('"$ACK_URL"', this.#ackUrl)
      .replaceAll('/backup/', `${this.work}/`)
      .replaceAll('postrider-2026-01-31.db', globSync('postrider-*.db', { cwd: this.work })[0] ?? 'none');
  }

  /** A restore is made into an empty directory. */
  #directory(text: string, home: string): string {
    return text.includes('restore') ? join(this.work, 'restored') : (this.#data ?? join(home, '.postrider'));
  }

  #environment(): Record<string, string> {
    return environment({
      POSTRIDER_URL: this.#service!.url,
      POSTRIDER_TOKEN: TOKEN,
      TZ: 'UTC',
      HOME: this.work,
    });
  }

  async #shell({ text }: Block): Promise<void> {
    if (this.page === 'docs/cli.md') return this.#lines(text);
    await this.#bash(this.#here(text));
  }

  /** Each line by itself; a plain call in this process, which costs less than a process of its own. */
  async #lines(text: string): Promise<void> {
    for (const line of text.split('\n')) {
      const idOfPage = this.#lastId;
      if (line.startsWith('postrider messages update')) {
        // The message of the page has been cancelled.
        this.#lastId = '';
        await this.#inProcess(['publish', 'http://127.0.0.1:3000/hook', '--delay', '1d', '-q']);
      }
      if (line.startsWith('postrider ack')) this.#ackUrl ||= await this.#awaitedAck();
      const [call] = callsIn(line);
      const isPlain = call && !/[|<>]/.test(line) && !COMMANDS.some((name) => line.startsWith(`postrider ${name}`));
      const asked = this.#here(line).replace(/^postrider dlq retry .*/, '$& --yes');
      if (isPlain) await this.#inProcess(callsIn(asked)[0]!.words);
      else await this.#bash(asked);
      if (idOfPage !== '') this.#lastId = idOfPage;
    }
  }

  /** The Ack-Url of a delivery that the sink has answered with 202. */
  async #awaitedAck(): Promise<string> {
    const { url } = this.#service!;
    await this.#inProcess(['publish', `${url}/dev/sink/status/202`, '--await-ack', '1h', '-q']);
    return waitFor('a delivery with an Ack-Url', async () => {
      const response = await fetch(`${url}/v2/dev/requests`, { headers: { Authorization: `Bearer ${TOKEN}` } });
      return /https?:[^"]*\/v2\/acks\/[^"]+/.exec(await response.text())?.[0];
    });
  }

  async #bash(text: string): Promise<void> {
    const running = shell('bash', ['-euo', 'pipefail', '-c', text], {
      cwd: this.work,
      env: this.#environment(),
      timeout: 120_000,
    });
    // Nothing is written, because a shell that has ended already would break the pipe.
    running.child.stdin!.end();
    this.#keep((await running).stdout);
  }

  async #inProcess(words: readonly string[]): Promise<void> {
    const before = process.cwd();
    process.chdir(this.work);
    try {
      const { PATH, POSTRIDER_LOG_LEVEL, HOME, ...env } = this.#environment();
      const ran = await runCli(
        words.map((word) => this.#here(word)),
        {
          env: { ...env, XDG_CONFIG_HOME: join(this.work, '.config') },
          stdin: `${TOKEN}\n`,
        },
      );
      assert.equal(ran.code, 0, `postrider ${words.join(' ')}\n${ran.stdout}${ran.stderr}`);
      if (words[0] === 'publish' && words.includes('1d')) this.#keep(ran.stdout);
    } finally {
      process.chdir(before);
    }
  }

  #keep(stdout: string): void {
    this.#lastOutput = stdout;
    if (this.page === 'docs/cli.md' && this.#lastId !== '') return;
    this.#lastId = /msg_[0-9A-Z]{26}/.exec(stdout)?.[0] ?? this.#lastId;
  }

  async #program({ text }: Block, index: number): Promise<void> {
    const file = join(this.work, `block-${index}.mjs`);
    // A checkout has the sources of the package in place of the package.
    const here = this.#here(text).replace(` 'postrider'`, ` '${join(ROOT, 'server', 'src', 'index.ts')}'`);
    writeFileSync(file, `${WRITTEN_BEFORE.get(this.page) ?? ''}${here}`);
    if (!text.includes('.listen(')) {
      await shell(process.execPath, [file], { cwd: this.work, env: environment(), timeout: 120_000 });
      return;
    }
    const output = startInBackground(process.execPath, [file], this.work);
    await waitFor('the receiver of the page', () => output().includes('listening'));
    this.#receiver = output;
  }

  async #read({ language, text }: Block, onMissing: OnMissing): Promise<void> {
    if (language === 'json') await this.#checkJson(text);
    else if (language === 'text') this.#checkGreeting(text);
    else if (language === 'yaml') await this.#checkYaml(text);
    else if (language === 'ini') await judgedBySystemd(text, this.work, onMissing);
    else if (language === 'nginx') await judgedByNginx(text, this.work, onMissing);
    else if (language === 'ts') assert.ok(COMPILED.includes(this.page), `nothing compiles ${this.page}`);
    // Without a language it is a picture.
    else if (language === '') return;
    // Run with a real delivery by signatures.test.ts.
    else assert.equal(this.page, 'docs/guides/signatures.md', `nothing runs ${language}`);
  }

  /** A file, a request, or an answer as the command before it has printed it, with other values. */
  async #checkJson(text: string): Promise<void> {
    if (this.page === 'docs/cli.md') {
      const file = join(this.work, 'config.json');
      writeFileSync(file, text, { mode: 0o600 });
      assert.ok(readClientFile(file, true));
      return;
    }
    if (this.page === 'docs/api.md') {
      await this.#call('POST', '/v2/topics/my-topic/endpoints', '{"endpoints":[{"url":"https://example.com/a"}]}');
      const results = JSON.parse(await this.#call('POST', '/v2/batch', text)) as unknown[];
      assert.match(JSON.stringify(results), /^\[\{"messageId":"msg_[^}]*\},\[\{"messageId":"msg_[^}]*\}\]\]$/);
      return;
    }
    const answer =
      this.page === 'docs/testing.md' ? await this.#call('POST', '/v2/dev/clock', '{"advance":0}') : this.#lastOutput;
    const shape = (value: object) => Object.keys(value).sort();
    assert.deepEqual(shape(JSON.parse(text)), shape(JSON.parse(answer)));
  }

  async #call(method: string, where: string, body: string): Promise<string> {
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
    const response = await fetch(`${this.#service!.url}${where}`, { method, headers, body });
    const answer = await response.text();
    assert.ok(response.ok, answer);
    assert.deepEqual([response.headers.get('service-warning'), response.headers.get('warning')], [null, null]);
    return answer;
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
    if ('scrape_configs' in parseYaml(text)) return this.#checkPrometheus(text);
    const file = join(this.work, 'resources.yaml');
    writeFileSync(file, this.#here(text));
    const { code, stderr } = await runCli(['apply', '-f', file, '--url', url, '--token', TOKEN]);
    assert.equal(code, 0, stderr);
  }

  /** Where Prometheus' own tool is installed, it reads the settings and the rules that they name. */
  #checkPrometheus(text: string): void {
    const { rule_files: rules } = parseYaml(text) as { readonly rule_files: readonly string[] };
    for (const rule of rules) copyFileSync(join(ROOT, 'deploy', 'prometheus', rule), join(this.work, rule));
    const promtool = programPath('promtool');
    if (promtool === null) return;
    const file = join(this.work, 'prometheus.yaml');
    writeFileSync(file, text);
    const { status, stdout, stderr } = spawnSync(promtool, ['check', 'config', file], { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
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
