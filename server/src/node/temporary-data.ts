// The data directory of a service that keeps nothing: created at the start, removed at the end.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, TEMPORARY_DATA } from './settings/config.ts';

export interface TemporaryData {
  readonly config: Config;
  /** Removes the temporary directory. Does nothing for a directory that is kept. */
  remove(): void;
}

/** Creates a directory if the settings ask for a temporary one, and returns the settings with it. */
export function withTemporaryData(config: Config): TemporaryData {
  if (config.data !== TEMPORARY_DATA) return { config, remove: () => {} };
  const data = mkdtempSync(join(tmpdir(), 'postrider-'));
  const remove = () => {
    process.off('exit', remove);
    // On some systems a thread that is just closing may still hold a file.
    rmSync(data, { recursive: true, force: true, maxRetries: 3 });
  };
  // The process may end without a close, such as after a second signal.
  process.on('exit', remove);
  return { config: { ...config, data }, remove };
}
