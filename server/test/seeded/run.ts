// `npm run seeded`: plants each bug in a copy of the project, runs the tests that should notice it, and prints whether it
// was caught or lived. The same tests must pass in the copy without a bug, or a failure would show nothing.

import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { startTestServer } from '../postgres/server.ts';
import { BUGS } from './bugs.ts';
import { placeOf } from './find-text.ts';
import { runTests } from './run-tests.ts';
import { noticesOf, type SeededBug } from './seeded.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const USAGE = `npm run seeded                     plant every bug, one after another
npm run seeded -- --only <pattern>  those whose promise, line, store or tests match
npm run seeded -- --part 2/4        the second quarter of them
npm run seeded -- --list            print them
`;
/** Only a test that waits in vain takes so long. */
const PLANTED_MS_MAX = 25_000;
const SOUND_MS_MAX = 120_000;
/** A bug that makes the program meaningless is noticed by every test, and shows nothing. */
const MEANINGLESS = /SyntaxError|ReferenceError|ERR_MODULE_NOT_FOUND|is not a function/;

interface Chosen {
  readonly promise: string;
  readonly bug: SeededBug;
}

/** All but what is made or installed; that is shared with the project. */
function copyOfProject(): string {
  const copy = mkdtempSync(join(tmpdir(), 'postrider-seeded-'));
  const left = new Set(['node_modules', '.git', 'dist', '.postrider']);
  cpSync(ROOT, copy, {
    recursive: true,
    filter: (source) =>
      !relative(ROOT, source)
        .split('/')
        .some((part) => left.has(part)),
  });
  for (const folder of globSync(['node_modules', '*/node_modules', 'console/dist'], { cwd: ROOT })) {
    mkdirSync(join(copy, folder, '..'), { recursive: true });
    symlinkSync(join(ROOT, folder), join(copy, folder));
  }
  return copy;
}

function needsPostgres({ on, noticedBy }: SeededBug): boolean {
  return on === 'postgres' || noticedBy.some((text) => text.includes('postgres') || text.startsWith('cluster/'));
}

function envOf({ on }: SeededBug, homeUrl: string | undefined): NodeJS.ProcessEnv {
  return { ...(homeUrl && { POSTRIDER_TEST_POSTGRES: homeUrl }), ...(on && { POSTRIDER_TEST_STORE: on }) };
}

/** Runs each file once with all tests that are named of it. Returns what is wrong. */
async function whyUseless(copy: string, chosen: readonly Chosen[], homeUrl: string | undefined): Promise<string[]> {
  const groups = Map.groupBy(
    chosen.flatMap(({ bug }) => noticesOf(bug).map((notice) => ({ ...notice, bug }))),
    ({ file, bug }) => `${bug.on} ${file}`,
  );
  const wrong: string[] = [];
  for (const notices of groups.values()) {
    const { file, bug } = notices[0]!;
    const words = notices.some((notice) => notice.words === null) ? [] : notices.flatMap(({ words }) => words ?? []);
    const testMsMax = Math.max(SOUND_MS_MAX, ...notices.map(({ bug }) => bug.testMsMax ?? 0));
    const run = { files: [file], words: [...new Set(words)], env: envOf(bug, homeUrl), testMsMax };
    const { isPassed, passed, failed, output } = await runTests(copy, run);
    if (!isPassed) wrong.push(`${file} fails without a bug: ${failed[0] ?? output}`);
    for (const { words } of notices) {
      const isRun = passed.some((name) => words === null || name.includes(words));
      if (!isRun) wrong.push(`${file} has no test "${words}"`);
    }
  }
  return wrong;
}

/** Returns the name of a test that failed, or null. */
async function plant(copy: string, bug: SeededBug, homeUrl: string | undefined): Promise<string | null> {
  const { file, planted } = placeOf(ROOT, bug);
  const path = join(copy, file);
  const before = readFileSync(path);
  writeFileSync(path, planted);
  try {
    for (const { file: test, words } of noticesOf(bug)) {
      const run = {
        files: [test],
        words: words === null ? [] : [words],
        env: envOf(bug, homeUrl),
        testMsMax: bug.testMsMax ?? PLANTED_MS_MAX,
      };
      const { isPassed, failed, output } = await runTests(copy, run);
      if (isPassed) continue;
      const meaningless = MEANINGLESS.exec(output);
      return meaningless ? `${meaningless[0]}: ${failed[0]}` : (failed[0] ?? 'the run, which did not end');
    }
    return null;
  } finally {
    writeFileSync(path, before);
  }
}

function chosenBy(only: string | undefined, part: string | undefined): Chosen[] {
  const pattern = new RegExp(only ?? '', 'i');
  const all = Object.entries(BUGS)
    .flatMap(([promise, bugs]) => bugs.map((bug) => ({ promise, bug })))
    .filter(({ promise, bug }) => pattern.test(`${promise}: ${bug.breaks} ${bug.in} ${bug.noticedBy.join(' ')}`));
  const [, which, of] = /^([1-9]\d*)\/([1-9]\d*)$/.exec(part ?? '1/1') ?? [];
  if (which === undefined) throw new Error('--part is written as 2/4');
  const size = Math.ceil(all.length / Number(of));
  return all.slice((Number(which) - 1) * size, Number(which) * size);
}

/** Returns how many lived, or null if the tests show nothing. */
async function plantAll(chosen: readonly Chosen[], homeUrl: string | undefined): Promise<number | null> {
  const copy = copyOfProject();
  let lived = 0;
  try {
    const useless = await whyUseless(copy, chosen, homeUrl);
    if (useless.length > 0) {
      process.stderr.write(`${useless.join('\n')}\n`);
      return null;
    }
    for (const { promise, bug } of chosen) {
      const startedMs = performance.now();
      const by = await plant(copy, bug, homeUrl);
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(5);
      if (by === null || MEANINGLESS.test(by)) lived += 1;
      const result = by === null ? 'LIVED ' : MEANINGLESS.test(by) ? 'BROKEN' : 'caught';
      process.stdout.write(`${result} ${seconds} s  ${promise}: ${bug.breaks}${by === null ? '' : ` (${by})`}\n`);
    }
    return lived;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const { values } = parseArgs({ options: { only: text, part: text, list: flag, help: flag } });
  const chosen = chosenBy(values.only, values.part);
  if (values.help) process.stdout.write(USAGE);
  if (values.list) for (const { promise, bug } of chosen) process.stdout.write(`${promise}: ${bug.breaks}\n`);
  if (values.help || values.list) return 0;
  if (chosen.length === 0) {
    process.stderr.write(`no bug matches ${values.only}\n`);
    return 1;
  }
  const server = chosen.some(({ bug }) => needsPostgres(bug)) ? await startTestServer() : null;
  try {
    const lived = await plantAll(chosen, server?.homeUrl);
    if (lived === null) return 1;
    process.stdout.write(`${chosen.length - lived} caught, ${lived} lived\n`);
    return lived === 0 ? 0 : 1;
  } finally {
    await server?.stop();
  }
}

process.exitCode = await main();
