// PostgreSQL against the array model, and against its limits.

import { limitsConformance } from './limits-conformance.ts';
import { modelConformance } from './model-conformance.ts';
import { oneDatabase } from './postgres-harness.ts';

modelConformance('PostgreSQL', oneDatabase(), 1 / 3);
limitsConformance('PostgreSQL', oneDatabase(), 1 / 8);
