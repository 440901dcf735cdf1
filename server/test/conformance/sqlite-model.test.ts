// SQLite against the array model. In memory: what differs on disk is not what the model knows.

import { modelConformance } from './model-conformance.ts';
import { inMemory } from './sqlite-harness.ts';

modelConformance('SQLite', inMemory);
