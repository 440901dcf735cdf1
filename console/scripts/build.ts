// Builds the console. `--if-stale` does so only when a source is newer than what was built last, and is no reason for an
// installation to fail: without the packages that build it, it says so in one line.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const SOURCES = ['src', 'public', 'index.html', 'vite.config.ts', '../sdk/src', '../package-lock.json'];

function newest(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function isFresh(): boolean {
  const builtAt = newest(join(root, 'dist', 'index.html'));
  return builtAt > 0 && SOURCES.every((source) => newest(join(root, source)) <= builtAt);
}

const isOnlyIfStale = process.argv.includes('--if-stale');
if (!isOnlyIfStale || !isFresh()) {
  try {
    const { build } = await import('vite');
    await build({ root, configFile: join(root, 'vite.config.ts'), logLevel: 'error' });
  } catch (error) {
    if (!isOnlyIfStale) throw error;
    console.error(`The console was not built (${(error as Error).message.split('\n')[0]}). npm run build tries again.`);
  }
}
