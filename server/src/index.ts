// What a program imports from the package: a development service inside its own process, for its tests. In production the
// service is a process of its own, `postrider serve`.

import { startPostrider } from './node/main.ts';
import { parseConfig } from './node/settings/config.ts';

export interface DevService {
  /** Such as `http://127.0.0.1:8411`. */
  readonly url: string;
  /** Authenticates every call: `Authorization: Bearer …`. */
  readonly token: string;
  /** Stops accepting, lets running attempts end, and closes the store. */
  close(): Promise<void>;
}

/**
 * Starts the service of `postrider dev`, with its flags. Resolves when the service accepts messages. Rejects with one
 * error that names everything wrong with the flags. For a test with its own port and data: `startDev(['--port', '0',
 * '--data', folder])`. `env` has the settings that are not flags, such as POSTRIDER_LOG_LEVEL. Default: `process.env`.
 */
export async function startDev(
  flags: readonly string[] = [],
  env?: Readonly<Record<string, string | undefined>>,
): Promise<DevService> {
  const parsed = parseConfig('dev', flags, env);
  if ('help' in parsed) throw new Error('--help is for the command line: postrider dev --help');
  if ('problems' in parsed) throw new Error(`postrider dev cannot start: ${parsed.problems.join('; ')}`);
  const { url, token, close } = await startPostrider(parsed.config);
  return {
    url,
    token: token!,
    close: async () => {
      await close();
    },
  };
}
