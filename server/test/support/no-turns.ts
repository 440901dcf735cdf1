// The turns of accounts for an engine whose event loop is never busy: nobody waits.

import type { Turns } from '../../src/delivery/engine/engine-options.ts';

export const NO_TURNS: Turns = {
  mustWait: () => false,
  wait: (_user, work) => work(),
  nowMs: () => 0,
  chargeEach: () => {},
};
