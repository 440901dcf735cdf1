// For an engine and a runner of schedules whose work is charged to nobody.

import type { LoopCharges } from '../../src/delivery/engine/engine-options.ts';
import type { LoopTurns } from '../../src/runtime/loop-turns.ts';

export const NO_TURNS: LoopCharges & Pick<LoopTurns, 'charge'> = {
  nowMs: () => 0,
  charge: () => {},
  chargeEach: () => {},
};
