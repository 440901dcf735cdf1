#!/usr/bin/env node
// The command. Plain JavaScript that also old versions of Node.js can read, so that they get one clear line and not a
// syntax error; everything else is in ../src/cli.

var wanted = 24;

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
  // Look-ups of names run on this pool, on half of its threads: as many as the table of budgets lets run at once, so
  // that none ever waits for a thread. Fewer would let one account's dead name servers hold up all others.
  const threads = Number(process.env.UV_THREADPOOL_SIZE);
  process.env.UV_THREADPOOL_SIZE = String(threads > 128 ? threads : 128);
  // A third of the work to start. Inside the package, because what lies in a folder that others can write to is run.
  const { fileURLToPath } = process.getBuiltinModule('node:url');
  const folder = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));
  process.getBuiltinModule('node:module').enableCompileCache(folder);
  import('../src/cli/main.ts');
}
