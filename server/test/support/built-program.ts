// The program as one bundle, for runs of many tests: a process or a thread of it starts in half the time of one that
// reads hundreds of sources. It is built anew when a source has changed.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildProgram } from '../../../packaging/build.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const SOURCES = [
  '{server,cli,sdk}/src/**/*',
  'server/bin/*',
  'server/package.json',
  'console/dist/**/*',
  'package-lock.json',
];
const STAMP = 'built-from';

/** The path of its command, which stays the same: what was compiled for an earlier run need not be compiled again. */
export async function builtCommand(cache: string): Promise<string> {
  const folder = join(cache, 'program');
  const stamp = stampOfSources();
  if (!existsSync(join(folder, STAMP)) || readFileSync(join(folder, STAMP), 'utf8') !== stamp) {
    mkdirSync(cache, { recursive: true });
    const fresh = mkdtempSync(join(dirname(folder), 'program-'));
    // Some tests run a process as another user.
    chmodSync(fresh, 0o755);
    await buildProgram(fresh);
    writeFileSync(join(fresh, STAMP), stamp);
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
  }
  return join(folder, 'bin', 'postrider.js');
}

function stampOfSources(): string {
  const hash = createHash('sha256');
  for (const file of globSync(SOURCES, { cwd: ROOT }).sort()) {
    const { mtimeMs, size } = statSync(join(ROOT, file));
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex');
}

/** Starts it once and stops it: only a process that ends by itself keeps what it has compiled, and tests kill most. */
export async function compileOnce(command: string, env: NodeJS.ProcessEnv): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'postrider-warm-'));
  const argv = [command, 'dev', '--json', '--host', '127.0.0.1', '--port', '0', '--data', data, '--log-level', 'error'];
  const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  child.stdout!.once('data', () => child.kill('SIGTERM'));
  await ended;
  rmSync(data, { recursive: true, force: true });
}
