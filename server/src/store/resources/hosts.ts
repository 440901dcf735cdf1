// Hosts as an account sees them: what the nodes have measured, and how many messages wait. Each adapter decides in its
// deliveries/ what is sent to a host.

import {
  attemptsOf,
  isForgotten,
  type KnownHost,
  type MeasuredHost,
  mergeHealth,
} from '../../rules/hosts/host-health.ts';
import type { HostsPiece } from '../ports/host-store.ts';
import { type WalkPosition, type WalkResult, walkResult } from '../ports/upkeep-store.ts';
import { countUpTo, listByKey } from './list-by-key.ts';
import { all, get, run, type Steps } from './steps.ts';

interface HostRow {
  readonly account_id: string;
  readonly host: string;
  readonly health: string;
  readonly parking: string | null;
}

const HOST_COLUMNS = 'account_id, host, health, parking';
const GET_HOST = `SELECT ${HOST_COLUMNS} FROM hosts WHERE account_id = ? AND host = ?`;

function toHost({ account_id: accountId, host, health, parking }: HostRow): KnownHost {
  return { accountId, host, health: JSON.parse(health), parking: parking === null ? null : JSON.parse(parking) };
}

/**
 * Returns how many attempts were left out, because their accounts have `hostsMax` hosts. Such an account gets no further
 * host until some of them are forgotten. Other nodes wait for the rows meanwhile, so it takes few statements. First all
 * new rows are inserted, then all others are locked, both in one order: then no two nodes wait for each other.
 */
export function* addHostHealth(measured: readonly MeasuredHost[], hostsMax: number): Steps<number> {
  const given = onceEach(measured);
  const known = yield* knownOf(given);
  const isKnown = ({ accountId, host }: MeasuredHost) => known.has(keyOf(accountId, host));
  // An attempt may end after its account was deleted.
  const standing = yield* standingAccounts(given.filter((each) => !isKnown(each)));
  const news = given.filter((each) => isKnown(each) || standing.has(each.accountId));
  /** How many hosts each account may still get. */
  const room = new Map<string, number>();
  const ended = new Set<MeasuredHost>();
  let leftOut = 0;
  for (const each of news.filter((other) => !isKnown(other))) {
    const { accountId, health } = each;
    const free = room.get(accountId) ?? hostsMax - (yield* countHosts(accountId, hostsMax));
    room.set(accountId, Math.max(0, free - 1));
    if (free <= 0) leftOut += attemptsOf(health);
    // If another node has inserted it meanwhile, it is merged into that row.
    if (free <= 0 || (yield* insertHost(each))) ended.add(each);
  }
  yield* mergeIntoRows(news.filter((each) => !ended.has(each)));
  return leftOut;
}

/** The keys of those that have a row. */
function* knownOf(measured: readonly MeasuredHost[]): Steps<ReadonlySet<string>> {
  const known = new Set<string>();
  for (const part of inParts(measured)) {
    const sql = `SELECT account_id, host FROM hosts WHERE ${isOneOf(part)}`;
    const rows = yield* all<Pick<HostRow, 'account_id' | 'host'>>(sql, keysOf(part));
    for (const row of rows) known.add(keyOf(row.account_id, row.host));
  }
  return known;
}

function* standingAccounts(measured: readonly MeasuredHost[]): Steps<ReadonlySet<string>> {
  if (measured.length === 0) return new Set();
  const sql = 'SELECT id FROM accounts WHERE id = ANY (?)';
  const rows = yield* all<{ id: string }>(sql, [[...new Set(measured.map(({ accountId }) => accountId))]]);
  return new Set(rows.map(({ id }) => id));
}

const countHosts = countUpTo('hosts');

function* insertHost({ accountId, host, health }: MeasuredHost): Steps<boolean> {
  const made = yield* run(
    'INSERT INTO hosts (account_id, host, health, last_attempt_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    [accountId, host, JSON.stringify(health), health.lastAttemptAt],
  );
  return made > 0;
}

function* mergeIntoRows(measured: readonly MeasuredHost[]): Steps<void> {
  const news = new Map(measured.map((each) => [keyOf(each.accountId, each.host), each.health]));
  for (const part of inParts(measured)) {
    const rows = yield* all<HostRow>(
      `SELECT ${HOST_COLUMNS} FROM hosts WHERE ${isOneOf(part)} ORDER BY account_id, host FOR UPDATE`,
      keysOf(part),
    );
    for (const some of inParts(rows)) {
      const values = some.flatMap(({ account_id: accountId, host, health }) => {
        const merged = mergeHealth(JSON.parse(health), news.get(keyOf(accountId, host))!);
        return [accountId, host, JSON.stringify(merged), merged.lastAttemptAt];
      });
      yield* run(
        `INSERT INTO hosts (account_id, host, health, last_attempt_at) VALUES ${repeated('(?, ?, ?, ?)', some)}
           ON CONFLICT (account_id, host) DO UPDATE SET health = excluded.health, last_attempt_at = excluded.last_attempt_at`,
        values,
      );
    }
  }
}

/** Each host once, in the order of accounts and hosts. */
function onceEach(measured: readonly MeasuredHost[]): MeasuredHost[] {
  const byKey = new Map<string, MeasuredHost>();
  for (const each of measured) {
    const key = keyOf(each.accountId, each.host);
    const before = byKey.get(key);
    byKey.set(key, before ? { ...each, health: mergeHealth(before.health, each.health) } : each);
  }
  return [...byKey].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, each]) => each);
}

function keyOf(accountId: string, host: string): string {
  return `${accountId} ${host}`;
}

function isOneOf(part: readonly unknown[]): string {
  return `(account_id, host) IN (VALUES ${repeated('(?, ?)', part)})`;
}

function keysOf(part: readonly MeasuredHost[]): string[] {
  return part.flatMap(({ accountId, host }) => [accountId, host]);
}

function repeated(text: string, { length }: readonly unknown[]): string {
  return new Array(length).fill(text).join(', ');
}

/** Parts whose lengths are powers of two: there are few different ones, because the text of each statement is kept. */
function inParts<T>(list: readonly T[]): (readonly T[])[] {
  if (list.length === 0) return [];
  const length = 2 ** Math.floor(Math.log2(list.length));
  return [list.slice(0, length), ...inParts(list.slice(length))];
}

export function* getHost(accountId: string, host: string): Steps<KnownHost | null> {
  const row = yield* get<HostRow>(GET_HOST, [accountId, host]);
  return row ? toHost(row) : null;
}

export const listHosts = listByKey<HostRow, KnownHost>(
  { table: 'hosts', key: 'host', columns: HOST_COLUMNS, bytes: 'length(health)' },
  toHost,
);

/** Counts the messages that wait, by host, among the next `limit` open messages of the account. */
export function* waitingByHost(accountId: string, afterSeq: number, limit: number): Steps<HostsPiece> {
  const rows = yield* all<{ seq: number; host: string; state: string }>(
    'SELECT seq, host, state FROM messages WHERE account_id = ? AND ended_at IS NULL AND seq > ? ORDER BY seq LIMIT ?',
    [accountId, afterSeq, limit],
  );
  const counts = new Map<string, number>();
  for (const { host, state } of rows) {
    if (state !== 'claimed') counts.set(host, (counts.get(host) ?? 0) + 1);
  }
  return {
    counts: [...counts].map(([host, waiting]) => ({ host, waiting })),
    nextSeq: rows.length < limit ? null : rows.at(-1)!.seq,
  };
}

/** Visits `limit` hosts after a position, and forgets those that no message was sent to for long. */
export function* deleteIdleHosts(now: number, after: WalkPosition, limit: number): Steps<WalkResult> {
  const rows = yield* all<Omit<HostRow, 'health'> & { last_attempt_at: number }>(
    `SELECT account_id, host, last_attempt_at, parking FROM hosts WHERE (account_id, host) > (?, ?)
       ORDER BY account_id, host LIMIT ?`,
    [...after, limit],
  );
  let deleted = 0;
  for (const { account_id: accountId, host, last_attempt_at: lastAttemptAt, parking } of rows) {
    if (!isForgotten(lastAttemptAt, parking === null ? null : JSON.parse(parking), now)) continue;
    deleted += yield* run(
      `DELETE FROM hosts WHERE account_id = ? AND host = ? AND last_attempt_at = ? AND coalesce(parking, '') = ?`,
      [accountId, host, lastAttemptAt, parking ?? ''],
    );
  }
  return walkResult(
    rows.map(({ account_id: accountId, host }) => [accountId, host]),
    limit,
    deleted,
  );
}
