// Seeds that once showed something, run on every change from then on as they were found: `plain` without what extras.ts adds
// to a run. What a seed does changes with the generator; when that happens, find a new one by putting the old fault back in.

import type { Cast } from './extras.ts';

export const PINNED_SEEDS: readonly (readonly [seed: number, cast: Cast, showed: string])[] = [
  [
    2,
    'plain',
    'an orderly stop that gave up, with attempts under way, because the store did not answer at that moment',
  ],
  [6, 'plain', 'a queue whose parallelism was lowered to 1 and which still started the two heads it had chosen before'],
  [16, 'plain', 'an engine without a free slot that asked for work in circles, so that nothing else could ever happen'],
  [60, 'plain', 'a node that slept longer than it is trusted and then sent what it had claimed before'],
  [
    31,
    'plain',
    'a node that was frozen before it knew what a crash had left behind, and then asked for work in circles',
  ],
  [
    297400130,
    'plain',
    'a message from a node whose clock is behind, ahead in the order of a head that had already started',
  ],
];
