#!/usr/bin/env node
// The command. Plain JavaScript that also old versions of Node.js can read, so that they get one clear line and not a
// syntax error; everything else is in cli/src.

var wanted = 24;

// glibc's memory allocator reads these settings only when a process begins. Without them, each thread keeps the memory
// of large buffers that were freed: after a minute of large requests, more memory is kept than used. With them, a
// buffer of 128 KiB or more is returned to the system at once.
var ALLOCATOR = { MALLOC_ARENA_MAX: '4', MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '1048576' };

// V8's memory for new objects, for each thread: half of the default.
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
  // V8 sees at the start which places in the code make long-lived objects. It then puts all later objects of these
  // places, even those of requests, into the old generation: there each keeps all it refers to until a full collection.
  process.getBuiltinModule('node:v8').setFlagsFromString('--no-allocation-site-pretenuring');
  // Look-ups of host names run on this pool of threads, on at most half of it. Half is as many as the table of budgets
  // lets run at once, so no look-up waits for a thread. With fewer, one account's dead name servers could hold up all.
  const threads = Number(process.env.UV_THREADPOOL_SIZE);
  process.env.UV_THREADPOOL_SIZE = String(threads > 128 ? threads : 128);
  if (!isSingleFile) {
    // Keeps compiled code, which saves a third of the start. The folder is inside the package: its content is executed,
    // so others must not be able to write to it.
    const { fileURLToPath } = process.getBuiltinModule('node:url');
    const folder = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));
    process.getBuiltinModule('node:module').enableCompileCache(folder);
  }
  import('../../cli/src/main.ts');
}

/**
 * Replaces this process by itself with the settings above, once, and only for commands that keep running. Does nothing
 * if the user has set one of the allocator's variables.
 */
function beginAnew(isSingleFile) {
  const isService = process.argv[2] === 'serve' || process.argv[2] === 'dev';
  const isSet = Object.keys(ALLOCATOR).some((name) => process.env[name] !== undefined);
  const isDebugged = process.execArgv.some((flag) => flag.startsWith('--inspect'));
  if (process.platform !== 'linux' || !isService || isSet || isDebugged || !process.execve) return;
  const hasSpace = `${process.execArgv} ${process.env.NODE_OPTIONS}`.includes('semi-space');
  const flags = hasSpace ? process.execArgv : [NEW_SPACE, ...process.execArgv];
  // A single executable has its flags inside. It takes all arguments for arguments of the command.
  const args = isSingleFile ? process.argv.slice(2) : [...flags, ...process.argv.slice(1)];
  try {
    process.execve(process.execPath, [process.execPath, ...args], { ...process.env, ...ALLOCATOR });
  } catch {
    // Where `execve` is not allowed, the service runs without these settings and uses more memory.
  }
}
