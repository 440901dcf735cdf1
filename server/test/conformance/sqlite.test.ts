// SQLite in memory passes the suite of every store adapter.

import { storeConformance } from './conformance.ts';
import { inMemory } from './sqlite-harness.ts';

storeConformance('SQLite in memory', inMemory);
