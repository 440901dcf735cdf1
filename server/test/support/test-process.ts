// Loaded before each test file when many are run. Threads of the service run from the built program, and the file
// reports the processor time that it and its child processes took.

import { appendFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import workerThreads, { isMainThread, Worker, type WorkerOptions } from 'node:worker_threads';
import { THREAD_FILES } from '../../src/shipped-files.ts';
import { processorMsOf } from './processor-time.ts';

function startBuiltThreads(command: string): void {
  const dist = pathToFileURL(`${join(command, '..', '..', 'dist')}/`);
  const built = new Map(
    THREAD_FILES.map((file) => [new URL(`../../src/${file}.ts`, import.meta.url).href, new URL(`${file}.js`, dist)]),
  );
  workerThreads.Worker = class extends Worker {
    constructor(file: string | URL, options?: WorkerOptions) {
      const replacement = built.get(String(file));
      if (replacement === undefined) super(file, options);
      // Without the flags of this process, which load this file.
      else super(replacement, { execArgv: [], ...options });
    }
  };
  syncBuiltinESMExports();
}

if (isMainThread && process.env.NODE_TEST_CONTEXT !== undefined) {
  const { POSTRIDER_TEST_BIN: command, POSTRIDER_TEST_PROCESSOR: report } = process.env;
  if (command !== undefined) startBuiltThreads(command);
  // A group reports each of its files.
  if (report !== undefined && process.env.POSTRIDER_TEST_GROUP === undefined) {
    process.on('exit', () => {
      const ms = processorMsOf(process.pid);
      if (ms !== null) appendFileSync(report, `${JSON.stringify({ file: process.argv[1], ms })}\n`);
    });
  }
}
