// Loaded before each test file when many are run. Threads of the service run from the built program, and the file
// reports the processor time that it and its child processes took.

import { appendFileSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import workerThreads, { isMainThread, Worker, type WorkerOptions } from 'node:worker_threads';

const THREAD = /\/server\/src\/(lane|store\/sqlite\/(?:backup-)?thread)\.ts$/;
/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

function startBuiltThreads(command: string): void {
  const dist = pathToFileURL(`${join(command, '..', '..', 'dist')}/`);
  workerThreads.Worker = class extends Worker {
    constructor(file: string | URL, options?: WorkerOptions) {
      const name = THREAD.exec(String(file))?.[1];
      if (name === undefined) super(file, options);
      // Without the flags of this process, which load this file.
      else super(new URL(`${name}.js`, dist), { execArgv: [], ...options });
    }
  };
  syncBuiltinESMExports();
}

/** Of this process and of those of its children that have ended; those of Chromium among them, but not the database. */
function processorMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
}

if (isMainThread && process.env.NODE_TEST_CONTEXT !== undefined) {
  const { POSTRIDER_TEST_BIN: command, POSTRIDER_TEST_PROCESSOR: report } = process.env;
  if (command !== undefined) startBuiltThreads(command);
  if (report !== undefined && process.platform === 'linux') {
    process.on('exit', () => {
      appendFileSync(report, `${JSON.stringify({ kind: 'processor', file: process.argv[1], ms: processorMs() })}\n`);
    });
  }
}
