// For an engine whose work is charged to nobody.

import type { Turns } from '../../src/delivery/engine/engine-options.ts';

export const NO_TURNS: Turns = {
  nowMs: () => 0,
  chargeEach: () => {},
};
