// SQLite on its thread, in a directory, passes the suite of every store adapter. `npm test` runs it in memory.

import { lengthOf } from '../support/campaign.ts';
import { storeConformance } from './conformance.ts';
import { onThread } from './sqlite-harness.ts';

const PART = lengthOf({ short: 'transfer', rest: 'transfer', whole: 'whole' } as const);

storeConformance('SQLite on its thread, in a directory', onThread, PART);
