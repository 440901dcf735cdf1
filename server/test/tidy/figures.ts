// `npm run figures`: counts what decision 25 speaks of, in this tree or in another one (`npm run figures -- DIR`): the verbs of
// the store's ports, the lines of both adapters and how much of one stands in the other again, the longest function and file,
// circles of imports, the largest folders, complicated functions, and the files on the way of a plain publish: those that the
// map names, and those that run something.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { filesOfAPublish } from './publish-coverage.ts';
import {
  CRUMB_LINES,
  circlesOf,
  complexFunctions,
  filesOf,
  filesOnTheWay,
  folderSizes,
  importsIn,
  linesIn,
  longestFunction,
  portVerbs,
} from './shape.ts';

const root = process.argv[2] ?? join(import.meta.dirname, '..', '..', '..');
/** The service and the command; in older trees the command is a folder of the service. */
const FOLDERS = ['server/src', 'cli/src'].filter((folder) => existsSync(join(root, folder)));

const linesOf = (paths: readonly string[]) => linesIn(root, paths);

/** Lines that say something: no comment, no import, no lone punctuation. */
function telling(lines: readonly string[]): string[] {
  return lines
    .map((line) => line.trim())
    .filter((line) => !/^(?:\/\/|\/?\*|import |export \{)/.test(line) && /\w.*\w.*\w.*\w/.test(line));
}

for (const [port, verbs] of portVerbs(root)) console.log(`${port}: ${verbs} verbs`);

const [sqlite, postgres] = ['sqlite', 'postgres'].map((name) => linesOf(filesOf(root, `server/src/store/${name}`)));
const other = new Set(telling(postgres!));
const own = telling(sqlite!);
const again = own.filter((line) => other.has(line)).length;
console.log(
  `SQLite ${sqlite!.length} lines, PostgreSQL ${postgres!.length}; ${Math.round((100 * again) / own.length)} % of the first stands in the second again`,
);

for (const part of [...FOLDERS, 'sdk/src', 'console/src']) {
  const paths = filesOf(root, part);
  const longestFile = Math.max(...paths.map((path) => linesOf([path]).length));
  const crumbs = paths.filter((path) => linesOf([path]).length <= CRUMB_LINES).length;
  console.log(
    `${part}: ${linesOf(paths).length} lines, longest function ${longestFunction(root, part)}, longest file ${longestFile}, ${crumbs} files of at most ${CRUMB_LINES} lines`,
  );
}

console.log(`circles of imports: ${circlesOf(importsIn(root, FOLDERS)).length}`);
const largest = folderSizes(root, FOLDERS).slice(0, 3);
console.log(`largest folders: ${largest.map(([folder, files]) => `${folder} ${files}`).join(', ')}`);
for (const folder of FOLDERS) {
  const complex = complexFunctions(root, folder, 10);
  console.log(
    `${folder}: functions with a cognitive complexity over 10: ${complex.length}, the worst ${complex.slice(0, 5).join(', ')}`,
  );
}

if (existsSync(join(root, 'ARCHITECTURE.md'))) {
  const way = filesOnTheWay(root);
  const lines = linesOf(way).length;
  console.log(`a plain publish passes ${way.length} files (${lines} lines), as ARCHITECTURE.md names them`);
}

const ran = await filesOfAPublish(root);
if (ran) {
  const functions = [...ran.values()].reduce((sum, names) => sum + names.size, 0);
  console.log(
    `a plain publish and its delivery run ${functions} functions in ${ran.size} files of server/src, on the threads of the node and of the store`,
  );
}
