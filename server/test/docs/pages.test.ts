// Every code block of README.md, the guides and the pages about running it is run as a reader would. What cannot be run
// here is listed with the reason: the command line itself reads each call of ours in it, and the shell reads all of it.

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { Ajv } from 'ajv';
import { parse as parseYaml } from 'yaml';
import { lacks, whySkipped } from '../support/machine.ts';
import {
  type Block,
  blocksOf,
  brokenTables,
  callProblem,
  callsIn,
  commandProblem,
  commandsIn,
  ROOT,
  readPage,
  simpleCommands,
} from './blocks.ts';
import { closeShell, openShell, PageRun, shell } from './page-run.ts';

const GUIDES = globSync('docs/guides/*.md', { cwd: ROOT }).sort();
const PAGES = [
  ...['README.md', 'server/README.md', 'sdk/README.md', 'docs/README.md', 'docs/quick-start.md', 'docs/concepts.md'],
  ...GUIDES,
  ...['operations', 'deployment', 'configuration', 'testing', 'api', 'sdk', 'sdk-from-qstash', 'cli'].map(
    (name) => `docs/${name}.md`,
  ),
];

/** Lines that are not run, by their page and a part of their text. The other lines of their block are run. */
const NOT_RUN: readonly (readonly [page: string, part: string, why: string])[] = [
  ['README.md', 'docker build', 'needs Docker; npm run check:image builds and runs the image'],
  ['README.md', 'npm ci && npm run dev', 'installs this checkout again; .ci/run begins with npm ci'],
  ['README.md', 'npm ci && npm test', 'this is one of the tests that it runs'],
  ['README.md', 'npm run pack', 'takes a minute; packages.test.ts packs, installs and starts the package'],
  ['README.md', 'npm install', 'installs from the registry; packages.test.ts installs the package'],
  ['README.md', '--store postgres://', 'needs a database called db.internal; all of outside/ runs on PostgreSQL'],
  ['server/README.md', 'npm install', 'installs from the registry; packages.test.ts installs the package'],
  ['sdk/README.md', 'npm install', 'installs from the registry; packages.test.ts installs the package'],
  ['docs/guides/backups.md', 'pg_', 'needs a database called db.internal'],
  ['docs/guides/outages.md', 'example:outage', 'takes minutes; outage-example.test.ts runs it with a short outage'],
  ['docs/guides/upgrades.md', 'npm install', 'installs from the registry; packages.test.ts installs the package'],
  ['docs/guides/upgrades.md', 'systemctl', 'restarts a unit of systemd; deploy.test.ts has the unit verified'],
  ['docs/operations.md', 'npm install', 'installs from the registry; packages.test.ts installs the package'],
  ['docs/operations.md', 'POSTRIDER_STORE', 'needs a database called host; store/ and outside/ run these commands'],
  ['docs/operations.md', 'postrider backup', 'docs/guides/backups.md has the same call'],
  ['docs/operations.md', 'postrider restore', 'docs/guides/backups.md has the same call'],
  ['docs/deployment.md', 'sudo ', 'needs root and a running systemd; deploy.test.ts has the unit verified'],
  ['docs/deployment.md', 'docker ', 'needs Docker; npm run check:image builds and runs the image'],
  ['docs/deployment.md', 'helm ', 'needs Helm; the values are checked below, the templates by deploy.test.ts'],
  ['docs/deployment.md', 'kubectl ', 'needs Kubernetes'],
  ['docs/configuration.md', 'postrider serve', 'its settings are read below'],
  ['docs/testing.md', 'npm install', 'installs from the registry; packages.test.ts installs the packages'],
  ['docs/cli.md', 'postrider tail', 'goes on until it is stopped; cli/test/messages.test.ts runs it'],
  ['docs/cli.md', 'token create --admin', 'docs/operations.md has the same call'],
  ['docs/cli.md', 'postrider restore', 'docs/guides/backups.md has the same call'],
  ['docs/cli.md', 'postrider doctor', 'calls a host of the internet; cli/test/doctor.test.ts runs it'],
];

const isShell = ({ language }: Block) => language === 'sh' || language === 'bash';
const isSet = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The lines as a shell sees them: one that ends with a backslash goes on. */
function linesOf({ text }: Block): string[] {
  return text
    .replaceAll('\\\n', '\u0000')
    .split('\n')
    .map((line) => line.replaceAll('\u0000', '\\\n'));
}

/** The block without what is not run, and the reasons for that. */
function runnable(block: Block): { readonly rest: Block | null; readonly reasons: readonly string[] } {
  if (!isShell(block)) return { rest: block, reasons: [] };
  const left = (line: string) => NOT_RUN.find(([page, part]) => page === block.page && line.includes(part));
  const lines = linesOf(block);
  const text = lines.filter((line) => !left(line)).join('\n');
  const reasons = new Set(lines.flatMap((line) => left(line)?.[2] ?? []));
  return { rest: text.trim() === '' ? null : { ...block, text }, reasons: [...reasons] };
}

before(openShell);
after(closeShell);

suite('the code blocks of the documentation', () => {
  for (const page of PAGES) {
    const blocks = blocksOf(page);
    if (blocks.length === 0) continue;
    test(`${page}: every block works as it is pasted`, { skip: lacks('bash', 'curl') }, async (t) => {
      const run = new PageRun(page);
      for (const [index, block] of blocks.entries()) {
        const { rest, reasons } = runnable(block);
        for (const why of reasons) t.diagnostic(`of line ${block.line} not all is run: ${why}`);
        try {
          if (isShell(block)) await shell('bash', ['-n', '-c', block.text]);
          if (rest) await run.run(rest, index, (program) => t.skip(whySkipped(program)));
        } catch (error) {
          const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string };
          throw new Error(`${page}:${block.line}: ${message}\n${stdout}\n${stderr}`, { cause: error });
        }
      }
      await run.end();
    });
  }

  test('the README begins with the two commands of a clone: one that starts the service, one that runs the tests', () => {
    const [first, second] = blocksOf('README.md').filter(isShell);
    assert.equal(first?.text.trim(), 'npm ci && npm run dev');
    assert.equal(second?.text.trim(), 'npm ci && npm test');
  });

  test('what is not run is there', () => {
    for (const [page, part] of NOT_RUN) {
      const lines = blocksOf(page).filter(isShell).flatMap(linesOf);
      assert.ok(
        lines.some((line) => line.includes(part)),
        `${page}: ${part}`,
      );
    }
  });

  test('the program takes every call of a block: command, arguments, flags and their values', () => {
    let count = 0;
    for (const { page, line, text } of PAGES.flatMap(blocksOf).filter(isShell)) {
      for (const call of callsIn(text)) {
        count += 1;
        assert.equal(callProblem(call), null, `${page}:${line}: postrider ${call.words.join(' ')}`);
      }
    }
    assert.ok(count > 50, `found only ${count}`);
    const problemOf = (text: string) => callsIn(text).map(callProblem).join();
    assert.match(problemOf('sudo -u postrider postrider publish x --dealy 1s'), /--dealy/);
    assert.match(problemOf('echo | npx postrider publish x --delay \\\n "soon"'), /--delay/);
    assert.match(problemOf('docker exec postrider postrider pubilsh x'), /no command/);
    assert.match(problemOf(`A=1 postrider serve --tiers '{"fre":{}}' > file`), /--tiers/);
  });

  test('every command and flag of ours that the prose of a page names exists, and every npm script', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
    let count = 0;
    for (const page of [...PAGES, 'CONTRIBUTING.md', 'docs/performance.md', 'docs/scaling.md']) {
      const text = readPage(page);
      for (const words of commandsIn(text)) {
        count += 1;
        assert.equal(commandProblem(words), null, `${page}: postrider ${words.join(' ')}`);
      }
      for (const [, script] of text.matchAll(/npm run ([\w:-]+)/g)) assert.ok(Object.hasOwn(scripts, script!), script!);
    }
    assert.ok(count > 50, `found only ${count}`);
    assert.match(commandProblem(['publish', '--dealy', '1s']) ?? '', /--dealy/);
    assert.match(commandProblem(['pubilsh', 'x']) ?? '', /no command/);
  });

  test('every file of this repository that a block names exists, and the chart takes every value', () => {
    const chart = join('deploy', 'helm', 'postrider');
    const isValid = new Ajv({ strict: false }).compile(JSON.parse(readPage(join(chart, 'values.schema.json'))));
    let [files, charts] = [0, 0];
    for (const { page, line, text } of PAGES.flatMap(blocksOf).filter(isShell)) {
      for (const words of simpleCommands(text)) {
        for (const word of words.filter((each) => /^(?:deploy|docs|server|cli|sdk)\//.test(each))) {
          files += 1;
          assert.ok(existsSync(join(ROOT, word)), `${page}:${line}: ${word}`);
        }
        if (words[0] !== 'helm') continue;
        charts += 1;
        const values = parseYaml(readPage(join(chart, 'values.yaml'))) as Record<string, unknown>;
        for (const [at, word] of words.entries()) if (words[at - 1] === '--set') setValue(values, word);
        assert.ok(isValid(values), `${page}:${line}: ${JSON.stringify(isValid.errors)}`);
      }
    }
    assert.ok(files > 5 && charts > 1, `${files} files, ${charts} charts`);
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

/** As `helm --set a.b=c` does. */
function setValue(values: Record<string, unknown>, given: string): void {
  const [path, text] = given.split('=') as [string, string];
  const keys = path.split('.');
  let at = values;
  for (const key of keys.slice(0, -1)) {
    const next = at[key];
    assert.ok(isSet(next), `values.yaml has no ${path}`);
    at = next as Record<string, unknown>;
  }
  assert.ok(Object.hasOwn(at, keys.at(-1)!), `values.yaml has no ${path}`);
  at[keys.at(-1)!] = parseYaml(text);
}
