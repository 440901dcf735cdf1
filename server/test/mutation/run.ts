// `npm run mutation`: makes small mistakes in the pure rules of `domain/`, one at a time, and runs the tests of the module.
// Prints how many were noticed, and every one that was not.

import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { installed } from '../../../packaging/installed.ts';
import { type Mutant, mutantsOf, type Parse, planted } from './mutants.ts';

const HERE = import.meta.dirname;
const ROOT = join(HERE, '..', '..', '..');
const SRC = join(ROOT, 'server', 'src');
const TESTS = join(ROOT, 'server', 'test');
/** Pure as well, but for its parser of addresses. */
const ALSO = ['delivery/egress.ts'];
const USAGE = `npm run mutation                            every module of server/src/domain, and the egress guard
npm run mutation -- --only '^(clock|cron)$'  those whose names match
npm run mutation -- --count                  how many mistakes there are
`;
/** A mistake may make a loop endless. */
const MORE_TIMES = 4;
const MORE_MS = 5000;

async function parser(): Promise<Parse> {
  // Not one of the project's own packages: nobody else needs it.
  await installed(HERE);
  const { parse } = (await import(pathToFileURL(join(HERE, 'node_modules/acorn/dist/acorn.mjs')).href)) as {
    parse: Parse;
  };
  return parse;
}

function importsOf(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  return [...text.matchAll(/from '[^']*?([\w-]+)\.ts'/g)].map(([, name]) => name!);
}

/** The tests of its folder that import the module themselves, or else those that import one that does. */
function testsOf(file: string): string[] {
  const [folder, name] = [dirname(file), basename(file, '.ts')];
  const tests = globSync(`${folder}/*.test.ts`, { cwd: TESTS }).map((test) => join(TESTS, test));
  let modules = new Set([name]);
  for (let depth = 0; depth < 4; depth += 1) {
    const found = tests.filter((test) => importsOf(test).some((each) => modules.has(each)));
    const own = found.filter((test) => basename(test).startsWith(name));
    if (found.length > 0) return [...own, ...found.filter((test) => !own.includes(test))];
    const importers = globSync(`${folder}/*.ts`, { cwd: SRC }).filter((each) =>
      importsOf(join(SRC, each)).some((imported) => modules.has(imported)),
    );
    modules = new Set(importers.map((each) => basename(each, '.ts')));
  }
  return [];
}

interface Trial {
  readonly module: string;
  readonly tests: readonly string[];
  readonly text: string;
  readonly msMax: number;
}

/** Whether all tests pass, one file after the other. */
async function isUnnoticed(folder: string, { module, tests, text, msMax }: Trial): Promise<boolean> {
  const path = join(folder, `${crypto.randomUUID()}.ts`);
  writeFileSync(path, text);
  const env = { ...process.env, MUTATED_MODULE: pathToFileURL(module).href, MUTATED_TEXT: path, NODE_NO_WARNINGS: '1' };
  const flags = ['--import', join(HERE, 'plant.ts'), `--test-reporter=${join(HERE, 'stop-at-first.ts')}`];
  try {
    for (const test of tests) {
      const child = spawn(process.execPath, [...flags, test], { env, stdio: 'ignore' });
      const timer = setTimeout(() => child.kill('SIGKILL'), msMax);
      const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
      clearTimeout(timer);
      if (code !== 0) return false;
    }
    return true;
  } finally {
    rmSync(path);
  }
}

function lineOf(source: string, { start, end, replacement, kind }: Mutant): string {
  const line = source.slice(0, start).split('\n').length;
  const shown = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 60);
  return `${line}: ${kind}: ${shown(source.slice(start, end))} → ${shown(replacement)}`;
}

interface Score {
  readonly noticed: number;
  readonly made: number;
}

async function judge(file: string, parse: Parse, folder: string): Promise<Score> {
  const module = join(SRC, file);
  const source = readFileSync(module, 'utf8');
  const mutants = mutantsOf(source, parse);
  const tests = testsOf(file);
  if (mutants.length === 0) return { noticed: 0, made: 0 };
  if (tests.length === 0) {
    process.stdout.write(`${file}: ${mutants.length} not tried, because tests from outside alone know it\n`);
    return { noticed: 0, made: 0 };
  }
  const startedMs = performance.now();
  if (!(await isUnnoticed(folder, { module, tests, text: source, msMax: 300_000 }))) {
    throw new Error(`the tests of ${file} fail without a mistake`);
  }
  const msMax = (performance.now() - startedMs) * MORE_TIMES + MORE_MS;
  const left = [...mutants];
  const lived: Mutant[] = [];
  const take = async () => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      if (await isUnnoticed(folder, { module, tests, text: planted(source, mutant), msMax })) lived.push(mutant);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.floor(cpus().length / 2)) }, take));
  const noticed = mutants.length - lived.length;
  process.stdout.write(`${file}: ${noticed} of ${mutants.length} noticed\n`);
  for (const mutant of lived.toSorted((a, b) => a.start - b.start)) {
    process.stdout.write(`  ${lineOf(source, mutant)}\n`);
  }
  return { noticed, made: mutants.length };
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { only: { type: 'string' }, count: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const only = new RegExp(values.only ?? '');
  const files = [...globSync('domain/*.ts', { cwd: SRC }).sort(), ...ALSO].filter((file) =>
    only.test(basename(file, '.ts')),
  );
  const parse = await parser();
  if (values.count) {
    for (const file of files) {
      const count = mutantsOf(readFileSync(join(SRC, file), 'utf8'), parse).length;
      process.stdout.write(
        `${count}\t${file}\t${testsOf(file)
          .map((test) => basename(test))
          .join(' ')}\n`,
      );
    }
    return 0;
  }
  const folder = mkdtempSync(join(tmpdir(), 'postrider-mutation-'));
  let [noticed, made] = [0, 0];
  try {
    for (const file of files) {
      const score = await judge(file, parse, folder);
      noticed += score.noticed;
      made += score.made;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${noticed} of ${made} mistakes were noticed: ${((100 * noticed) / made).toFixed(1)} %\n`);
  return 0;
}

process.exitCode = await main();
