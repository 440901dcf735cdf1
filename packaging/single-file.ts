// Builds dist/postrider-<platform>-<processor>: Node.js, the program, the console and the migrations in one executable, for
// the platform that builds it.

import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { THREAD_FILES } from '../server/src/shipped-files.ts';
import { ABSENT, buildPackages } from './build.ts';

const ROOT = join(import.meta.dirname, '..');
const SERVER = join(ROOT, 'server');

async function bundle(input: string, file: string, format: 'esm' | 'cjs'): Promise<void> {
  const build = await rolldown({ cwd: ROOT, input, platform: 'node', external: ABSENT });
  await build.write({ file, format, keepNames: true, codeSplitting: false });
  await build.close();
}

/** Everything that shipped-files.ts asks for, by the name it asks for. */
function assets(dist: string, threads: string): Record<string, string> {
  const read = globSync(['console/**/*.*', 'store/*/migrations/*.sql'], { cwd: dist });
  return {
    'package.json': join(SERVER, 'package.json'),
    ...Object.fromEntries(read.map((path) => [path.replaceAll('\\', '/'), join(dist, path)])),
    ...Object.fromEntries(THREAD_FILES.map((name) => [`${name}.js`, join(threads, `${name}.js`)])),
  };
}

/** The Node.js that goes in: this one, on Linux without its debug symbols, which are a quarter of it. */
function executable(work: string): string {
  if (process.platform !== 'linux') return process.execPath;
  try {
    const stripped = join(work, 'node');
    execFileSync('strip', ['-o', stripped, process.execPath], { stdio: 'ignore' });
    return stripped;
  } catch {
    return process.execPath;
  }
}

/** Builds it from the packages in `folder`, beside them. Returns the path of the executable. */
export async function buildSingleFile(folder: string): Promise<string> {
  const work = join(folder, 'single-file');
  mkdirSync(work, { recursive: true });
  const main = join(work, 'main.js');
  await bundle(join(SERVER, 'bin', 'postrider.js'), main, 'esm');
  // Text that a thread runs is CommonJS.
  for (const name of THREAD_FILES) await bundle(join(SERVER, 'src', `${name}.ts`), join(work, `${name}.js`), 'cjs');
  const extension = process.platform === 'win32' ? '.exe' : '';
  const output = join(folder, `postrider-${process.platform}-${process.arch}${extension}`);
  const config = {
    main,
    mainFormat: 'module',
    executable: executable(work),
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    // As server/bin/postrider.js gives it to other installations.
    execArgv: ['--max-semi-space-size=16'],
    assets: assets(join(folder, 'postrider', 'dist'), work),
  };
  writeFileSync(join(work, 'config.json'), JSON.stringify(config));
  execFileSync(process.execPath, ['--build-sea', join(work, 'config.json')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  rmSync(work, { recursive: true });
  return output;
}

if (import.meta.main) {
  const dist = join(ROOT, 'dist');
  await buildPackages(dist);
  const file = await buildSingleFile(dist);
  process.stdout.write(`${file}: ${Math.round(statSync(file).size / 1_000_000)} MB\n`);
}
