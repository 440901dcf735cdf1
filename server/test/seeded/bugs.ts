// The bugs that `npm run seeded` plants, by the promise that each breaks.

import { ACCESS_BUGS } from './bugs-access.ts';
import { LIMIT_BUGS } from './bugs-limits.ts';
import { MESSAGE_BUGS } from './bugs-messages.ts';
import { SIMULATION_BUGS } from './bugs-simulation.ts';
import type { SeededBugs } from './seeded.ts';

export const BUGS: SeededBugs = { ...MESSAGE_BUGS, ...LIMIT_BUGS, ...ACCESS_BUGS, ...SIMULATION_BUGS };
