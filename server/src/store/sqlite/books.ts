// What the verbs that accept and settle keep beside their statements, one of each for a connection.

import type { AccountsAtClaim } from './accounts.ts';
import type { ActivityCounts } from './activity.ts';
import type { Journal } from './journal.ts';
import type { SaidLimits } from './said-limits.ts';
import type { Usage } from './usage.ts';

export interface Books {
  readonly journal: Journal;
  readonly usage: Usage;
  readonly activity: ActivityCounts;
  readonly accountsAtClaim: AccountsAtClaim;
  readonly saidLimits: SaidLimits;
}
