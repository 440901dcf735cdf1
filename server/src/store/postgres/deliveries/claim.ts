// Claims due messages: makes them ready first, then shares the free slots between the accounts and, within each
// account, between its hosts with ready messages. Each claim begins after the last account and host served. Several
// nodes claim at once, and each skips the messages that another node is taking.

import type { Claim } from '../../../rules/delivery/message.ts';
import { isSuspect, NEVER_AT } from '../../../rules/delivery/recovery.ts';
import type { Backlog } from '../../../rules/delivery/share-slots.ts';
import { type ClaimLimits, SlotBudget } from '../../../rules/delivery/slots.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { stateAfterRelease } from '../../../rules/lines/line.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { BACKLOG } from '../../rows/message-columns.ts';
import { CANCELLED, NODE_AWAITING } from '../../rows/rows.ts';
import type { ReleaseReply } from '../../shared/commands.ts';
import { NextClaimPace } from '../../shared/looking-pace.ts';
import type { ClaimReply } from '../../shared/standing-offer.ts';
import { keyOf } from '../groups/lines.ts';
import { ALL_BUT_BODY } from '../messages/messages.ts';
import { endOvertaken, lockKeysOfClaims } from '../messages/overtaken.ts';
import type { Database } from '../sessions/database.ts';
import { uncountStarts } from './flow-keys.ts';
import { positionSql } from './journal.ts';
import {
  CLAIM_COLUMNS_BESIDE_MESSAGE,
  type ClaimRow,
  leaseReady,
  type ReadyRow,
  takeBacklogs,
  toClaim,
  withBodies,
} from './lease.ts';
import { READY_ORDER } from './message-sql.ts';
import { LockedLines, OPEN_MESSAGE_COLUMNS, type OpenMessage, releasePlaceIfOvertaken } from './open-message.ts';
import { Promoter } from './promote.ts';

const LEFT_MS = 20;

export interface ClaimCommand {
  readonly node: string;
  readonly now: number;
  readonly limits: ClaimLimits;
  /** The start of the lease ids: unique for this node and this call. */
  readonly leasePrefix: string;
  /** Called at the start of each try. Null if other nodes may consider this node dead: then nothing is leased. */
  readonly timeNow: () => number | null;
}

/**
 * The state of waiting work: when the work that waits for the clock is due, and whether a message is ready. Usually a
 * claim reads nothing else.
 */
interface Waiting {
  readonly delayed_at: number | null;
  readonly queue_at: number | null;
  readonly key_at: number | null;
  readonly requested_at: number | null;
  readonly schedule_at: number | null;
  readonly is_ready: boolean;
  readonly suspended: readonly string[] | null;
}

const LOOK = `SELECT
  (SELECT due_at FROM messages WHERE state = 'delayed' ORDER BY due_at LIMIT 1) AS delayed_at,
  (SELECT next_start_at FROM queues WHERE next_start_at IS NOT NULL ORDER BY next_start_at LIMIT 1) AS queue_at,
  (SELECT next_start_at FROM flow_keys WHERE next_start_at IS NOT NULL ORDER BY next_start_at LIMIT 1) AS key_at,
  (SELECT requested_at FROM flow_keys WHERE requested_at IS NOT NULL ORDER BY requested_at LIMIT 1) AS requested_at,
  (SELECT next_at FROM schedules WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1) AS schedule_at,
  (SELECT true FROM messages WHERE state = 'ready' ORDER BY ${READY_ORDER} LIMIT 1) IS TRUE AS is_ready,
  (SELECT array_agg(id) FROM accounts WHERE suspended_at IS NOT NULL) AS suspended`;

/** Remembers where the last claim stopped, so that the next one continues there. */
export class Claimer {
  readonly #backlogs = new Backlogs();
  readonly #promoter = new Promoter();
  readonly #pace = new NextClaimPace();

  /**
   * `transaction` runs work on a connection and commits it. In the reply, `gone` are the leases that were no longer
   * valid when the bodies were read.
   */
  async claim(
    command: ClaimCommand,
    look: () => Promise<Waiting>,
    transaction: <T>(work: (database: Database) => Promise<T>) => Promise<T>,
    read: <T>(work: (database: Database) => Promise<T>) => Promise<T>,
  ): Promise<ClaimReply & { readonly gone: readonly string[] }> {
    const waiting = await look();
    if (!waiting.is_ready && !isDue(waiting, command.now))
      return { claims: [], ...later(waiting, command.now), ...suspendedOf(waiting), hasMore: false, gone: [] };
    const { claims, isCut, after } = await transaction(async (database) => {
      const now = command.timeNow();
      if (now === null) return { claims: [], isCut: false, after: { ...waiting, is_ready: true } };
      await this.#promoter.makeReady(database, waiting, now);
      const budget = new SlotBudget(command.limits);
      budget.block(waiting.suspended ?? []);
      const { taken, isCut } = await this.#takeReady(database, budget, now);
      const claims = await leaseReady(database, command, now, taken);
      return { claims, isCut, after: await waitingWork(database, budget) };
    });
    const again = this.#pace.next(isCut, claims.length > 0);
    const { nextDueAt, nextScheduleAt } = later(after, command.now);
    const whole = await read((database) => withBodies(database, claims));
    const standing = new Set(whole.map(({ lease }) => lease));
    return {
      claims: whole,
      gone: claims.flatMap(({ lease }) => (standing.has(lease) ? [] : [lease])),
      nextDueAt: earlier(nextDueAt, again === null ? null : command.now + again),
      nextScheduleAt,
      ...suspendedOf(after),
      // For most messages that are left, this node has no free slot. A message that another node has locked is found
      // again when the lock is released.
      hasMore: after.is_ready,
    };
  }

  /** Locks as many ready messages as the budget allows. `isCut`: there may be more messages that fit the budget. */
  async #takeReady(
    database: Database,
    budget: SlotBudget,
    now: number,
  ): Promise<{ taken: ReadyRow[]; isCut: boolean }> {
    const taken: ReadyRow[] = [];
    let isWhole = false;
    for (const from of ['last', 'start'] as const) {
      if (budget.slots === 0) break;
      const look = await this.#backlogs.read(database, budget, from);
      const before = taken.length;
      await takeBacklogs(database, budget, look.backlogs, taken, now);
      this.#backlogs.served(taken.slice(before));
      // If slots are left, everything that was read has been served.
      if (budget.slots > 0) this.#backlogs.passed(look);
      isWhole = look.isWhole;
      if (isWhole) break;
    }
    return { taken, isCut: !isWhole && budget.slots > 0 };
  }
}

/**
 * One read includes as many accounts as there are slots, and as many hosts of each account, both within these limits.
 */
const BACKLOGS_MIN = 16;
const BACKLOGS_MAX = 256;

/**
 * Steps through the index from one account to the next, and from one host to the next. Begins after the account $1, and
 * within an account of $4 after its host in $5. Skips full accounts and hosts ($2, $3). Returns at most $6 accounts and
 * $7 hosts of each. ORDER BY names all columns of the index, so that the planner cannot choose another one. The host is
 * null if an account has no host after the given one.
 */
const backlogsSql = (beside = '', besideAccounts = '') => `WITH RECURSIVE account (id) AS (
    (SELECT account_id FROM messages WHERE state = 'ready' AND account_id > $1
       ORDER BY ${READY_ORDER} LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM messages WHERE state = 'ready' AND account_id > account.id
              ORDER BY ${READY_ORDER} LIMIT 1)
      FROM account WHERE account.id IS NOT NULL)
  SELECT a.id AS account_id, h.name
    FROM (SELECT id FROM account WHERE id IS NOT NULL AND id <> ALL ($2::text[])${besideAccounts} LIMIT $6) AS a
    LEFT JOIN unnest($4::text[], $5::text[]) AS behind (id, name) ON behind.id = a.id
    LEFT JOIN LATERAL (
      WITH RECURSIVE backlog (name) AS (
        (SELECT ${BACKLOG} FROM messages WHERE state = 'ready' AND account_id = a.id AND ${BACKLOG} > coalesce(behind.name, '')
           ORDER BY ${READY_ORDER} LIMIT 1)
        UNION ALL
        SELECT (SELECT ${BACKLOG} FROM messages WHERE state = 'ready' AND account_id = a.id AND ${BACKLOG} > backlog.name
                  ORDER BY ${READY_ORDER} LIMIT 1)
          FROM backlog WHERE backlog.name IS NOT NULL)
      SELECT name FROM backlog WHERE name IS NOT NULL AND name <> ALL ($3::text[])${beside} LIMIT $7) AS h ON true`;

const BACKLOGS = backlogsSql();
/** Skips the backlogs of parked hosts too ($8), and those of the accounts in $9 that have no other backlog. */
const BACKLOGS_BESIDE_PARKED = backlogsSql(
  " AND a.id || ' ' || name <> ALL ($8::text[])",
  ` AND (id <> ALL ($9::text[]) OR EXISTS (
      WITH RECURSIVE backlog (name) AS (
        (SELECT ${BACKLOG} FROM messages WHERE state = 'ready' AND account_id = account.id ORDER BY ${READY_ORDER} LIMIT 1)
        UNION ALL
        SELECT (SELECT ${BACKLOG} FROM messages WHERE state = 'ready' AND account_id = account.id AND ${BACKLOG} > backlog.name
                  ORDER BY ${READY_ORDER} LIMIT 1)
          FROM backlog WHERE backlog.name IS NOT NULL)
      SELECT 1 FROM backlog WHERE name IS NOT NULL AND account.id || ' ' || name <> ALL ($8::text[])))`,
);

function backlogsToRead<V>(budget: SlotBudget, values: readonly V[]): [string, ...(V | readonly string[])[]] {
  const parked = parkedKeys(budget);
  return parked.length === 0
    ? [BACKLOGS, ...values]
    : [BACKLOGS_BESIDE_PARKED, ...values, parked, [...new Set(budget.parked().map(([accountId]) => accountId))]];
}

/** By the list of a budget: of several thousand parked hosts, most budgets have the same list. */
const PARKED_KEYS = new WeakMap<ReturnType<SlotBudget['parked']>, readonly string[]>();
const NO_KEYS: readonly string[] = [];

/** The backlogs of parked hosts, as the statements have them. */
function parkedKeys(budget: SlotBudget | null): readonly string[] {
  const parked = budget?.parked() ?? [];
  if (parked.length === 0) return NO_KEYS;
  const keys = PARKED_KEYS.get(parked) ?? parked.map(([accountId, name]) => `${accountId} ${name}`);
  PARKED_KEYS.set(parked, keys);
  return keys;
}

/** The result of one read of the backlogs. */
interface Look {
  readonly backlogs: readonly Backlog[];
  /** True if there are no other backlogs. */
  readonly isWhole: boolean;
  /** For accounts that were read only in part: the backlog after which the next read begins. */
  readonly next: ReadonlyMap<string, string>;
  /** Accounts that were read completely. */
  readonly seenWhole: readonly string[];
}

/** The backlogs with ready messages, in an order that begins after those served last. */
class Backlogs {
  #lastAccount = '';
  readonly #lastBacklogs = new Map<string, string>();
  /** True if there are more accounts than one read includes: then a read begins where the last claim stopped. */
  #hasManyAccounts = false;
  /** For accounts with more backlogs than one read includes: the backlog after which a read begins. */
  readonly #begin = new Map<string, string>();

  /** `last` begins where the last claim stopped. `start` begins at the first account, for slots that are still free. */
  async read(database: Database, budget: SlotBudget, from: 'last' | 'start'): Promise<Look> {
    const full = budget.full();
    const accountsMax = Math.max(BACKLOGS_MIN, Math.min(budget.slots, BACKLOGS_MAX));
    const hostsMax = Math.min(accountsMax, eachMax('claimHosts'));
    const afterAccount = from === 'last' && this.#hasManyAccounts ? this.#lastAccount : '';
    const rows = await database.all<{ account_id: string; name: string | null }>(
      ...backlogsToRead(budget, [
        afterAccount,
        full.accounts,
        full.hosts,
        [...this.#begin.keys()],
        [...this.#begin.values()],
        accountsMax,
        hostsMax,
      ]),
    );
    const byAccount = Map.groupBy(rows, ({ account_id }) => account_id);
    const hasMoreAccounts = byAccount.size >= accountsMax;
    if (afterAccount === '') this.#hasManyAccounts = hasMoreAccounts;
    const next = new Map<string, string>();
    const seenWhole: string[] = [];
    for (const [id, own] of byAccount) {
      if (own.length >= hostsMax) next.set(id, own.at(-1)!.name!);
      else if ((this.#begin.get(id) ?? '') !== '') next.set(id, '');
      else seenWhole.push(id);
    }
    const backlogs = behindFirst([...byAccount.keys()], this.#lastAccount, (id) => id).flatMap((id) => {
      const own = byAccount.get(id)!.flatMap(({ name }) => (name === null ? [] : [{ accountId: id, name }]));
      const last = this.#begin.has(id) ? '' : this.#lastBacklogs.get(id);
      return behindFirst(own, last ?? '', ({ name }) => name);
    });
    const isWhole = afterAccount === '' && !hasMoreAccounts && next.size === 0;
    return { backlogs, isWhole, next, seenWhole };
  }

  served(rows: readonly ReadyRow[]): void {
    for (const { account_id, backlog } of rows) {
      this.#lastAccount = account_id;
      this.#lastBacklogs.set(account_id, backlog);
      if (this.#begin.has(account_id)) this.#begin.set(account_id, backlog);
    }
  }

  passed({ next, seenWhole }: Look): void {
    for (const id of seenWhole) this.#begin.delete(id);
    for (const [id, host] of next) this.#begin.set(id, host);
  }
}

/** The entries after `last`, and then the others. */
function behindFirst<T>(sorted: readonly T[], last: string, keyOf: (each: T) => string): T[] {
  const at = sorted.findIndex((each) => keyOf(each) > last);
  return at === -1 ? [...sorted] : [...sorted.slice(at), ...sorted.slice(0, at)];
}

/** Reads the state of waiting work. Messages of suspended accounts, and of parked hosts, do not count as ready. */
export async function waitingWork(database: Database, budget: SlotBudget | null = null): Promise<Waiting> {
  const waiting = (await database.get<Waiting>(LOOK))!;
  const parked = parkedKeys(budget);
  if (!waiting.is_ready || (waiting.suspended === null && parked.length === 0)) return waiting;
  const suspended = waiting.suspended ?? [];
  const ready =
    parked.length === 0 ? database.get(READY_BESIDE, suspended) : database.get(READY_BESIDE_PARKED, suspended, parked);
  return { ...waiting, is_ready: (await ready) !== undefined };
}

/** Whether a message of an account that is not suspended is ready. Steps from account to account. */
const READY_BESIDE = `WITH RECURSIVE account (id) AS (
    (SELECT account_id FROM messages WHERE state = 'ready' ORDER BY ${READY_ORDER} LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM messages WHERE state = 'ready' AND account_id > account.id
              ORDER BY ${READY_ORDER} LIMIT 1)
      FROM account WHERE account.id IS NOT NULL)
  SELECT 1 FROM account WHERE id IS NOT NULL AND id <> ALL ($1::text[]) LIMIT 1`;

/** The same, without the backlogs of parked hosts ($2). Steps from backlog to backlog. */
const READY_BESIDE_PARKED = `WITH RECURSIVE account (id) AS (
    (SELECT account_id FROM messages WHERE state = 'ready' ORDER BY ${READY_ORDER} LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM messages WHERE state = 'ready' AND account_id > account.id
              ORDER BY ${READY_ORDER} LIMIT 1)
      FROM account WHERE account.id IS NOT NULL)
  SELECT 1 FROM account AS a CROSS JOIN LATERAL (
      WITH RECURSIVE backlog (name) AS (
        (SELECT ${BACKLOG} FROM messages WHERE state = 'ready' AND account_id = a.id ORDER BY ${READY_ORDER} LIMIT 1)
        UNION ALL
        SELECT (SELECT ${BACKLOG} FROM messages WHERE state = 'ready' AND account_id = a.id AND ${BACKLOG} > backlog.name
                  ORDER BY ${READY_ORDER} LIMIT 1)
          FROM backlog WHERE backlog.name IS NOT NULL)
      SELECT name FROM backlog WHERE name IS NOT NULL AND a.id || ' ' || name <> ALL ($2::text[]) LIMIT 1) AS b
    WHERE a.id IS NOT NULL AND a.id <> ALL ($1::text[]) LIMIT 1`;

function suspendedOf({ suspended }: Waiting): { readonly suspended?: readonly string[] } {
  return suspended === null ? {} : { suspended };
}

function isDue({ delayed_at, queue_at, key_at, requested_at }: Waiting, now: number): boolean {
  return requested_at !== null || [delayed_at, queue_at, key_at].some((at) => at !== null && at <= now);
}

function later({ delayed_at, queue_at, key_at, requested_at, schedule_at }: Waiting, now: number) {
  const dueAt = earlier(delayed_at, earlier(queue_at, earlier(key_at, requested_at)));
  // Due messages that are left are locked by another node, or were too many for one transaction: try again soon.
  const nextDueAt = dueAt === null || dueAt === NEVER_AT ? null : dueAt > now ? dueAt : now + LEFT_MS;
  return { nextDueAt, nextScheduleAt: schedule_at };
}

/**
 * Releases claims whose attempt never started. A message whose cancel was requested ends as cancelled instead, and so
 * does one under whose debounce key a newer message waits.
 */
export async function release(
  database: Database,
  leases: readonly string[],
  node: string,
  now: number,
): Promise<ReleaseReply> {
  const debounced = await lockKeysOfClaims(database, node, leases, now);
  const held = await database.all<OpenMessage>(
    `SELECT ${OPEN_MESSAGE_COLUMNS} FROM messages m WHERE m.state = 'claimed' AND m.node = $1 AND m.lease = ANY ($2::text[])`,
    node,
    leases,
  );
  if (held.length === 0) return { dueAt: null, cancelled: [], overtaken: [] };
  const lines = await LockedLines.lock(database, [...held, ...debounced.waiting]);
  const stateOf = (each: OpenMessage) =>
    stateAfterRelease({
      isQueuePaused: lines.isPaused(each),
      startsAlone: isSuspect(each),
      hasFlowKey: each.flow_key !== null,
    });
  const released = await database.all<{ account_id: string; seq: number; is_over: boolean }>(
    `WITH back AS
       -- claimed_at stays: the start of this attempt is in the journal, and the next claim adds no other.
       (UPDATE messages m SET lease = NULL, node = NULL,
          state = CASE WHEN m.cancel_requested_at IS NULL THEN g.state ELSE 'cancelled' END,
          holds_place = m.holds_place AND m.flow_key IS NULL AND m.cancel_requested_at IS NULL,
          alone_from_at = CASE WHEN m.cancel_requested_at IS NULL THEN g.alone_from_at END,
          due_at = CASE WHEN g.alone_from_at IS NULL OR m.cancel_requested_at IS NOT NULL THEN m.due_at ELSE ${NEVER_AT} END,
          ended_at = CASE WHEN m.cancel_requested_at IS NOT NULL THEN greatest($6::bigint, m.cancel_requested_at) END,
          expires_at = m.cancel_expires_at, cancel_expires_at = NULL
        FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[])
          AS g (account_id, seq, lease, state, alone_from_at)
        WHERE m.account_id = g.account_id AND m.seq = g.seq AND m.lease = g.lease
        RETURNING m.account_id, m.seq, m.ended_at IS NOT NULL AS is_over),
     journalled AS
       (INSERT INTO journal (account_id, seq, at, message_seq, step)
        SELECT account_id, ${positionSql('account_id', 'seq')}, $6, seq, ${CANCELLED} FROM back WHERE is_over)
     SELECT account_id, seq, is_over FROM back`,
    held.map(({ account_id }) => account_id),
    held.map(({ seq }) => seq),
    held.map(({ lease }) => lease),
    held.map(stateOf),
    held.map((each) => (isSuspect(each) ? now : null)),
    now,
  );
  const seqs = new Set(released.map(({ seq }) => seq));
  const back = held.filter(({ seq }) => seqs.has(seq));
  for (const [key, row] of lines.keys) {
    const own = back.filter(({ account_id, flow_key }) => flow_key !== null && keyOf(account_id, flow_key) === key);
    await uncountStarts(
      database,
      row,
      own.map(({ claimed_at }) => claimed_at!),
    );
  }
  const isOver = new Set(released.flatMap(({ seq, is_over }) => (is_over ? [seq] : [])));
  const cancelled = back.filter(({ seq }) => isOver.has(seq));
  await releasePlaceIfOvertaken(
    database,
    back.filter(({ seq }) => !isOver.has(seq)),
  );
  const overtaken = await endOvertaken(database, debounced.keys, now);
  await lines.startWaitingMessages(database, [...cancelled, ...overtaken], now);
  return { dueAt: now, cancelled: cancelled.map(({ id }) => id), overtaken: overtaken.map(({ id }) => id) };
}

/** Leases of a node, in any order. */
export async function leasesOf(database: Database, node: string, limit: number): Promise<string[]> {
  const rows = await database.all<{ lease: string }>(
    "SELECT lease FROM messages WHERE state = 'claimed' AND node = $1 LIMIT $2",
    node,
    limit,
  );
  return rows.map(({ lease }) => lease);
}

/** All claims of one node that is dead by the clock of the database, without their bodies. */
export async function orphanedClaims(database: Database, node: string): Promise<Claim[]> {
  const rows = await database.all<ClaimRow>(
    `WITH RECURSIVE holder (id) AS (
       (SELECT node FROM messages WHERE state = 'claimed' AND node > '${NODE_AWAITING}' ORDER BY node LIMIT 1)
       UNION ALL
       SELECT (SELECT node FROM messages WHERE state = 'claimed' AND node > holder.id ORDER BY node LIMIT 1)
         FROM holder WHERE holder.id IS NOT NULL)
     SELECT ${ALL_BUT_BODY}, ${CLAIM_COLUMNS_BESIDE_MESSAGE}
       FROM (SELECT id FROM holder WHERE id <> $1 AND NOT EXISTS
               (SELECT 1 FROM nodes n WHERE n.id = holder.id AND n.alive_until > clock_timestamp()) LIMIT 1) AS gone
       JOIN messages m ON m.state = 'claimed' AND m.node = gone.id JOIN accounts a ON a.id = m.account_id`,
    node,
  );
  return rows.map((row) => {
    const { seq: _seq, body_id: _id, ...claim } = toClaim(row);
    return claim;
  });
}
