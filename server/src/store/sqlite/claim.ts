// Hands out due messages. What is due is made ready first; then the free slots are shared over the accounts and, for
// each account, over the hosts that have something ready, starting behind where the last claim stopped.

import type { Claim } from '../../domain/message.ts';
import { SlotBudget } from '../../domain/slots.ts';
import type { ClaimRequest } from '../store.ts';
import { type AccountAtClaim, accountAtClaim, earlier } from './accept.ts';
import type { Database } from './database.ts';
import { type MessageRow, toMessage } from './messages.ts';
import { isPaused, startDueQueues, startHeads } from './queues.ts';

/** What becomes due at one moment is made ready in pieces, so that no transaction is long. */
const PROMOTE_MAX = 1000;

export interface ClaimCommand extends ClaimRequest {
  /** Makes lease ids: unique for this node and this call. */
  readonly leasePrefix: string;
}

export interface ClaimReply {
  readonly claims: readonly Claim[];
  readonly nextDueAt: number | null;
  /** Something is ready and was left, for want of slots, of room at its host, or of bytes. */
  readonly hasMore: boolean;
}

interface Lane {
  readonly accountId: string;
  readonly host: string;
}

/** Remembers where the last claim stopped, so that the next goes on from there. */
export class Claimer {
  readonly #database: Database;
  #last: Lane = { accountId: '', host: '' };

  constructor(database: Database) {
    this.#database = database;
  }

  claim(command: ClaimCommand): ClaimReply {
    const database = this.#database;
    database.run(
      `UPDATE messages SET state = 'ready' WHERE seq IN
         (SELECT seq FROM messages WHERE state = 'delayed' AND due_at <= ? ORDER BY due_at LIMIT ?)`,
      command.now,
      PROMOTE_MAX,
    );
    startDueQueues(database, command.now, PROMOTE_MAX);
    const claims = this.#claimReady(command);
    return {
      claims,
      nextDueAt: nextDueAt(database),
      hasMore: database.get("SELECT 1 FROM messages WHERE state = 'ready' LIMIT 1") !== undefined,
    };
  }

  #claimReady(command: ClaimCommand): Claim[] {
    const budget = new SlotBudget(command.limits);
    const accounts = new Map<string, AccountAtClaim>();
    const claims: Claim[] = [];
    let lanes = this.#readyLanes(budget);
    while (budget.slots > 0 && lanes.length > 0) {
      const unfinished: Lane[] = [];
      for (const { lane, share } of shareSlots(lanes, budget.slots)) {
        const wanted = Math.min(share, budget.room(lane.accountId, lane.host));
        const rows = wanted > 0 ? this.#readyRows(lane, wanted) : [];
        let taken = 0;
        for (const row of rows) {
          if (!budget.take(row.account_id, row.host, row.body.length)) break;
          const lease = `${command.leasePrefix}.${claims.length}`;
          this.#database.run(
            "UPDATE messages SET state = 'claimed', lease = ?, node = ? WHERE seq = ?",
            lease,
            command.node,
            row.seq,
          );
          const account = accounts.get(row.account_id) ?? accountAtClaim(this.#database, row.account_id);
          accounts.set(row.account_id, account);
          claims.push({ lease, message: { ...toMessage(row), state: 'claimed' }, ...account });
          taken += 1;
        }
        if (taken > 0) this.#last = lane;
        if (taken > 0 && taken === share) unfinished.push(lane);
      }
      lanes = unfinished;
    }
    return claims;
  }

  /** Accounts × hosts with something ready and room for it, from behind the last one served, around once. */
  #readyLanes(budget: SlotBudget): Lane[] {
    const lanes: Lane[] = [];
    const start = this.#last;
    let at = start;
    let isWrapped = false;
    while (lanes.length < budget.slots) {
      const next = this.#database.get<Lane>(
        `SELECT account_id AS accountId, host FROM messages
           WHERE state = 'ready' AND (account_id, host) > (?, ?) ORDER BY account_id, host LIMIT 1`,
        at.accountId,
        at.host,
      );
      if (!next) {
        if (isWrapped) break;
        isWrapped = true;
        at = { accountId: '', host: '' };
        continue;
      }
      if (isWrapped && isBehind(next, start)) break;
      if (budget.room(next.accountId, next.host) > 0) lanes.push(next);
      at = next;
    }
    return lanes;
  }

  #readyRows(lane: Lane, limit: number): MessageRow[] {
    return this.#database.all<MessageRow>(
      `SELECT * FROM messages WHERE state = 'ready' AND account_id = ? AND host = ? ORDER BY due_at, seq LIMIT ?`,
      lane.accountId,
      lane.host,
      limit,
    );
  }
}

function isBehind(lane: Lane, other: Lane): boolean {
  return lane.accountId > other.accountId || (lane.accountId === other.accountId && lane.host > other.host);
}

/** Equal parts for the accounts, and within each for its hosts; at least one each, the budget stops the last. */
function shareSlots(lanes: readonly Lane[], slots: number): { lane: Lane; share: number }[] {
  const lanesOf = new Map<string, number>();
  for (const lane of lanes) lanesOf.set(lane.accountId, (lanesOf.get(lane.accountId) ?? 0) + 1);
  const accountShare = Math.ceil(slots / lanesOf.size);
  return lanes.map((lane) => ({ lane, share: Math.ceil(accountShare / lanesOf.get(lane.accountId)!) }));
}

/** When something that waits for the clock becomes due. */
function nextDueAt(database: Database): number | null {
  const delayed = database.get<{ at: number }>(
    "SELECT due_at AS at FROM messages WHERE state = 'delayed' ORDER BY due_at LIMIT 1",
  );
  const queued = database.get<{ at: number }>(
    'SELECT next_start_at AS at FROM queues WHERE next_start_at IS NOT NULL ORDER BY next_start_at LIMIT 1',
  );
  return earlier(delayed?.at ?? null, queued?.at ?? null);
}

/** Puts claims back whose attempt never started. */
export function release(database: Database, leases: readonly string[], node: string, now: number): number | null {
  let dueAt: number | null = null;
  for (const lease of leases) {
    const row = database.get<{ seq: number; account_id: string; queue_name: string | null }>(
      "SELECT seq, account_id, queue_name FROM messages WHERE state = 'claimed' AND node = ? AND lease = ?",
      node,
      lease,
    );
    if (!row) continue;
    const waits = row.queue_name !== null && isPaused(database, row.account_id, row.queue_name);
    database.run(
      'UPDATE messages SET state = ?, lease = NULL, node = NULL WHERE seq = ?',
      waits ? 'queued' : 'ready',
      row.seq,
    );
    if (row.queue_name !== null) startHeads(database, row.account_id, row.queue_name, now);
    dueAt = now;
  }
  return dueAt;
}

/** Claims of nodes that are gone, oldest first as far as the index tells. */
export function orphanedClaims(database: Database, node: string, aliveAt: number, limit: number): Claim[] {
  const rows: MessageRow[] = [];
  let at = '';
  while (rows.length < limit) {
    const next = database.get<{ node: string }>(
      "SELECT node FROM messages WHERE state = 'claimed' AND node > ? ORDER BY node LIMIT 1",
      at,
    );
    if (!next) break;
    at = next.node;
    const isAlive = database.get('SELECT 1 FROM nodes WHERE id = ? AND alive_until > ?', at, aliveAt) !== undefined;
    if (isAlive || at === node) continue;
    rows.push(
      ...database.all<MessageRow>(
        "SELECT * FROM messages WHERE state = 'claimed' AND node = ? LIMIT ?",
        at,
        limit - rows.length,
      ),
    );
  }
  return rows.map((row) => ({
    lease: row.lease!,
    message: toMessage(row),
    ...accountAtClaim(database, row.account_id),
  }));
}
