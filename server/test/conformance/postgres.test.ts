// PostgreSQL passes the suite of every store adapter, each test on a database of its own.

import { part } from '../support/campaign.ts';
import { storeConformance } from './conformance.ts';
import { ownDatabase } from './postgres-harness.ts';

storeConformance('PostgreSQL', ownDatabase, part);
