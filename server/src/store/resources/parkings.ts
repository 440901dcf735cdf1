// Parked hosts: what rules/hosts/parking.ts decides of each account and host is kept in the row of the host. An event of
// a host is written as an event of one message, so that a million parked messages cost nothing.

import type { HostHealth } from '../../rules/hosts/host-health.ts';
import {
  afterNews,
  type HostNews,
  LEFT_FOR_MS,
  leftAt,
  type Parking,
  type ParkingChange,
  parkedByHand,
  parkingBacklog,
  resumedByHand,
} from '../../rules/hosts/parking.ts';
import type { ParkedHost } from '../ports/host-store.ts';
import { BACKLOG, RANK } from '../rows/message-columns.ts';
import { PARKED, RESUMED } from '../rows/rows.ts';
import { ONE_MORE_CHANGE } from '../shared/changed-message.ts';
import { all, get, run, type Steps, step } from './steps.ts';

interface ParkingRow {
  readonly account_id: string;
  readonly host: string;
  readonly parking: string | null;
}

const GET = 'SELECT account_id, host, parking, health FROM hosts WHERE account_id = ? AND host = ?';

/** All nodes write in the same order, so that none of them waits for another in a circle. */
export function* noteHosts(
  news: readonly HostNews[],
  parkedMax: number,
  hostsMax: number,
): Steps<readonly (Parking | null)[]> {
  const results = new Map<HostNews, Parking | null>();
  for (const each of [...news].sort(byAccountAndHost)) {
    results.set(each, yield* noteHost(each, parkedMax, hostsMax));
  }
  return news.map((each) => results.get(each) ?? null);
}

function* noteHost(news: HostNews, parkedMax: number, hostsMax: number): Steps<Parking | null> {
  const { accountId, host } = news;
  const row = yield* lockHost(accountId, host, news.at, hostsMax);
  if (!row) return null;
  const before = parkingOf(row);
  const { lastAnswerAt } = JSON.parse(row.health) as HostHealth;
  let change = afterNews(before, news, lastAnswerAt);
  if (change.events.includes('parked') && !(yield* hasParkedRoom(accountId, parkedMax))) {
    change = afterNews(before, news, lastAnswerAt, false);
  }
  yield* write(accountId, host, change, news.at, news.messageId, leftAt(news, change.parking));
  return change.parking;
}

/** Null: there are as many parked hosts as an account may have, or as many hosts. */
export function* parkHost(
  accountId: string,
  host: string,
  now: number,
  parkedMax: number,
  hostsMax: number,
): Steps<'parked' | 'full'> {
  const row = yield* lockHost(accountId, host, now, hostsMax);
  if (!row) return 'full';
  const before = parkingOf(row);
  const change = parkedByHand(before, now);
  if (before?.parkedAt == null && !(yield* hasParkedRoom(accountId, parkedMax))) return 'full';
  yield* write(accountId, host, change, now, yield* firstParked(accountId, host));
  return 'parked';
}

/** False: there is no such host. */
export function* resumeHost(accountId: string, host: string, now: number): Steps<boolean> {
  const row = yield* get<ParkingRow>(`${GET} FOR UPDATE`, [accountId, host]);
  if (!row) return false;
  const change = resumedByHand(parkingOf(row), now);
  yield* write(accountId, host, change, now, yield* firstParked(accountId, host));
  return true;
}

/** Forgets those of these hosts that open, but that nothing was sent to for a while. */
export function* endOpening(hosts: readonly Pick<ParkedHost, 'accountId' | 'host' | 'parking'>[]): Steps<void> {
  for (const { accountId, host, parking } of [...hosts].sort(byAccountAndHost)) {
    yield* run(
      'UPDATE hosts SET parking = NULL, parked_at = NULL, owner = NULL WHERE account_id = ? AND host = ? AND parking = ?',
      [accountId, host, JSON.stringify(parking)],
    );
  }
}

export function* listParked(limit: number): Steps<readonly ParkedHost[]> {
  const rows = yield* all<ParkingRow & { owner: string | null; owned_until: number | null }>(
    `SELECT account_id, host, parking, owner, owned_until FROM hosts
       WHERE parked_at IS NOT NULL AND account_id > '' ORDER BY account_id, host LIMIT ?`,
    [limit],
  );
  return rows.map(({ account_id: accountId, host, parking, owner, owned_until: ownedUntil }) => ({
    accountId,
    host,
    parking: JSON.parse(parking!) as Parking,
    owner,
    ownedUntil,
  }));
}

/** The node owns until `until` what it owns already, and what no living node owns: as the rule `mayOwn` says. */
export function* ownParked(node: string, now: number, until: number): Steps<number> {
  return yield* run(
    `UPDATE hosts SET owner = ?, owned_until = ? WHERE parked_at IS NOT NULL AND account_id > ''
       AND (owner IS NULL OR owned_until IS NULL OR owned_until <= ?
         OR (owner = ? AND owned_until > ?) OR (owner <> ? AND owned_until <= ?))`,
    [node, until, now - LEFT_FOR_MS, node, now, node, now],
  );
}

function parkingOf({ parking }: ParkingRow): Parking | null {
  return parking === null ? null : (JSON.parse(parking) as Parking);
}

function* lockHost(
  accountId: string,
  host: string,
  now: number,
  hostsMax: number,
): Steps<(ParkingRow & { health: string }) | undefined> {
  type Row = ParkingRow & { health: string };
  const known = yield* get<Row>(`${GET} FOR UPDATE`, [accountId, host]);
  if (known) return known;
  const count = 'SELECT count(*) AS n FROM (SELECT 1 FROM hosts WHERE account_id = ? LIMIT ?) AS few';
  const { n } = (yield* get<{ n: number }>(count, [accountId, hostsMax]))!;
  // An attempt may end after its account was deleted.
  if (n >= hostsMax || !(yield* get('SELECT 1 FROM accounts WHERE id = ?', [accountId]))) return undefined;
  const health: HostHealth = {
    spans: [],
    lastAttemptAt: now,
    lastAnswerAt: null,
    failingSince: null,
    lastFailure: null,
  };
  yield* run(
    'INSERT INTO hosts (account_id, host, health, last_attempt_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    [accountId, host, JSON.stringify(health), now],
  );
  return yield* get<Row>(`${GET} FOR UPDATE`, [accountId, host]);
}

function* hasParkedRoom(accountId: string, parkedMax: number): Steps<boolean> {
  const count = `SELECT count(*) AS n FROM
    (SELECT 1 FROM hosts WHERE account_id = ? AND parked_at IS NOT NULL LIMIT ?) AS few`;
  return (yield* get<{ n: number }>(count, [accountId, parkedMax]))!.n < parkedMax;
}

function* write(
  accountId: string,
  host: string,
  { parking, events }: ParkingChange,
  at: number,
  messageId: string | null,
  ownerLeavesAt: number | null = null,
): Steps<void> {
  const sql = `UPDATE hosts SET parking = ?, parked_at = ?, owned_until = coalesce(?, owned_until)
    WHERE account_id = ? AND host = ?`;
  yield* run(sql, [parking && JSON.stringify(parking), parking?.parkedAt ?? null, ownerLeavesAt, accountId, host]);
  for (const event of events) {
    if (messageId !== null) yield* tell(accountId, messageId, event === 'parked' ? PARKED : RESUMED, at);
  }
}

function* tell(accountId: string, messageId: string, journalStep: number, at: number): Steps<void> {
  const key = [accountId, messageId];
  const row = yield* get<{ seq: number }>('SELECT seq FROM messages WHERE account_id = ? AND id = ? FOR UPDATE', key);
  if (!row) return;
  yield* run(`UPDATE messages SET ${ONE_MORE_CHANGE} WHERE account_id = ? AND id = ?`, key);
  yield* step('addJournal', accountId, row.seq, journalStep, at);
}

/** The first message that waits for a host, if there is any. */
function* firstParked(accountId: string, host: string): Steps<string | null> {
  const row = yield* get<{ id: string }>(
    `SELECT id FROM messages WHERE state = 'ready' AND account_id = ? AND ${BACKLOG} = ?
       ORDER BY ${RANK}, seq LIMIT 1`,
    [accountId, parkingBacklog(host)],
  );
  return row?.id ?? null;
}

function byAccountAndHost(
  one: { readonly accountId: string; readonly host: string },
  other: { readonly accountId: string; readonly host: string },
): number {
  const [a, b] = [`${one.accountId} ${one.host}`, `${other.accountId} ${other.host}`];
  return a < b ? -1 : a > b ? 1 : 0;
}
