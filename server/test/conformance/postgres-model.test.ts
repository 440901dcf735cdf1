// PostgreSQL against the array model, and against its limits.

import { limitsConformance } from './limits-conformance.ts';
import { modelConformance } from './model-conformance.ts';
import { oneDatabase } from './postgres-harness.ts';

const SHARE = 1 / 8;

modelConformance('PostgreSQL', oneDatabase(), SHARE);
limitsConformance('PostgreSQL', oneDatabase(), SHARE);
