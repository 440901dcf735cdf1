// Claims due messages. Due messages are made ready first. Then the free slots are shared between the accounts and,
// within each account, between its hosts with ready messages, beginning after the last one served.

import type { Claim } from '../../../rules/delivery/message.ts';
import { isSuspect, NEVER_AT } from '../../../rules/delivery/recovery.ts';
import { type Backlog, shareSlots } from '../../../rules/delivery/share-slots.ts';
import { type ClaimLimits, SlotBudget } from '../../../rules/delivery/slots.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { stateAfterRelease } from '../../../rules/lines/line.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { READ_COLUMNS } from '../../rows/message-fields.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { startStep } from '../../rows/rows.ts';
import { LookingPace } from '../../shared/looking-pace.ts';
import type { ClaimReply } from '../../shared/standing-offer.ts';
import { areSuccessors, type QueueAtHost } from '../../shared/succession.ts';
import { suspendedAccounts } from '../resources/accounts-at-claim.ts';
import { nextScheduleAt } from '../resources/schedules.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { BODY_BYTES, Bodies } from './bodies.ts';
import { DueLines, keysFrom } from './due-lines.ts';
import { admitDueKeys, admitWaiting, applyDeferredLimits, countStart, uncountStart } from './flow-keys.ts';
import { endCancelledClaim, OPEN_MESSAGE, type OpenMessage, startWaitingMessages } from './open-message.ts';
import { Promoter } from './promote.ts';
import { isPaused, releasePlaceIfOvertaken, startDueQueues, startHeads } from './queues.ts';

export interface ClaimCommand {
  readonly node: string;
  readonly now: number;
  readonly limits: ClaimLimits;
  /** The start of the lease ids. It is unique for this node and this call. */
  readonly leasePrefix: string;
}

/** Limits for one claim: the accounts that it reads, and their backlogs in all. */
const ACCOUNTS_MAX = 512;
const BACKLOGS_MAX = 1024;

/**
 * How long one claim may take before it leaves the rest to the next claim. No call of the same transaction gets a reply
 * before the claim has ended. Half of the time is for making messages ready.
 */
const CLAIM_MS_MAX = 8;
/** So many messages are claimed even if the time is over. The clock is read at intervals, and after large bodies. */
const CLAIMS_MIN = 64;
const CLAIMS_A_LOOK = 8;
const BYTES_A_LOOK = 1024 * 1024;

/** In `cut`, in place of an account: some accounts were not read. */
const ALL_ACCOUNTS = '';

/** Remembers where the last claim stopped, so that the next one continues there. */
export class Claimer {
  readonly #database: Database;
  readonly #caches: TransactionCaches;
  readonly #nowMs: () => number;
  readonly #promoter: Promoter;
  readonly #pace = new LookingPace();
  readonly #dueQueues: DueLines;
  readonly #dueKeys: DueLines;
  readonly #requestedFlowLimits: DueLines;
  #lastAccount = '';
  readonly #lastHosts = new Map<string, string>();

  /** `nowMs` is a clock that never goes back. */
  constructor(database: Database, caches: TransactionCaches, nowMs: () => number) {
    this.#database = database;
    this.#caches = caches;
    this.#nowMs = nowMs;
    this.#promoter = new Promoter(database, nowMs);
    this.#dueQueues = new DueLines(database, 'queues');
    this.#dueKeys = new DueLines(database, 'flowKeys');
    this.#requestedFlowLimits = new DueLines(database, 'requestedFlowLimits');
  }

  claim(command: ClaimCommand): ClaimReply {
    const database = this.#database;
    const startedMs = this.#nowMs();
    this.#caches.requestedFlowLimits.apply();
    const hasPutOff = applyDeferredLimits(database, this.#requestedFlowLimits, command.now);
    this.#promoter.promote(command.now, startedMs + CLAIM_MS_MAX / 2);
    const isHalfOver = () => this.#nowMs() >= startedMs + CLAIM_MS_MAX / 2;
    startDueQueues(database, this.#dueQueues, command.now, isHalfOver);
    admitDueKeys(database, this.#dueKeys, command.now, isHalfOver);
    const suspended = suspendedAccounts(database);
    const slots = new SlotBudget(command.limits);
    slots.block(suspended);
    const claiming: Claiming = {
      command,
      budget: slots,
      claims: [],
      looked: new Map(),
      cut: new Set(),
      bodies: new Bodies(database),
      endsAtMs: startedMs + CLAIM_MS_MAX,
      unlookedBytes: 0,
      isOver: false,
    };
    this.#claimReady(claiming);
    const { claims, cut, budget, isOver } = claiming;
    const again = this.#pace.next(cut.size > 0 && budget.slots > 0, claims.length > 0);
    return {
      claims,
      nextDueAt:
        hasPutOff || isOver ? command.now : earlier(nextDueAt(database), again === null ? null : command.now + again),
      nextScheduleAt: nextScheduleAt(database),
      hasMore: hasReady(database, suspended),
      ...(suspended.length > 0 && { suspended }),
    };
  }

  /** Reads as many hosts of an account as its share of slots may need, and more if the share uses all of these. */
  #claimReady(claiming: Claiming): void {
    const { budget, claims } = claiming;
    let accounts = this.#readyAccounts(claiming);
    const hostsMax = Math.min(eachMax('claimHosts'), Math.ceil(BACKLOGS_MAX / Math.max(1, accounts.length)));
    while (budget.slots > 0 && accounts.length > 0) {
      const most = Math.ceil(budget.slots / accounts.length);
      const backlogsOf = new Map(accounts.map((id) => [id, this.#readyBacklogs(claiming, id, most, hostsMax)]));
      const before = claims.length;
      for (const asks of shareSlots([...backlogsOf.values()].flat(), budget)) {
        for (const ask of asks) ask.taken = this.#claimBacklog(claiming, ask.backlog, ask.wanted);
      }
      if (claims.length === before || claiming.isOver) return;
      accounts = accounts.filter((id) => backlogsOf.get(id)!.length === most);
    }
  }

  /** Accounts with ready messages and free slots: at most one for each slot, beginning after the last one served. */
  #readyAccounts(claiming: Claiming): string[] {
    const { budget } = claiming;
    const accounts = keysFrom(this.#lastAccount, (after, upTo) => nextReadyAccount(this.#database, after, upTo));
    const found: string[] = [];
    let looked = 0;
    for (const accountId of accounts) {
      looked += 1;
      if (budget.accountRoom(accountId) > 0) found.push(accountId);
      if (found.length >= budget.slots) break;
      if (looked < ACCOUNTS_MAX) continue;
      claiming.cut.add(ALL_ACCOUNTS);
      this.#lastAccount = accountId;
      break;
    }
    return found;
  }

  /** Hosts of the account with ready messages and free slots: at most `most`, beginning after the last host served. */
  #readyBacklogs({ budget, looked, cut }: Claiming, accountId: string, most: number, lookedMax: number): Backlog[] {
    if (cut.has(accountId)) return [];
    const hosts = keysFrom(this.#lastHosts.get(accountId) ?? '', (after, upTo) =>
      this.#database.get<{ key: string }>(
        `SELECT host AS key FROM messages
           WHERE state = 'ready' AND account_id = ? AND host > ? AND host <= ? ORDER BY host LIMIT 1`,
        accountId,
        after,
        upTo,
      ),
    );
    const found: Backlog[] = [];
    let count = looked.get(accountId) ?? 0;
    for (const host of hosts) {
      count += 1;
      if (budget.room(accountId, host) > 0) found.push({ accountId, host });
      if (found.length >= most) break;
      if (count < lookedMax) continue;
      // The next claim begins after this host, whether or not this one finds messages there.
      cut.add(accountId);
      this.#lastHosts.set(accountId, host);
      break;
    }
    looked.set(accountId, count);
    return found;
  }

  /** Claims up to `count` messages of one account to one host. Returns how many it claimed. */
  #claimBacklog(claiming: Claiming, { accountId, host }: Backlog, count: number): number {
    const { command, budget, claims, cut, bodies } = claiming;
    const wanted = Math.min(count, budget.room(accountId, host));
    if (wanted < 1 || claiming.isOver) return 0;
    // The rows are read without bodies, so that a body beyond the byte limit is never read.
    const ready = this.#database.all<Claimable & { bytes: number }>(
      `SELECT seq, claimed_at, ${BODY_BYTES} AS bytes FROM messages WHERE state = 'ready' AND account_id = ? AND host = ?
         ORDER BY due_at, seq LIMIT ?`,
      accountId,
      host,
      wanted,
    );
    let taken = 0;
    for (const found of ready) {
      const { seq, bytes } = found;
      // A small message after a large one need not wait for it.
      if (!budget.take(accountId, host, bytes)) continue;
      const lease = `${command.leasePrefix}.${claims.length}`;
      const row = writeClaim(this.#database, this.#caches, found, { lease, node: command.node }, command.now);
      if (row.flow_key !== null) countStart(this.#database, accountId, row.flow_key, command.now);
      const message = toMessage(bodies.fill(row));
      const account = this.#caches.accountsAtClaim.get(accountId);
      claims.push({ lease, message, ...account, isPlain: isPlain(row), row: seq });
      taken += 1;
      if (!isLook(claiming, bytes) || this.#nowMs() < claiming.endsAtMs) continue;
      claiming.isOver = true;
      break;
    }
    if (taken > 0) this.#noteTurn(claiming, accountId, host);
    else if (ready.length > 0) {
      // The next claim begins with the hosts after this one. So a message that is too large for now does not block
      // other messages.
      this.#lastHosts.set(accountId, host);
      cut.add(accountId);
    }
    return taken;
  }

  /** Records where the next claim begins, unless a read that was cut short has recorded it already. */
  #noteTurn({ cut }: Claiming, accountId: string, host: string): void {
    if (!cut.has(ALL_ACCOUNTS)) this.#lastAccount = accountId;
    if (!cut.has(accountId)) this.#lastHosts.set(accountId, host);
  }
}

/** Whether to read the clock now, after one more claim with a body of this many bytes. */
function isLook(claiming: Claiming, bytes: number): boolean {
  claiming.unlookedBytes += bytes;
  const { claims, unlookedBytes } = claiming;
  const isMany = claims.length >= CLAIMS_MIN && claims.length % CLAIMS_A_LOOK === 0;
  if (!isMany && unlookedBytes < BYTES_A_LOOK) return false;
  claiming.unlookedBytes = 0;
  return true;
}

/** Whether a message of any account outside `beside` is ready. Steps from account to account. */
function hasReady(database: Database, beside: readonly string[]): boolean {
  if (beside.length === 0) return database.get("SELECT 1 FROM messages WHERE state = 'ready' LIMIT 1") !== undefined;
  const others = keysFrom('', (after, upTo) => nextReadyAccount(database, after, upTo));
  return others.some((accountId) => !beside.includes(accountId));
}

function nextReadyAccount(database: Database, after: string, upTo: string): { key: string } | undefined {
  return database.get<{ key: string }>(
    `SELECT account_id AS key FROM messages
       WHERE state = 'ready' AND account_id > ? AND account_id <= ? ORDER BY account_id LIMIT 1`,
    after,
    upTo,
  );
}

/** A message to claim. `claimed_at` is not null if an earlier claim of the same attempt was released. */
export type Claimable = Pick<MessageRow, 'seq' | 'claimed_at'>;

export function writeClaim(
  database: Database,
  { journal }: TransactionCaches,
  { seq, claimed_at: lastClaimedAt }: Claimable,
  { lease, node }: { readonly lease: string; readonly node: string },
  now: number,
): ClaimedRow {
  // Two statements, because RETURNING would copy the body into a temporary table.
  database.run(
    "UPDATE messages SET state = 'claimed', lease = ?, node = ?, claimed_at = ? WHERE seq = ?",
    lease,
    node,
    now,
    seq,
  );
  const row = database.get<ClaimedRow>(CLAIMED, seq)!;
  if (lastClaimedAt === null) journal.add(row.account_id, seq, startStep(row.attempts + 1), now);
  return row;
}

const CLAIMED = `SELECT ${READ_COLUMNS}, m.body, m.deduplication_key FROM messages m WHERE m.seq = ?`;

export type ClaimedRow = MessageRow & { readonly deduplication_key: string | null };

export function isPlain(row: ClaimedRow): boolean {
  return row.queue_name === null && row.flow_key === null && row.deduplication_key === null;
}

/** Claims the next message of a queue in place of the one that has just ended, if it may take over that slot. */
export function claimNext(
  database: Database,
  caches: TransactionCaches,
  ended: QueueAtHost,
  holder: { readonly lease: string; readonly node: string },
  now: number,
): Claim | null {
  const ready = database.all<QueueAtHost & Claimable & { bytes: number }>(
    `SELECT seq, claimed_at, account_id, queue_name, host, ${BODY_BYTES} AS bytes FROM messages WHERE state = 'ready' LIMIT 2`,
  );
  const [next] = ready;
  if (!next || !areSuccessors(ready, [ended])) return null;
  const row = writeClaim(database, caches, next, holder, now);
  const message = toMessage(new Bodies(database).fill(row));
  return { lease: holder.lease, message, ...caches.accountsAtClaim.get(row.account_id) };
}

/** The state of one running claim. */
interface Claiming {
  readonly command: ClaimCommand;
  readonly budget: SlotBudget;
  readonly claims: Claim[];
  /** How many hosts were read for each account. */
  readonly looked: Map<string, number>;
  /** Accounts that may have ready messages at hosts that were not read. */
  readonly cut: Set<string>;
  readonly bodies: Bodies;
  readonly endsAtMs: number;
  /** How many bytes of bodies were claimed since the clock was last read. */
  unlookedBytes: number;
  /** Whether the time was over before all slots were used. */
  isOver: boolean;
}

/** The earliest time at which a message that waits for its due time becomes due. */
function nextDueAt(database: Database): number | null {
  const heads = [
    "SELECT due_at AS at FROM messages WHERE state = 'delayed' ORDER BY due_at LIMIT 1",
    'SELECT next_start_at AS at FROM queues WHERE next_start_at IS NOT NULL ORDER BY next_start_at LIMIT 1',
    'SELECT next_start_at AS at FROM flow_keys WHERE next_start_at IS NOT NULL ORDER BY next_start_at LIMIT 1',
  ];
  const at = heads.reduce<number | null>((at, sql) => earlier(at, database.get<{ at: number }>(sql)?.at ?? null), null);
  return at === NEVER_AT ? null : at;
}

type Released = OpenMessage & Pick<MessageRow, 'claimed_at'>;

/** Releases claims whose attempt never started. A message whose cancel was requested ends as cancelled instead. */
export function release(
  database: Database,
  caches: TransactionCaches,
  leases: readonly string[],
  node: string,
  now: number,
): number | null {
  let dueAt: number | null = null;
  const keys = new Map<string, readonly [string, string]>();
  for (const lease of leases) {
    const row = database.get<Released>(
      `SELECT ${OPEN_MESSAGE}, claimed_at FROM messages WHERE state = 'claimed' AND node = ? AND lease = ?`,
      node,
      lease,
    );
    if (!row) continue;
    const { account_id: accountId, flow_key: flowKey } = row;
    if (row.cancel_requested_at !== null) {
      endCancelledClaim(database, caches, row, now);
      if (flowKey === null) startWaitingMessages(database, row, now);
    } else putBack(database, row, now);
    if (flowKey !== null) {
      uncountStart(database, accountId, flowKey, row.claimed_at!);
      keys.set(JSON.stringify([accountId, flowKey]), [accountId, flowKey]);
    }
    dueAt = now;
  }
  // This waits until all claims are released, because their messages go before messages that came later.
  for (const [accountId, key] of keys.values()) admitWaiting(database, accountId, key, now);
  return dueAt;
}

/**
 * The message is pending again. `claimed_at` stays set: the journal already has the start of this attempt, and so the
 * next claim adds none.
 */
function putBack(database: Database, row: Released, now: number): void {
  const { account_id: accountId, queue_name: queueName, flow_key: flowKey } = row;
  const isQueuePaused = queueName !== null && isPaused(database, accountId, queueName);
  const startsAlone = isSuspect(row);
  database.run(
    `UPDATE messages SET state = ?, lease = NULL, node = NULL,
         holds_place = iif(flow_key IS NULL, holds_place, 0) WHERE seq = ?`,
    stateAfterRelease({ isQueuePaused, startsAlone, hasFlowKey: flowKey !== null }),
    row.seq,
  );
  if (startsAlone) {
    database.run('UPDATE messages SET due_at = ?, alone_from_at = ? WHERE seq = ?', NEVER_AT, now, row.seq);
  }
  if (queueName === null) return;
  releasePlaceIfOvertaken(database, accountId, queueName, row.seq);
  startHeads(database, accountId, queueName, now);
}
