// Claims due messages. Due messages are made ready first. Then the free slots are shared between the accounts with
// ready messages and, within an account, between hosts. Each claim begins after the account and host served last.

import type { Claim } from '../../../rules/delivery/message.ts';
import { NEVER_AT } from '../../../rules/delivery/recovery.ts';
import { type Backlog, shareSlots } from '../../../rules/delivery/share-slots.ts';
import { type ClaimLimits, SlotBudget } from '../../../rules/delivery/slots.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { BACKLOG, RANK } from '../../rows/message-columns.ts';
import { READ_COLUMNS } from '../../rows/message-fields.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { startStep } from '../../rows/rows.ts';
import { EXPIRED_PASSED_BY_CLAIM_MAX, EXPIRED_PASSED_MAX, type ExpiringRow, isLive } from '../../shared/expiries.ts';
import { NextClaimPace } from '../../shared/looking-pace.ts';
import type { ClaimReply } from '../../shared/standing-offer.ts';
import { areSuccessors, type QueueAtHost } from '../../shared/succession.ts';
import { suspendedAccounts } from '../resources/accounts-at-claim.ts';
import { nextScheduleAt } from '../resources/schedules.ts';
import type { Database } from '../thread/database.ts';
import { ParkedReader } from '../thread/parked-text.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { BODY_BYTES, Bodies } from './bodies.ts';
import { DueLines, keysInTurn } from './due-lines.ts';
import { admitDueKeys, applyDeferredLimits, updateKeyAtStart } from './flow-keys.ts';
import { Promoter } from './promote.ts';
import { startDueQueues } from './queues.ts';

export interface ClaimCommand {
  readonly node: string;
  readonly now: number;
  /** Without the parked hosts. */
  readonly limits: ClaimLimits;
  /** As `parkedText` writes them. */
  readonly parked: string | null;
  /** How the ids of all leases of this call begin. It is unique for this node and this call. */
  readonly leasePrefix: string;
}

/** Limits for one claim: how many accounts it reads, and how many backlogs of these accounts together. */
const ACCOUNTS_MAX = 512;
const BACKLOGS_MAX = 1024;

/**
 * How long one claim may take before it leaves the rest to the next claim. No call of the same transaction gets a reply
 * before the claim has ended. Half of the time is for making messages ready.
 */
const CLAIM_MS_MAX = 8;
/** The clock is read after `CLAIMS_MIN` claims, then every `CLAIMS_A_LOOK`, and after `BYTES_A_LOOK` of bodies. */
const CLAIMS_MIN = 64;
const CLAIMS_A_LOOK = 8;
const BYTES_A_LOOK = 1024 * 1024;

/** An entry of `cut` instead of the id of an account. It means that some accounts were not read. */
const ALL_ACCOUNTS = '';

/** Remembers where the last claim stopped, so that the next one continues there. */
export class Claimer {
  readonly #database: Database;
  readonly #caches: TransactionCaches;
  readonly #nowMs: () => number;
  readonly #promoter: Promoter;
  readonly #pace = new NextClaimPace();
  readonly #parked = new ParkedReader();
  readonly #dueQueues: DueLines;
  readonly #dueKeys: DueLines;
  readonly #requestedFlowLimits: DueLines;
  #lastAccount = '';
  readonly #lastBacklogs = new Map<string, string>();

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
    const slots = new SlotBudget({ ...command.limits, parked: this.#parked.read(command.parked) });
    slots.block(suspended);
    const claiming: Claiming = {
      command,
      budget: slots,
      claims: [],
      looked: new Map(),
      cut: new Set(),
      passed: new Set(),
      passLeft: EXPIRED_PASSED_BY_CLAIM_MAX,
      lastPassed: null,
      bodies: new Bodies(database),
      endsAtMs: startedMs + CLAIM_MS_MAX,
      unlookedBytes: 0,
      isOver: false,
    };
    this.#claimReady(claiming);
    const { claims, cut, budget, isOver, lastPassed } = claiming;
    const isCut = cut.size > 0 || lastPassed !== null;
    // Everything has been reached: the next claim looks behind the expired messages of other backlogs.
    if (lastPassed && budget.slots > 0 && !isOver) this.#noteTurn(claiming, lastPassed.accountId, lastPassed.name);
    // A claim that only passed over expired messages is followed by a pause. These are ended meanwhile.
    const again = this.#pace.next(isOver || (isCut && budget.slots > 0), claims.length > 0);
    return {
      claims,
      nextDueAt:
        hasPutOff || again === 0
          ? command.now
          : earlier(nextDueAt(database), again === null ? null : command.now + again),
      nextScheduleAt: nextScheduleAt(database),
      hasMore: hasReady(database, suspended, slots),
      ...(suspended.length > 0 && { suspended }),
    };
  }

  /** Fills the free slots. If backlogs with only expired messages were passed over, it looks for others behind them. */
  #claimReady(claiming: Claiming): void {
    const { budget, passed } = claiming;
    for (let before = -1; passed.size > before && budget.slots > 0 && !claiming.isOver; ) {
      before = passed.size;
      this.#claimRound(claiming);
    }
  }

  /** Reads as many hosts of each account as its share may need, and more while slots are left. */
  #claimRound(claiming: Claiming): void {
    const { budget, claims, passed } = claiming;
    let accounts = this.#readyAccounts(claiming);
    const hostsMax = Math.min(eachMax('claimHosts'), Math.ceil(BACKLOGS_MAX / Math.max(1, accounts.length)));
    while (budget.slots > 0 && accounts.length > 0) {
      const most = Math.ceil(budget.slots / accounts.length);
      const backlogsOf = new Map(accounts.map((id) => [id, this.#readyBacklogs(claiming, id, most, hostsMax)]));
      const before = claims.length + passed.size;
      for (const asks of shareSlots([...backlogsOf.values()].flat(), budget)) {
        for (const ask of asks) ask.taken = this.#claimBacklog(claiming, ask.backlog, ask.wanted);
      }
      if (claims.length + passed.size === before || claiming.isOver) return;
      accounts = accounts.filter((id) => backlogsOf.get(id)!.length === most);
    }
  }

  /** Accounts with ready messages and free slots: at most one for each slot, beginning after the one served last. */
  #readyAccounts(claiming: Claiming): string[] {
    const { budget } = claiming;
    const accounts = keysInTurn(this.#lastAccount, (after, upTo) => nextReadyAccount(this.#database, after, upTo));
    const found: string[] = [];
    let looked = 0;
    for (const accountId of accounts) {
      looked += 1;
      // One with nothing but parked messages would take the turn of one whose messages may start.
      const mayStart = budget.accountRoom(accountId) > 0 && hasReadyBeside(this.#database, accountId, budget);
      if (mayStart) found.push(accountId);
      if (found.length >= budget.slots) break;
      if (looked < ACCOUNTS_MAX) continue;
      claiming.cut.add(ALL_ACCOUNTS);
      this.#lastAccount = accountId;
      break;
    }
    return found;
  }

  /** Backlogs of the account with ready messages and free slots: at most `most`, beginning after the one served last. */
  #readyBacklogs(
    { budget, looked, cut, passed }: Claiming,
    accountId: string,
    most: number,
    lookedMax: number,
  ): Backlog[] {
    if (cut.has(accountId)) return [];
    const names = keysInTurn(this.#lastBacklogs.get(accountId) ?? '', (after, upTo) =>
      this.#database.get<{ key: string }>(NEXT_BACKLOG, accountId, after, upTo),
    );
    const found: Backlog[] = [];
    let count = looked.get(accountId) ?? 0;
    for (const name of names) {
      count += 1;
      const room = passed.has(keyOf(accountId, name)) ? 0 : budget.room(accountId, name);
      if (room > 0) found.push({ accountId, name });
      if (found.length >= most) break;
      if (count < lookedMax) continue;
      // The next claim begins after this backlog, whether or not this claim takes any of its messages.
      cut.add(accountId);
      this.#lastBacklogs.set(accountId, name);
      break;
    }
    looked.set(accountId, count);
    return found;
  }

  /** Claims up to `count` messages of one backlog. Returns how many it claimed. */
  #claimBacklog(claiming: Claiming, { accountId, name }: Backlog, count: number): number {
    const { command, budget, claims, cut, bodies } = claiming;
    const wanted = Math.min(count, budget.room(accountId, name));
    if (wanted < 1 || claiming.isOver) return 0;
    const ready = this.#readReady(claiming, accountId, name, wanted);
    let taken = 0;
    for (const found of ready) {
      const { seq, bytes } = found;
      // A message that is too large now is left out. Smaller messages after it need not wait for it.
      if (!budget.take(accountId, name, bytes)) continue;
      const lease = `${command.leasePrefix}.${claims.length}`;
      const row = writeClaim(this.#database, this.#caches, found, { lease, node: command.node }, command.now);
      if (row.flow_key !== null) updateKeyAtStart(this.#database, accountId, row.flow_key, command.now);
      const message = toMessage(bodies.fill(row));
      const account = this.#caches.accountsAtClaim.get(accountId);
      claims.push({ lease, message, ...account, isPlain: isPlain(row), row: seq });
      taken += 1;
      if (!isLook(claiming, bytes) || this.#nowMs() < claiming.endsAtMs) continue;
      claiming.isOver = true;
      break;
    }
    if (taken > 0) this.#noteTurn(claiming, accountId, name);
    else if (ready.length > 0) {
      // All messages were too large now. The next claim begins with the backlogs after this one, so that they do not
      // block other messages.
      this.#lastBacklogs.set(accountId, name);
      cut.add(accountId);
    }
    return taken;
  }

  /** The first `wanted` messages of a backlog, without those that have expired: these are ended beside the claims. */
  #readReady(claiming: Claiming, accountId: string, name: string, wanted: number): ReadyRow[] {
    const { now } = claiming.command;
    // The rows are read without their bodies, because a body that exceeds the byte limit must not be read.
    const read = (limit: number) =>
      this.#database.all<ReadyRow>(
        `SELECT seq, claimed_at, must_start_before, ${BODY_BYTES} AS bytes FROM messages
           WHERE state = 'ready' AND account_id = ? AND ${BACKLOG} = ? ORDER BY ${RANK}, seq LIMIT ?`,
        accountId,
        name,
        limit,
      );
    const first = read(wanted);
    if (first.every((row) => isLive(row, now))) return first;
    const more = Math.min(EXPIRED_PASSED_MAX, claiming.passLeft);
    claiming.passLeft -= more;
    if (more > 0 && claiming.passLeft === 0) claiming.lastPassed = { accountId, name };
    const live = (more === 0 ? first : read(wanted + more)).filter((row) => isLive(row, now));
    if (live.length === 0) {
      claiming.passed.add(keyOf(accountId, name));
      this.#noteTurn(claiming, accountId, name);
      claiming.isOver ||= this.#nowMs() >= claiming.endsAtMs;
    }
    return live.slice(0, wanted);
  }

  /** Records where the next claim begins, unless a read that was cut short has recorded it already. */
  #noteTurn({ cut }: Claiming, accountId: string, name: string): void {
    if (!cut.has(ALL_ACCOUNTS)) this.#lastAccount = accountId;
    if (!cut.has(accountId)) this.#lastBacklogs.set(accountId, name);
  }
}

const NEXT_BACKLOG = `SELECT ${BACKLOG} AS key FROM messages
  WHERE state = 'ready' AND account_id = ? AND ${BACKLOG} > ? AND ${BACKLOG} <= ? ORDER BY ${BACKLOG} LIMIT 1`;

function keyOf(accountId: string, name: string): string {
  return `${accountId} ${name}`;
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

/** Whether any account that is not in `beside` has a ready message that does not wait for its host. */
function hasReady(database: Database, beside: readonly string[], budget: SlotBudget): boolean {
  if (beside.length === 0 && budget.parked().length === 0) {
    return database.get("SELECT 1 FROM messages WHERE state = 'ready' LIMIT 1") !== undefined;
  }
  const others = keysInTurn('', (after, upTo) => nextReadyAccount(database, after, upTo));
  return others.some((accountId) => !beside.includes(accountId) && hasReadyBeside(database, accountId, budget));
}

function hasReadyBeside(database: Database, accountId: string, budget: SlotBudget): boolean {
  if (!budget.hasParked(accountId)) return true;
  const names = keysInTurn('', (after, upTo) => database.get<{ key: string }>(NEXT_BACKLOG, accountId, after, upTo));
  return names.some((name) => !budget.isParked(accountId, name));
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

interface ReadyRow extends Claimable, ExpiringRow {
  readonly bytes: number;
}

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

/** Whether no queue, flow key or deduplication key depends on the end of the message. */
export function isPlain(row: ClaimedRow): boolean {
  return row.queue_name === null && row.flow_key === null && row.deduplication_key === null;
}

/** Claims the next message of the queue of `ended`, which has just ended, if it may take over the slot. */
export function claimSuccessor(
  database: Database,
  caches: TransactionCaches,
  ended: QueueAtHost,
  holder: { readonly lease: string; readonly node: string },
  now: number,
): Claim | null {
  const ready = database.all<QueueAtHost & ReadyRow>(
    `SELECT seq, claimed_at, account_id, queue_name, host, must_start_before, ${BODY_BYTES} AS bytes
       FROM messages WHERE state = 'ready' LIMIT 2`,
  );
  const [next] = ready;
  if (!next || !areSuccessors(ready, [ended]) || !isLive(next, now)) return null;
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
  /** Backlogs in which only expired messages were found, by `keyOf`. */
  readonly passed: Set<string>;
  /** How many more expired messages are passed over. */
  passLeft: number;
  /** The backlog with which `passLeft` was used up. */
  lastPassed: Backlog | null;
  readonly bodies: Bodies;
  readonly endsAtMs: number;
  /** How many bytes of bodies were claimed since the clock was last read. */
  unlookedBytes: number;
  /** Whether the time was over before all slots were used. */
  isOver: boolean;
}

/** The earliest time at which a delayed message, a queue or a flow key is due; null if none waits for a time. */
function nextDueAt(database: Database): number | null {
  const heads = [
    "SELECT due_at AS at FROM messages WHERE state = 'delayed' ORDER BY due_at LIMIT 1",
    'SELECT next_start_at AS at FROM queues WHERE next_start_at IS NOT NULL ORDER BY next_start_at LIMIT 1',
    'SELECT next_start_at AS at FROM flow_keys WHERE next_start_at IS NOT NULL ORDER BY next_start_at LIMIT 1',
  ];
  const at = heads.reduce<number | null>((at, sql) => earlier(at, database.get<{ at: number }>(sql)?.at ?? null), null);
  return at === NEVER_AT ? null : at;
}
