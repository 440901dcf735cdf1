// Writes new messages. Called for what came in over HTTP and, inside a settlement, for callbacks: there is one door.

import { usageDay } from '../../domain/account.ts';
import type { NewMessage } from '../../domain/message.ts';
import type { TierName } from '../../domain/tier.ts';
import type { Database } from './database.ts';
import { insertMessage } from './messages.ts';
import { ensureQueue, startHeads } from './queues.ts';

export interface AcceptCommand {
  readonly messages: readonly NewMessage[];
  /** Beside each message the lease it is born with, or null. Only for what is due and in no queue. */
  readonly leases: readonly (string | null)[];
  readonly node: string;
  readonly now: number;
}

export interface AccountAtClaim {
  readonly tier: TierName;
  readonly signingKey: string;
}

export interface AcceptReply {
  /** The earliest time at which something written here can be claimed, or null if all of it is leased already. */
  readonly dueAt: number | null;
  /** What a claim must know of the accounts whose messages were leased. */
  readonly accounts: ReadonlyMap<string, AccountAtClaim>;
}

export function accept(database: Database, command: AcceptCommand): AcceptReply {
  const accounts = new Map<string, AccountAtClaim>();
  const queues = new Map<string, readonly [accountId: string, name: string]>();
  const usage = new Map<string, number>();
  let dueAt: number | null = null;
  command.messages.forEach((message, index) => {
    const lease = command.leases[index] ?? null;
    const usageKey = JSON.stringify([message.accountId, message.kind]);
    usage.set(usageKey, (usage.get(usageKey) ?? 0) + 1);
    if (lease !== null) {
      insertMessage(database, message, 'claimed', { lease, node: command.node });
      if (!accounts.has(message.accountId))
        accounts.set(message.accountId, accountAtClaim(database, message.accountId));
    } else if (message.queueName !== null) {
      insertMessage(database, message, 'queued', null);
      queues.set(JSON.stringify([message.accountId, message.queueName]), [message.accountId, message.queueName]);
    } else {
      insertMessage(database, message, message.dueAt > command.now ? 'delayed' : 'ready', null);
      dueAt = earlier(dueAt, message.dueAt);
    }
  });
  for (const [accountId, name] of queues.values()) {
    ensureQueue(database, accountId, name, command.now);
    dueAt = earlier(dueAt, startHeads(database, accountId, name, command.now));
  }
  for (const [key, count] of usage) {
    const [accountId, kind] = JSON.parse(key) as [string, string];
    database.run(
      `INSERT INTO usage (account_id, day, kind, count) VALUES (?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET count = count + excluded.count`,
      accountId,
      usageDay(command.now),
      kind,
      count,
    );
  }
  return { dueAt, accounts };
}

export function accountAtClaim(database: Database, accountId: string): AccountAtClaim {
  return database.get<AccountAtClaim>('SELECT tier, current_key AS signingKey FROM accounts WHERE id = ?', accountId)!;
}

export function earlier(a: number | null, b: number | null): number | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}
