#!/usr/bin/env node
// The command. Plain JavaScript that also old versions of Node.js can read, so that they get one clear line and not a
// syntax error; everything else is in cli/src.

var wanted = 24;

// The allocator of glibc reads these when a process begins, and no later. Left to itself it keeps the memory of large
// buffers that were let go, and does so for each thread: after a minute of large requests that is more than all that is in
// use. So a buffer of 128 KiB or more goes back to the system at once.
var ALLOCATOR = { MALLOC_ARENA_MAX: '4', MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '1048576' };

// Half of what it is by default, for each of the threads.
var NEW_SPACE = '--max-semi-space-size=16';

if (Number(process.versions.node.split('.')[0]) < wanted) {
  process.stderr.write(
    'postrider needs Node.js ' +
      wanted +
      ' or newer; this is ' +
      process.versions.node +
      '. In a checkout, "npm start" uses the right one.\n',
  );
  process.exitCode = 1;
} else {
  const isSingleFile = process.getBuiltinModule('node:sea').isSea();
  beginAnew(isSingleFile);
  // V8 sees at the start that some kinds of objects live long, and then allocates their like in the old generation, also
  // those of requests. There each keeps what it refers to until the next full collection.
  process.getBuiltinModule('node:v8').setFlagsFromString('--no-allocation-site-pretenuring');
  // Look-ups of names run on this pool, on half of its threads: as many as the table of budgets lets run at once, so
  // that none ever waits for a thread. Fewer would let one account's dead name servers hold up all others.
  const threads = Number(process.env.UV_THREADPOOL_SIZE);
  process.env.UV_THREADPOOL_SIZE = String(threads > 128 ? threads : 128);
  if (!isSingleFile) {
    // A third of the work to start. Inside the package, because what lies in a folder that others can write to is run.
    const { fileURLToPath } = process.getBuiltinModule('node:url');
    const folder = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));
    process.getBuiltinModule('node:module').enableCompileCache(folder);
  }
  import('../../cli/src/main.ts');
}

/** The same process with these settings, once, and only for what goes on running. Settings of the user are left as they are. */
function beginAnew(isSingleFile) {
  const isService = process.argv[2] === 'serve' || process.argv[2] === 'dev';
  const isSet = Object.keys(ALLOCATOR).some((name) => process.env[name] !== undefined);
  const isDebugged = process.execArgv.some((flag) => flag.startsWith('--inspect'));
  if (process.platform !== 'linux' || !isService || isSet || isDebugged || !process.execve) return;
  const hasSpace = `${process.execArgv} ${process.env.NODE_OPTIONS}`.includes('semi-space');
  const flags = hasSpace ? process.execArgv : [NEW_SPACE, ...process.execArgv];
  // A single file has its flags inside, and takes all arguments for those of the command.
  const args = isSingleFile ? process.argv.slice(2) : [...flags, ...process.argv.slice(1)];
  try {
    process.execve(process.execPath, [process.execPath, ...args], { ...process.env, ...ALLOCATOR });
  } catch {
    // Where that is not allowed the service runs all the same, with more memory.
  }
}
