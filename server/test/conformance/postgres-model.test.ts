// PostgreSQL against the array model, and against its limits.

import { limitsConformance } from './limits-conformance.ts';
import { modelConformance } from './model-conformance.ts';
import { oneDatabase } from './postgres-harness.ts';

/** Enough of the model's to see every event. */
modelConformance('PostgreSQL', oneDatabase(), 1 / 4);
limitsConformance('PostgreSQL', oneDatabase(), 1 / 8);
