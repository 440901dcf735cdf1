// A disk that is nearly full for a service: its minimum is more than the disk has.

import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { whySkipped } from './machine.ts';
import { onlySqlite } from './store-under-test.ts';

/** The most that can be asked for. */
const MINIMUM = { text: '1024GiB', bytes: 1024 ** 4 };

export const NEARLY_FULL: readonly string[] = ['--min-free-disk-bytes', MINIMUM.text];

/** Why no disk here is nearly full; false where one is: what `node:test` takes as `skip`. */
export function neverNearlyFull(): string | false {
  if (onlySqlite) return onlySqlite;
  const { bavail, bsize } = statfsSync(tmpdir());
  return bavail * bsize >= MINIMUM.bytes && whySkipped('small disk');
}
