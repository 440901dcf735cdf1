// The process as a command sees it: its streams, its signals and its environment.

import { homedir } from 'node:os';
import { environment } from '../../../server/src/node/settings/config.ts';
import { systemWorld } from '../../../server/src/runtime/world.ts';
import { EXIT } from './exit-codes.ts';
import type { Io, OutputStream } from './terminal.ts';

/** Call this once. From then on the first Ctrl-C lets the command stop cleanly, and the second one ends it at once. */
export function processIo(): Io {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted) process.exit(signal === 'SIGTERM' ? EXIT.terminated : EXIT.interrupted);
      interrupted.abort(signal);
    });
  }
  return {
    stdout: sinkOf(process.stdout),
    stderr: sinkOf(process.stderr),
    stdin: process.stdin,
    env: environment(),
    home: homedir(),
    world: systemWorld(),
    interrupted: interrupted.signal,
  };
}

function sinkOf(stream: NodeJS.WriteStream): OutputStream {
  // The reader of a pipe may stop before the end, as "head -1" does. Then nobody needs the remaining output.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.done);
    if (stream === process.stdout) {
      process.stderr.write(
        `postrider: cannot write the result: ${error.message}\n  The call may have been carried out. Free some space, or write to another place.\n`,
      );
    }
    process.exit(EXIT.failed);
  });
  return {
    get isTTY() {
      return stream.isTTY;
    },
    get columns() {
      return stream.columns;
    },
    write: (data) => stream.write(data),
    drained: () =>
      new Promise((resolve) => {
        stream.once('drain', resolve);
      }),
  };
}
