// Builds the packages `postrider` and `postrider-sdk` into dist/, as folders that hold exactly what is published.
// docs/decisions/0026-packages.md says why the server is bundled with what it depends on.

import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
// It comes with Vite, which builds the console. Named as a dependency of ours as well, npm would demand its builds for
// every platform in the lock file.
import { rolldown } from 'rolldown';
import { minifySync } from 'rolldown/utils';
import { THREAD_FILES } from '../server/src/shipped-files.ts';
import { licencesOf } from './licences.ts';

const ROOT = join(import.meta.dirname, '..');
const SRC = join(ROOT, 'server', 'src');

/** Files that are started by name: the command, the threads, and what programs import. */
const ENTRIES = {
  'cli/main': join(ROOT, 'cli', 'src', 'main.ts'),
  ...Object.fromEntries(['index', ...THREAD_FILES].map((name) => [name, join(SRC, `${name}.ts`)])),
};
/** What the server reads while it runs. */
const READ = ['store/sqlite/migrations', 'store/postgres/migrations'];
const DEPENDENCIES = 'dependencies';
/** Loaded only where they are used: for a destination with HTTPS, for PostgreSQL, and by a command. */
const LOADED_LATE = new Map([
  ['undici', /^undici$/],
  ['pg', /^(?:pg|pg-.*|pgpass|postgres-.*|xtend)$/],
  ['yaml', /^yaml$/],
]);
/** Parts of a manifest. What the server depends on is inside it. */
const OF_THE_CHECKOUT = ['private', 'scripts', 'dependencies', 'devDependencies'];
/** Not installed, and asked for only where they are: a client in C, and a runtime that is not Node.js. */
export const ABSENT = ['pg-native', 'pg-cloudflare'];

/** Writes the folders `postrider` and `postrider-sdk` anew. */
export async function buildPackages(into: string): Promise<void> {
  const [server, sdk] = [join(into, 'postrider'), join(into, 'postrider-sdk')];
  for (const folder of [server, sdk]) rmSync(folder, { recursive: true, force: true });
  buildSdk(sdk);
  await buildServer(server);
}

/** Writes the folder of the SDK. */
export function buildSdk(folder: string): void {
  compile('tsconfig.sdk.json', join(folder, 'dist'));
  writeCommonJs(join(folder, 'dist'), Object.values(exportsOf('sdk')).map(sourceName));
  writeManifest('sdk', folder, {
    sideEffects: false,
    exports: { ...builtExports('sdk'), './package.json': './package.json' },
  });
  copyPages('sdk', folder);
}

async function buildServer(folder: string): Promise<void> {
  const modules = await buildProgram(folder);
  const dist = join(folder, 'dist');
  writeTypes(dist);
  writeCommonJs(dist, ['index']);
  copyPages('server', folder);
  const ofConsole = readFileSync(join(dist, 'console', 'licenses.md'), 'utf8');
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.md'), licencesOf(modules, ofConsole));
}

/** Writes all that the program needs to run, into a folder that is empty. Returns the files that went in. */
export async function buildProgram(folder: string): Promise<string[]> {
  const dist = join(folder, 'dist');
  run(join(ROOT, 'console', 'scripts', 'build.ts'), '--if-stale');
  const modules = await bundle(dist);
  for (const each of READ) cpSync(join(SRC, each), join(dist, each), { recursive: true });
  cpSync(join(ROOT, 'console', 'dist'), join(dist, 'console'), { recursive: true });
  writeCommand(folder);
  writeManifest('server', folder, { exports: { '.': entry('index'), './package.json': './package.json' } });
  return modules;
}

/** Returns the files that went in. */
async function bundle(dist: string): Promise<string[]> {
  const build = await rolldown({
    cwd: ROOT,
    input: ENTRIES,
    platform: 'node',
    external: ABSENT,
    onLog(level, log, handler) {
      if (level === 'warn') throw new Error(`the bundler warns: ${log.message}`);
      handler(level, log);
    },
  });
  const { output } = await build.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    // Flat: shipped-files.ts looks for files beside the chunk that it is in.
    chunkFileNames: '[name].js',
    sourcemap: true,
    // Names of classes appear in logs, and two modules may use the same one.
    keepNames: true,
    codeSplitting: { groups: [{ name: dependenciesOf, debugName: DEPENDENCIES, test: /[\\/]node_modules[\\/]/ }] },
  });
  await build.close();
  for (const { fileName } of output) {
    if (!fileName.startsWith(DEPENDENCIES)) continue;
    // The map of other people's code is as large as the code, and nobody steps through it.
    if (fileName.endsWith('.map')) rmSync(join(dist, fileName));
    else shorten(join(dist, fileName));
  }
  return output.flatMap((each) => (each.type === 'chunk' ? each.moduleIds : []));
}

function dependenciesOf(file: string): string {
  const [name] = /^(?:@[^\\/]+[\\/])?[^\\/]+/.exec(file.split(/[\\/]node_modules[\\/]/).at(-1)!)!;
  const late = [...LOADED_LATE].find(([, isOne]) => isOne.test(name));
  return late === undefined ? DEPENDENCIES : `${DEPENDENCIES}-of-${late[0]}`;
}

/**
 * Removes blanks and comments; names stay. A text with one character beyond Latin-1 takes twice its bytes in memory, and
 * the runtime keeps the text of every module. So these characters become escapes.
 */
function shorten(file: string): void {
  const options = {
    compress: false,
    mangle: false,
    codegen: { removeWhitespace: true, legalComments: 'none' },
  } as const;
  const { code, errors } = minifySync(file, readFileSync(file, 'utf8'), options);
  if (errors.length > 0) throw new Error(`the bundler cannot shorten ${file}: ${errors[0]!.message}`);
  const escaped = code.replace(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  writeFileSync(file, escaped);
}

/** The types of what programs import. They stand alone: they name no file of ours and no dependency. */
function writeTypes(dist: string): void {
  const types = join(dist, 'types');
  compile('tsconfig.server.json', types);
  const text = readFileSync(join(types, 'index.d.ts'), 'utf8');
  if (/\b(?:from|import)\b\s*[('"]/.test(text)) throw new Error(`the types of the package name other files:\n${text}`);
  writeFileSync(join(dist, 'index.d.ts'), text);
  rmSync(types, { recursive: true });
}

/**
 * For programs in CommonJS: each entry hands out the module, which every Node.js that we run on can require, and the types
 * are there a second time, because the compiler reads a .d.ts file of ours as that of a module.
 */
function writeCommonJs(dist: string, entries: readonly string[]): void {
  for (const name of entries) {
    writeFileSync(join(dist, `${name}.cjs`), `module.exports = require('./${basename(name)}.js');\n`);
  }
  for (const file of globSync('**/*.d.ts', { cwd: dist, exclude: ['console/**'] })) {
    const text = readFileSync(join(dist, file), 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, '');
    const named = text.replace(/((?:\bfrom|\bimport\(|\bimport)\s*['"]\.{1,2}\/[^'"]*)\.[jt]s(['"])/g, '$1.cjs$2');
    writeFileSync(join(dist, file.replace(/\.d\.ts$/, '.d.cts')), named);
  }
}

/** The command runs the sources in a checkout, and in the package what was made from them. */
function writeCommand(folder: string): void {
  const [source, built] = ["import('../../cli/src/main.ts')", "import('../dist/cli/main.js')"];
  const parts = readFileSync(join(ROOT, 'server', 'bin', 'postrider.js'), 'utf8').split(source);
  if (parts.length !== 2) throw new Error(`server/bin/postrider.js should have ${source} once`);
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin', 'postrider.js'), parts.join(built), { mode: 0o755 });
}

/** The manifest of a workspace, without what only the checkout uses. */
function writeManifest(workspace: string, folder: string, more: object): void {
  const all = JSON.parse(readFileSync(join(ROOT, workspace, 'package.json'), 'utf8')) as object;
  const published = Object.entries({ ...all, ...more }).filter(([key]) => !OF_THE_CHECKOUT.includes(key));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(Object.fromEntries(published), null, 2)}\n`);
}

function copyPages(workspace: string, folder: string): void {
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  cpSync(join(ROOT, workspace, 'README.md'), join(folder, 'README.md'));
}

/** The sources that a workspace exports, by the names for programs. */
function exportsOf(workspace: string): Readonly<Record<string, string>> {
  const manifest = readFileSync(join(ROOT, workspace, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { exports: Readonly<Record<string, string>> }).exports;
}

const sourceName = (source: string) => source.replace(/^\.\/src\/(.*)\.ts$/, '$1');

/** What a workspace exports, each source by the files that are built from it. */
function builtExports(workspace: string) {
  return Object.fromEntries(
    Object.entries(exportsOf(workspace)).map(([name, source]) => [name, entry(sourceName(source))]),
  );
}

function entry(file: string) {
  return {
    import: { types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` },
    require: { types: `./dist/${file}.d.cts`, default: `./dist/${file}.cjs` },
  };
}

function compile(project: string, into: string): void {
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  run(tsc, '-p', join(import.meta.dirname, project), '--outDir', into);
}

function run(...args: string[]): void {
  execFileSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
}

if (import.meta.main) await buildPackages(join(ROOT, 'dist'));
