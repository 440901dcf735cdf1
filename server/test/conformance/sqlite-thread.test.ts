// SQLite on its thread, in a directory, passes the suite of every store adapter.

import { storeConformance } from './conformance.ts';
import { onThread } from './sqlite-harness.ts';

storeConformance('SQLite on its thread, in a directory', onThread);
