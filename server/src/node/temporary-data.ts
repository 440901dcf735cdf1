// The data directory of a service that keeps nothing: created at the start, removed at the end.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, TEMPORARY_DATA } from './settings/config.ts';

export interface TemporaryData {
  readonly config: Config;
  /** Does nothing for a directory that is kept. */
  remove(): void;
}

/** The settings with a directory that exists, if they ask for a temporary one. */
export function withTemporaryData(config: Config): TemporaryData {
  if (config.data !== TEMPORARY_DATA) return { config, remove: () => {} };
  const data = mkdtempSync(join(tmpdir(), 'postrider-'));
  const remove = () => {
    process.off('exit', remove);
    // A thread that is just closing may still hold a file on some systems.
    rmSync(data, { recursive: true, force: true, maxRetries: 3 });
  };
  // For an end without a close, such as a second signal.
  process.on('exit', remove);
  return { config: { ...config, data }, remove };
}
