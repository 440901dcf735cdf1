// The files that ship with the program and are not imported: migrations, the console, the code of threads. In a
// checkout they are beside the sources, in the package in dist/, and a single executable contains them.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import sea from 'node:sea';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';

// `sea` is imported as one object: not every supported Node.js exports all of its functions by name.

/** The contents of files, by their path inside the folder. The paths have forward slashes. */
export type Files = ReadonlyMap<string, Buffer>;

const isSource = import.meta.url.endsWith('.ts');
const PACKAGE = 'package.json';

/** The folders of the package's `dist/` that a checkout has elsewhere, with their path from `server/src`. */
const CHECKOUT: ReadonlyMap<string, string> = new Map([['console', '../../console/dist']]);

/** The version of this program, from its package.json. */
export const VERSION = shippedVersion();

function shippedVersion(): string {
  const text = sea.isSea()
    ? sea.getAsset(PACKAGE, 'utf8')
    : readFileSync(new URL(`../${PACKAGE}`, import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** All files of a folder; none if there is no such folder. */
export function shippedFiles(folder: 'console' | 'store/postgres/migrations' | 'store/sqlite/migrations'): Files {
  if (!sea.isSea()) return filesIn(new URL(`${(isSource && CHECKOUT.get(folder)) || folder}/`, import.meta.url));
  const inside = sea.getAssetKeys().filter((key) => key.startsWith(`${folder}/`));
  return new Map(inside.map((key) => [key.slice(folder.length + 1), Buffer.from(sea.getAsset(key))]));
}

/** All files of a folder and the folders in it, in the order of their names; none if there is no such folder. */
export function filesIn(folder: URL): Files {
  const root = fileURLToPath(folder);
  const files = entriesOf(root)
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path): [string, Buffer] => [relative(root, path).replaceAll('\\', '/'), readFileSync(path)]);
  return new Map(files.sort(([left], [right]) => (left < right ? -1 : 1)));
}

function entriesOf(root: string) {
  try {
    return readdirSync(root, { recursive: true, withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** The files that threads run: paths below this folder, without the extension. */
export const THREAD_FILES = [
  'node/lane',
  'store/sqlite/files/backup-thread',
  'store/sqlite/thread/checkpointer-thread',
  'store/sqlite/thread/thread',
] as const;

type ThreadFile = (typeof THREAD_FILES)[number];

let printed: ((text: string) => void) | null = null;

/**
 * Gives what threads print to this function. A thread prints only what Node.js itself has to say: it writes its own lines
 * to the log.
 */
export function takePrinted(take: (text: string) => void): void {
  printed = take;
}

/** Runs one of `THREAD_FILES` on a new thread. */
export function startThread(file: ThreadFile, options: Pick<WorkerOptions, 'workerData' | 'transferList' | 'name'>) {
  const worker = newThread(file, { ...options, stderr: printed !== null });
  if (printed !== null) worker.stderr.setEncoding('utf8').on('data', printed);
  return worker;
}

function newThread(file: ThreadFile, options: WorkerOptions): Worker {
  if (sea.isSea()) return new Worker(sea.getAsset(`${file}.js`, 'utf8'), { ...options, eval: true });
  // A thread inherits the flags of its process, but cannot start with --input-type, which runs a program given as text.
  const isOfText = process.execArgv.some((flag) => flag.startsWith('--input-type'));
  return new Worker(new URL(`${file}.${isSource ? 'ts' : 'js'}`, import.meta.url), {
    ...options,
    ...(isOfText && { execArgv: [] }),
  });
}
