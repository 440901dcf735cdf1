// SQLite passes the suite of every store adapter, on both of its executors.

import { storeConformance } from './conformance.ts';
import { inMemory, onThread } from './sqlite-harness.ts';

storeConformance('SQLite in memory', inMemory);
storeConformance('SQLite on its thread, in a directory', onThread);
