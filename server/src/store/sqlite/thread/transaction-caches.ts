// The state in memory that accept and settle use in addition to the tables. Each connection has one set.

import type { ExpiredTurns } from '../../shared/expired.ts';
import type { Journal } from '../deliveries/journal.ts';
import type { NewMessages } from '../deliveries/new-messages.ts';
import type { RequestedFlowLimits } from '../deliveries/requested-flow-limits.ts';
import type { ActivityCounts } from '../messages/activity.ts';
import type { StoredByteCounts } from '../messages/stored.ts';
import type { UsageCounts } from '../messages/usage.ts';
import type { AccountsAtClaim } from '../resources/accounts-at-claim.ts';

export interface TransactionCaches {
  readonly newMessages: NewMessages;
  readonly journal: Journal;
  readonly usage: UsageCounts;
  readonly stored: StoredByteCounts;
  readonly activity: ActivityCounts;
  readonly accountsAtClaim: AccountsAtClaim;
  readonly requestedFlowLimits: RequestedFlowLimits;
  readonly expiredTurns: ExpiredTurns;
}
