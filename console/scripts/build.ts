// Builds the console. `--if-stale` does so only when a source is newer than what was built last, `--if-missing` only when
// nothing was built at all. Neither is a reason for an installation or a start to fail: without the packages that build
// it, they say so in one line.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const BUILT = join(root, 'dist', 'index.html');
const SOURCES = ['src', 'public', 'index.html', 'vite.config.ts', '../sdk/src', '../package-lock.json'];

function newest(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function isFresh(): boolean {
  const builtAt = newest(BUILT);
  return builtAt > 0 && SOURCES.every((source) => newest(join(root, source)) <= builtAt);
}

const isOptional = process.argv.length > 2;
const isNeeded = process.argv.includes('--if-missing') ? newest(BUILT) === 0 : !isOptional || !isFresh();
if (isNeeded) {
  try {
    const { build } = await import('vite');
    await build({ root, configFile: join(root, 'vite.config.ts'), logLevel: 'error' });
  } catch (error) {
    if (!isOptional) throw error;
    console.error(`The console was not built (${(error as Error).message.split('\n')[0]}). npm run build tries again.`);
  }
}
