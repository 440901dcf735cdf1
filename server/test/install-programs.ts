// For `.ci/run`: installs the programs without which tests are skipped, as root on Debian. Elsewhere it does nothing, and the
// tests name what is missing.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { missingPackages } from './support/machine.ts';

const INSTALL = ['install', '-y', '--no-install-recommends'];

function aptGet(...args: string[]): number | null {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync('apt-get', ['-qq', ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] }).status;
}

const packages = missingPackages();
const canInstall = process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
if (packages.length > 0 && canInstall) {
  process.stdout.write(`installing ${packages.join(' ')}\n`);
  aptGet('update');
  // All at once is faster. If one of them is not to be had, the others are installed nevertheless.
  if (aptGet(...INSTALL, ...packages) !== 0) for (const name of packages) aptGet(...INSTALL, name);
}
