// SQLite against the array model, and against its limits. In memory: what differs on disk is not what these know.

import { limitsConformance } from './limits-conformance.ts';
import { modelConformance } from './model-conformance.ts';
import { inMemory } from './sqlite-harness.ts';

modelConformance('SQLite', inMemory);
limitsConformance('SQLite', inMemory);
