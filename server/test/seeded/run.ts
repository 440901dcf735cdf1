// `npm run seeded`: plants each bug in a copy of the project, runs the tests that should notice it, and prints whether it
// was caught or lived. The same tests must pass in the copy without a bug, or a failure would show nothing.

import { spawn } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { startTestServer } from '../postgres/server.ts';
import { BUGS } from './bugs.ts';
import { placeOf } from './find-text.ts';
import type { SeededBug } from './seeded.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const USAGE = `npm run seeded                     plant every bug, one after another
npm run seeded -- --only <pattern>  those whose promise or line matches
`;
/** A bug may make a test wait for ever. */
const TEST_MS_MAX = 240_000;

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

interface Outcome {
  readonly isPassed: boolean;
  readonly output: string;
}

function runTests(
  copy: string,
  { noticedBy, on }: Pick<SeededBug, 'noticedBy' | 'on'>,
  env: NodeJS.ProcessEnv,
): Promise<Outcome> {
  const files = noticedBy.map((name) => join('server', 'test', `${name}.test.ts`));
  const flags = ['--test', '--test-concurrency=2', `--test-timeout=${TEST_MS_MAX}`, '--test-reporter=dot'];
  const child = spawn(process.execPath, [...flags, ...files], {
    cwd: copy,
    env: { ...process.env, ...env, ...(on && { POSTRIDER_TEST_STORE: on }) },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  return new Promise((resolve) => {
    child.once('close', (code) => resolve({ isPassed: code === 0, output }));
  });
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { only: { type: 'string' }, help: { type: 'boolean' } } });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const only = new RegExp(values.only ?? '', 'i');
  const chosen = Object.entries(BUGS).flatMap(([promise, bugs]) =>
    bugs.filter(({ breaks }) => only.test(`${promise}: ${breaks}`)).map((bug) => ({ promise, bug })),
  );
  if (chosen.length === 0) {
    process.stderr.write(`no bug matches ${values.only}\n`);
    return 1;
  }
  const copy = copyOfProject();
  const server = await startTestServer();
  const env = { POSTRIDER_TEST_POSTGRES: server.homeUrl };
  let lived = 0;
  try {
    const tests = new Map(
      chosen.map(({ bug: { noticedBy, on } }) => [`${on} ${noticedBy}`, { noticedBy, ...(on && { on }) }]),
    );
    for (const each of tests.values()) {
      const { isPassed, output } = await runTests(copy, each, env);
      if (isPassed) continue;
      process.stderr.write(`${output}\nThese tests fail without a bug: ${each.noticedBy.join(', ')}\n`);
      return 1;
    }
    for (const { promise, bug } of chosen) {
      const { file, planted } = placeOf(ROOT, bug);
      const before = readFileSync(join(copy, file));
      writeFileSync(join(copy, file), planted);
      const { isPassed } = await runTests(copy, bug, env);
      writeFileSync(join(copy, file), before);
      if (isPassed) lived += 1;
      process.stdout.write(`${isPassed ? 'LIVED ' : 'caught'}  ${promise}: ${bug.breaks} (${file})\n`);
    }
  } finally {
    await server.stop();
    rmSync(copy, { recursive: true, force: true });
  }
  process.stdout.write(`${chosen.length - lived} caught, ${lived} lived\n`);
  return lived === 0 ? 0 : 1;
}

process.exitCode = await main();
