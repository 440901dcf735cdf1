// Installs what is too large for `npm ci` into a temporary folder, for one test. Versions are exact. There is no
// lock file, because npm would demand builds for every platform in it.

import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The folder, with its `node_modules`. Scripts of packages are not run. */
export async function installed(name: string, after: (end: () => void) => void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `postrider-${name}-`));
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  cpSync(join(import.meta.dirname, name), folder, { recursive: true });
  await promisify(execFile)(
    'npm',
    ['install', '--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: folder,
      env: ownEnvironment(),
    },
  );
  return folder;
}

/** An npm that is started by `npm run` would work on the checkout. Where packages come from is kept. */
export function ownEnvironment(): NodeJS.ProcessEnv {
  const isForCheckout =
    /^(?:npm_(?!config_(?:registry|cache|userconfig)$)|INIT_CWD|NODE_(?!EXTRA_CA_CERTS$)|POSTRIDER_)/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForCheckout.test(name)));
}
