// What receivers have reported of attempts whose acks have not come. The row of an ack is written by the settlement of the
// 202, or by the first word of the receiver if that is earlier; it is deleted when the attempt ends.

import {
  extendedDeadline,
  hasProgressEvent,
  type OpenAttempt,
  type ProgressWord,
  type StoredAck,
} from '../../rules/acks/ack.ts';
import type { HeaderList } from '../../rules/delivery/message.ts';
import type { DueAcks, MessageKey } from '../ports/ack-store.ts';
import type { Flag } from '../rows/message-columns.ts';
import { progressStep } from '../rows/rows.ts';
import { all, get, run, type Steps, step, type Value } from './steps.ts';

interface AckRow {
  readonly attempt: number;
  readonly is_awaiting: 0 | 1;
  readonly started_at: number;
  readonly deadline_at: number;
  readonly latest_at: number;
  readonly progress_ppm: number | null;
  readonly note: string | null;
  readonly events: number;
  readonly event_at: number | null;
  readonly status: number;
  readonly response_headers: string;
  readonly response_body: Uint8Array;
  readonly is_response_body_cut: Flag;
}

interface ClaimedRow {
  readonly seq: number;
  readonly lease: string;
  readonly attempts: number;
  readonly claimed_at: number;
  readonly cancel_requested_at: number | null;
}

const CLAIMED = `SELECT seq, lease, attempts, claimed_at, cancel_requested_at FROM messages
  WHERE account_id = ? AND id = ? AND state = 'claimed' AND await_ack_ms IS NOT NULL`;
const ACK = `SELECT attempt, is_awaiting, started_at, deadline_at, latest_at, progress_ppm, note, events, event_at, status,
    response_headers, response_body, is_response_body_cut
  FROM acks WHERE account_id = ? AND message_seq = ? AND attempt = ?`;
const PPM = 1_000_000;

export function* serviceKey(name: string, made: string): Steps<string> {
  const known = yield* get<{ value: string }>('SELECT value FROM service_keys WHERE name = ?', [name]);
  if (known) return known.value;
  // Another node may make it at the same time.
  yield* run('INSERT INTO service_keys (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING', [name, made]);
  return (yield* get<{ value: string }>('SELECT value FROM service_keys WHERE name = ?', [name]))!.value;
}

export function* openAttempt(accountId: string, messageId: string): Steps<OpenAttempt | null> {
  const row = yield* get<ClaimedRow>(CLAIMED, [accountId, messageId]);
  if (!row) return null;
  const attempt = row.attempts + 1;
  const ack = yield* get<AckRow>(ACK, [accountId, row.seq, attempt]);
  return {
    lease: row.lease,
    attempt,
    claimedAt: row.claimed_at,
    isCancelRequested: row.cancel_requested_at !== null,
    ack: ack ? toAck(ack) : null,
  };
}

export function* noteProgress(
  { accountId, messageId }: MessageKey,
  attempt: number,
  word: ProgressWord,
  latestAt: number,
  now: number,
): Steps<StoredAck | null> {
  // Who ends an attempt for want of an ack locks its message too, and then reads the deadline.
  const message = yield* get<ClaimedRow>(`${CLAIMED} FOR UPDATE`, [accountId, messageId]);
  if (message?.attempts !== attempt - 1 || message.cancel_requested_at !== null) return null;
  const key = [accountId, message.seq];
  const before = yield* get<AckRow>(ACK, [...key, attempt]);
  if (before?.is_awaiting && before.deadline_at <= now) return null;
  if (!before) yield* beginEarly(key, attempt, message.claimed_at, latestAt);
  const known = (yield* get<AckRow>(ACK, [...key, attempt]))!;
  const { event_at: eventAt, events, note } = known;
  const hasEvent = hasProgressEvent(eventAt, events, now);
  const deadlineAt = extendedDeadline(toAck(known), word.extendByMs, now);
  const ppm = word.progress === null ? known.progress_ppm : Math.round(word.progress * PPM);
  yield* run(
    `UPDATE acks SET deadline_at = ?, progress_ppm = ?, note = ?, events = ?, event_at = ?
       WHERE account_id = ? AND message_seq = ?`,
    [deadlineAt, ppm, word.note ?? note, events + Number(hasEvent), hasEvent ? now : eventAt, ...key],
  );
  if (hasEvent) yield* step('addJournal', accountId, message.seq, progressStep(word.progress), now);
  return toAck((yield* get<AckRow>(ACK, [...key, attempt]))!);
}

/** The row of an attempt whose response has not come. */
function* beginEarly(key: readonly Value[], attempt: number, startedAt: number, latestAt: number): Steps<void> {
  // An older program that has ended an attempt before has left its row.
  yield* run('DELETE FROM acks WHERE account_id = ? AND message_seq = ?', key);
  yield* run(
    `INSERT INTO acks (account_id, message_seq, attempt, is_awaiting, started_at, deadline_at, latest_at, events,
       status, response_headers, response_body, is_response_body_cut, stored_bytes)
       VALUES (?, ?, ?, 0, ?, 0, ?, 0, 0, '[]', ?, ?, 0)`,
    [...key, attempt, startedAt, latestAt, new Uint8Array(0), false],
  );
}

const DUE = `SELECT m.account_id, m.id FROM acks a JOIN messages m ON m.account_id = a.account_id AND m.seq = a.message_seq
  WHERE a.is_awaiting = 1 AND a.deadline_at <= ?`;
/** If more acks are due than one step ends: how many accounts are read in turn, and how many acks of each. */
const ACCOUNTS_A_STEP = 64;
const EACH_ACCOUNT_TURN = 5;

interface DueRow {
  readonly account_id: string;
  readonly id: string;
}

export function* dueAcks(now: number, limit: number, after = ''): Steps<DueAcks> {
  const first = yield* get<{ at: number }>(
    'SELECT deadline_at AS at FROM acks WHERE is_awaiting = 1 ORDER BY deadline_at LIMIT 1',
    [],
  );
  // Mostly nothing is due, and nothing else is read.
  if (!first || first.at > now) return { due: [], nextAt: first?.at ?? null, lastInTurn: null };
  const oldest = yield* all<DueRow>(`${DUE} ORDER BY a.deadline_at LIMIT ?`, [now, limit + 1]);
  if (oldest.length <= limit) return { due: oldest.map(toKey), nextAt: first.at, lastInTurn: null };
  const { rows, last } = yield* dueInTurn(now, limit / 2, after);
  const chosen = new Map([...rows, ...oldest].map((row) => [row.id, toKey(row)]));
  return { due: [...chosen.values()].slice(0, limit), nextAt: first.at, lastInTurn: last };
}

function toKey({ account_id, id }: DueRow): MessageKey {
  return { accountId: account_id, messageId: id };
}

/** The earliest few of each of the accounts after one, until there are enough. */
function* dueInTurn(now: number, enough: number, after: string) {
  const rows: DueRow[] = [];
  let last = after;
  for (let looked = 0; looked < ACCOUNTS_A_STEP && rows.length < enough; looked += 1) {
    const next = yield* get<Pick<DueRow, 'account_id'>>(
      'SELECT account_id FROM acks WHERE is_awaiting = 1 AND account_id > ? ORDER BY account_id, deadline_at LIMIT 1',
      [last],
    );
    last = next?.account_id ?? '';
    if (!next) break;
    const ofAccount = `${DUE} AND a.account_id = ? ORDER BY a.deadline_at LIMIT ?`;
    rows.push(...(yield* all<DueRow>(ofAccount, [now, last, EACH_ACCOUNT_TURN])));
  }
  return { rows, last };
}

function toAck(row: AckRow): StoredAck {
  return {
    attempt: row.attempt,
    isAwaiting: row.is_awaiting === 1,
    startedAt: row.started_at,
    deadlineAt: row.deadline_at,
    latestAt: row.latest_at,
    progress: row.progress_ppm === null ? null : row.progress_ppm / PPM,
    note: row.note,
    status: row.status,
    headers: JSON.parse(row.response_headers) as HeaderList,
    body: row.response_body,
    isBodyCut: Boolean(row.is_response_body_cut),
  };
}
