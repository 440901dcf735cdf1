// A store over PostgreSQL for tests that are not about an absent database. Beside other work, a database that is there may
// be silent for longer than a service may wait for it.

import { systemWorld } from '../../src/runtime/world.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { type OpenOptions, openPostgresStore } from '../../src/store/postgres/sessions/open.ts';

/** Longer than a machine that is only busy leaves a process waiting. */
export const PATIENCE_MS = 60_000;

export function openPatiently(
  options: Omit<OpenOptions, 'timers' | 'log'> & Partial<Pick<OpenOptions, 'timers'>>,
): Promise<Store> {
  return openPostgresStore({
    timers: systemWorld().clock,
    log: () => {},
    morePatienceMs: PATIENCE_MS,
    ...options,
  });
}
