// The parts of its process that a command uses: where it writes, what it reads, the environment and the clock. Tests
// replace them.

import type { Environment } from '../../../server/src/node/settings/config.ts';
import type { World } from '../../../server/src/runtime/world.ts';

export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Returns false when the reader is behind. Then the caller must wait for `drained` before it writes more. */
  write(data: string | Uint8Array): boolean;
  /** Resolves when there is room again. */
  drained(): Promise<void>;
}

export interface Source extends AsyncIterable<Uint8Array> {
  readonly isTTY?: boolean;
}

export interface Io {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly stdin: Source;
  readonly env: Environment;
  readonly home: string;
  readonly world: World;
  /** Aborts at the first Ctrl-C or SIGTERM. */
  readonly interrupted: AbortSignal;
}
