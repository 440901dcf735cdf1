// Checks the packages before a release: two builds are the same byte for byte, and the linters of packages and of types
// find nothing. What an installed package does is tested by server/test/packages.test.ts.

import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPackages } from './build.ts';
import { installed } from './installed.ts';

const PACKAGES = ['postrider', 'postrider-sdk'];

function packed(folder: string): string[] {
  const specs = PACKAGES.map((name) => join(folder, name));
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder, ...specs], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return globSync('*.tgz', { cwd: folder }).sort();
}

function lint(program: string, ...args: string[]): void {
  execFileSync(process.execPath, [join(linters, 'node_modules', program), ...args], { stdio: 'inherit' });
}

const linters = await installed(join(import.meta.dirname, 'linters'));
const folders = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'postrider-packages-')));
try {
  for (const folder of folders) await buildPackages(folder);
  const [tarballs, again] = folders.map(packed);
  const [first, second] = folders as [string, string];
  for (const [index, name] of tarballs!.entries()) {
    const isSame = readFileSync(join(first, name)).equals(readFileSync(join(second, again![index]!)));
    if (!isSame) throw new Error(`${name} differs from one build to the next`);
    lint('publint/src/cli.js', 'run', join(first, name), '--strict');
    // From Node.js 16 on, in modules and in CommonJS.
    lint('@arethetypeswrong/cli/dist/index.js', join(first, name), '--profile', 'node16');
  }
} finally {
  for (const folder of folders) rmSync(folder, { recursive: true });
}
