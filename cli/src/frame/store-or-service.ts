// Whether a command about accounts and tokens is for a store on this machine or for a service.

import type { Environment } from '../../../server/src/node/settings/config.ts';
import type { Args } from './arguments.ts';

const STORE_FLAGS = ['data', 'store'];
const SERVICE_FLAGS = ['url', 'token', 'token-file', 'profile', 'config'];
const STORE_VARIABLES = ['POSTRIDER_DATA', 'POSTRIDER_STORE'];
const SERVICE_VARIABLES = [
  'POSTRIDER_URL',
  'POSTRIDER_TOKEN',
  'POSTRIDER_TOKEN_FILE',
  'POSTRIDER_PROFILE',
  'POSTRIDER_CONFIG',
];

/** What the flags name, or else the environment variables. Null when neither names a store or a service. */
function said(hasFlag: (flag: string) => boolean, env: Environment): 'store' | 'service' | null {
  if (STORE_FLAGS.some(hasFlag)) return 'store';
  if (SERVICE_FLAGS.some(hasFlag)) return 'service';
  if (STORE_VARIABLES.some((name) => env[name])) return 'store';
  return SERVICE_VARIABLES.some((name) => env[name]) ? 'service' : null;
}

/** True only when the caller names a store. */
export function isForStore(given: Args, env: Environment): boolean {
  return said((flag) => given.has(flag), env) === 'store';
}

/** Whether `token create` works directly in a store: always, unless flags or variables name a service. */
export function isTokenCreatedInStore(argv: readonly string[], env: Environment): boolean {
  const hasFlag = (flag: string) => argv.some((each) => each === `--${flag}` || each.startsWith(`--${flag}=`));
  return said(hasFlag, env) !== 'service';
}
