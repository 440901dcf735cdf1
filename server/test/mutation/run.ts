// `npm run mutation`: makes small mistakes in the pure rules of `rules/`, one at a time, and runs the tests of the module.
// Prints how many were noticed, and every one that was not. Fails when too few were, or when one has no explanation.

import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { installed } from '../../../packaging/installed.ts';
import { type Mutant, mutantsOf, type Parse, planted, withoutTypes } from './mutants.ts';
import {
  faultsOf,
  hashOf,
  type Result,
  readResults,
  SCORE_MIN,
  scoreOf,
  sentenceOf,
  totalOf,
  writeResults,
} from './results.ts';

const HERE = import.meta.dirname;
const ROOT = join(HERE, '..', '..', '..');
const SRC = join(ROOT, 'server', 'src');
const TESTS = join(ROOT, 'server', 'test');
/** Pure as well, but for its parser of addresses. */
const ALSO = ['delivery/egress/egress.ts'];
const USAGE = `npm run mutation                            every module of server/src/rules, and the egress guard
                                            that has changed, or whose tests have, since its result was written
npm run mutation -- --again                  every module, changed or not
npm run mutation -- --only '^(clock|cron)$'  those whose names match
npm run mutation -- --lived                  only the mistakes that no test noticed the last time; writes no result
npm run mutation -- --count                  how many mistakes there are
The results are in server/test/mutation/results.md. It fails below ${SCORE_MIN} %, and when a mistake that no test notices has no
reason in server/test/mutation/equivalent.ts.
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

/** Where the pure rules are, and their tests. Some are tested with those of another folder. */
const PURE = ['rules/**', 'runtime/collections'];

/** The tests that import the module themselves, or else those that import one that does. */
function testsOf(file: string): string[] {
  const [folder, name] = [dirname(file), basename(file, '.ts')];
  const places = /^(?:rules|runtime)\//.test(file) ? PURE : [folder];
  const tests = globSync(
    places.map((place) => `${place}/*.test.ts`),
    { cwd: TESTS },
  ).map((test) => join(TESTS, test));
  let modules = new Set([name]);
  for (let depth = 0; depth < 4; depth += 1) {
    const found = tests.filter((test) => importsOf(test).some((each) => modules.has(each)));
    const own = found.filter((test) => basename(test).startsWith(name));
    if (found.length > 0) return [...own, ...found.filter((test) => !own.includes(test))];
    const importers = globSync(
      places.map((place) => `${place}/*.ts`),
      { cwd: SRC },
    ).filter((each) => importsOf(join(SRC, each)).some((imported) => modules.has(imported)));
    modules = new Set(importers.map((each) => basename(each, '.ts')));
  }
  return [];
}

interface Trial {
  readonly module: string;
  readonly tests: readonly { readonly test: string; readonly msMax: number }[];
  readonly text: string;
}

/** Whether all tests pass, one file after the other. */
async function isUnnoticed(folder: string, { module, tests, text }: Trial): Promise<boolean> {
  const path = join(folder, `${crypto.randomUUID()}.js`);
  writeFileSync(path, text);
  const mutation = { MUTATED_MODULE: pathToFileURL(module).href, MUTATED_TEXT: path };
  // The other modules are compiled once. That is half of the time.
  const env = { ...process.env, ...mutation, NODE_NO_WARNINGS: '1', NODE_COMPILE_CACHE: join(folder, 'compiled') };
  const flags = ['--import', join(HERE, 'plant.ts'), `--test-reporter=${join(HERE, 'stop-at-first.ts')}`];
  try {
    for (const { test, msMax } of tests) {
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

/** The line with the mistake in it. */
function lineOf(source: string, mutant: Mutant): string {
  const text = planted(source, mutant);
  const from = text.lastIndexOf('\n', mutant.start - 1) + 1;
  const to = text.indexOf('\n', mutant.start + mutant.replacement.length);
  return text.slice(from, to).trim();
}

interface Module {
  readonly file: string;
  readonly source: string;
  readonly mutants: readonly Mutant[];
  readonly tests: readonly string[];
}

async function tryAll({ file, source, mutants, tests: paths }: Module, folder: string): Promise<Mutant[]> {
  const module = join(SRC, file);
  const script = withoutTypes(source);
  const tests: { test: string; msMax: number }[] = [];
  for (const test of paths) {
    const startedMs = performance.now();
    if (!(await isUnnoticed(folder, { module, tests: [{ test, msMax: 300_000 }], text: script }))) {
      throw new Error(`${test} fails without a mistake in ${file}`);
    }
    tests.push({ test, msMax: (performance.now() - startedMs) * MORE_TIMES + MORE_MS });
  }
  const left = [...mutants];
  const lived: Mutant[] = [];
  const take = async () => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      if (await isUnnoticed(folder, { module, tests, text: planted(script, mutant) })) lived.push(mutant);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.floor(cpus().length / 2)) }, take));
  return lived.toSorted((a, b) => a.start - b.start);
}

async function judge(module: Module, folder: string): Promise<Result> {
  const { file, source, mutants, tests } = module;
  const hash = hashOf(source, mutants, tests);
  const lived = tests.length === 0 ? mutants : await tryAll(module, folder);
  process.stdout.write(`${file}: ${mutants.length - lived.length} of ${mutants.length} noticed\n`);
  for (const mutant of lived) {
    const line = source.slice(0, mutant.start).split('\n').length;
    process.stdout.write(`  ${line}: ${mutant.kind}: ${lineOf(source, mutant)}\n`);
  }
  return { hash, made: mutants.length, lived: lived.map((mutant) => lineOf(source, mutant)) };
}

function withoutNoticed({ mutants, ...module }: Module, known: Result | undefined): Module {
  const lived = mutants.filter((mutant) => !known || known.lived.includes(lineOf(module.source, mutant)));
  return { ...module, mutants: lived };
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      again: { type: 'boolean' },
      lived: { type: 'boolean' },
      count: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const only = new RegExp(values.only ?? '');
  const parse = await parser();
  const all = [
    ...globSync(
      PURE.map((place) => `${place}/*.ts`),
      { cwd: SRC },
    ).sort(),
    ...ALSO,
  ]
    .map((file): Module => {
      const source = readFileSync(join(SRC, file), 'utf8');
      return { file, source, mutants: mutantsOf(source, parse), tests: testsOf(file) };
    })
    .filter(({ mutants }) => mutants.length > 0);
  const chosen = all.filter(({ file }) => only.test(basename(file, '.ts')));
  if (values.count) {
    for (const { file, mutants, tests } of chosen) {
      process.stdout.write(`${mutants.length}\t${file}\t${tests.map((test) => basename(test)).join(' ')}\n`);
    }
    return 0;
  }
  const folder = mkdtempSync(join(tmpdir(), 'postrider-mutation-'));
  const results = new Map([...readResults()].filter(([file]) => all.some((module) => module.file === file)));
  try {
    for (const module of chosen) {
      const known = results.get(module.file);
      if (values.lived) {
        await judge(withoutNoticed(module, known), folder);
      } else if (values.again || known?.hash !== hashOf(module.source, module.mutants, module.tests)) {
        results.set(module.file, await judge(module, folder));
        writeResults(results);
      }
    }
    if (values.lived) return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const faults = faultsOf(new Map([...results].filter(([file]) => chosen.some((module) => module.file === file))));
  const total = totalOf(results);
  process.stdout.write([...faults, `${results.size} of ${all.length} modules: ${sentenceOf(total)}`, ''].join('\n'));
  return faults.length > 0 || scoreOf(total) < SCORE_MIN ? 1 : 0;
}

process.exitCode = await main();
