// The in-memory helpers that accept and settle use besides their statements. Each connection has one set.

import type { ExpiredTurns } from '../expired.ts';
import type { AccountsAtClaim } from './accounts.ts';
import type { ActivityCounts } from './activity.ts';
import type { Journal } from './journal.ts';
import type { NewMessages } from './new-messages.ts';
import type { SaidLimits } from './said-limits.ts';
import type { Stored } from './stored.ts';
import type { Usage } from './usage.ts';

export interface Books {
  readonly newMessages: NewMessages;
  readonly journal: Journal;
  readonly usage: Usage;
  readonly stored: Stored;
  readonly activity: ActivityCounts;
  readonly accountsAtClaim: AccountsAtClaim;
  readonly saidLimits: SaidLimits;
  readonly expiredTurns: ExpiredTurns;
}
