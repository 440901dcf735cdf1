// Writes the end of attempts: their records, the next states of the messages and the callbacks, if the leases are still
// valid. `deliverNow` is here too.

import { countKindOfEnd } from '../../../rules/accounts/activity.ts';
import type { Settlement, SettleResult } from '../../../rules/delivery/message.ts';
import { afterCancel } from '../../../rules/delivery/settle.ts';
import { bytesOfAttempt } from '../../../rules/limits/stored-bytes.ts';
import {
  type AfterAttempt,
  afterAttempt,
  type DeliverNowResult,
  planDeliverNow,
  type UnclaimedMessage,
} from '../../../rules/lines/line.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { CANCELLED } from '../../rows/rows.ts';
import { ONE_MORE_CHANGE } from '../../shared/changed-message.ts';
import type { SettleReply } from '../../shared/commands.ts';
import type { SuccessorLeases } from '../../shared/succession.ts';
import { keyOf } from '../groups/lines.ts';
import { awaitAcks, forgetAcks, isAwaiting, settlementsTooEarly } from '../messages/acks.ts';
import { activityCountSql } from '../messages/activity.ts';
import { nullIfUnstorable, storable } from '../messages/storable.ts';
import { storedBytesSql } from '../messages/stored.ts';
import type { Database } from '../sessions/database.ts';
import { accept } from './accept.ts';
import { positionSql } from './journal.ts';
import { leaseHeads } from './lease.ts';
import {
  forgetDeduplication,
  LockedLines,
  OPEN_MESSAGE_COLUMNS,
  type OpenMessage,
  releasePlaceIfOvertaken,
} from './open-message.ts';
import type { Head } from './queues.ts';

/** Whether one statement settles all of them. Then it needs no BEGIN and COMMIT. */
export function arePlain(settlements: readonly Settlement[]): boolean {
  return settlements.every(({ isPlain, followUps }) => isPlain && followUps.length === 0);
}

export async function settle(
  database: Database,
  settlements: readonly Settlement[],
  now: number,
  to: SuccessorLeases | null = null,
): Promise<SettleReply> {
  const held = arePlain(settlements) ? [] : await readHeld(database, settlements);
  const lines = await LockedLines.lock(database, held);
  const heldById = new Map(held.map((each) => [keyOf(each.account_id, each.id), each]));
  const heldOf = (settlement: Settlement) => heldById.get(keyOf(settlement.accountId, settlement.messageId));
  const tooEarly = await settlementsTooEarly(database, settlements, heldOf);
  const awaiting = await awaitAcks(database, settlements.filter(isAwaiting));
  const ends = settlements.filter((settlement) => !isAwaiting(settlement) && !tooEarly.has(settlement));
  const after = ends.map((settlement) => {
    const message = heldOf(settlement);
    return afterAttempt(settlement, message !== undefined && lines.isPaused(message));
  });
  const isWritten = ends.length === 0 ? [] : await write(database, SETTLE, ends, after);
  const settled = ends.filter((_, index) => isWritten[index]);
  const done = new Set<Settlement>([...settled, ...awaiting]);
  const isSettled = settlements.map((settlement) => done.has(settlement));
  const unsettled = settlements.filter((each) => !done.has(each) && !tooEarly.has(each)).map(afterCancel);
  const isLate =
    unsettled.length === 0
      ? []
      : await write(
          database,
          END_CANCELLED,
          unsettled,
          unsettled.map((each) => afterAttempt(isAwaiting(each) ? { ...each, next: CANCELLED_NEXT } : each, false)),
        );
  const late = unsettled.filter((_, index) => isLate[index]);
  let dueAt: number | null = null;
  for (const [index, { startAt }] of after.entries()) if (isWritten[index]) dueAt = earlier(dueAt, startAt);
  const heldOfAll = (some: readonly Settlement[]) => some.flatMap((settlement) => heldOf(settlement) ?? []);
  await forgetAcks(database, heldOfAll([...settled, ...late].filter(({ ack }) => ack)));
  // A later message with the key of a failed one must not be a duplicate: it may be sent to replace it.
  await forgetDeduplication(database, heldOfAll(settled.filter(({ next }) => next.state === 'failed')));
  const ended = heldOfAll(settled.filter(isEnd));
  await releasePlaceIfOvertaken(database, heldOfAll(settled.filter((each) => !isEnd(each))));
  const successors = to && {
    places: ended.filter(({ queue_name, account_id }) => queue_name !== null && to.accounts.includes(account_id)),
    lease: (heads: readonly Head[]) => leaseHeads(database, to, now, heads),
  };
  const heads = await lines.startWaitingMessages(database, heldOfAll([...settled, ...late]), now, successors);
  dueAt = earlier(dueAt, heads.dueAt);
  // Callbacks are written last: the next message of a queue need not wait behind the callbacks of the previous one.
  const followUps = [...settled, ...late].flatMap((settlement) => settlement.followUps);
  if (followUps.length > 0) {
    const command = { messages: followUps, leases: [], node: '', now, dayMax: null };
    dueAt = earlier(dueAt, (await accept(database, command)).dueAt);
  }
  const ofUnsettled = isLate.values();
  const results = settlements.map((settlement, index): SettleResult => {
    if (isSettled[index]) return 'settled';
    if (tooEarly.has(settlement)) return 'lost';
    return ofUnsettled.next().value ? 'cancelled' : 'lost';
  });
  return { results, dueAt, claims: heads.claims };
}

/** Only its times are written: the message ends as cancelled. */
const CANCELLED_NEXT = { state: 'held', heldAt: 0 } as const;

function isEnd({ next }: Settlement): boolean {
  return next.state !== 'pending' && next.state !== 'held';
}

/** Reads the messages without a lock: the update locks the rows and checks the lease again. */
function readHeld(database: Database, settlements: readonly Settlement[]): Promise<OpenMessage[]> {
  return database.all<OpenMessage>(
    `SELECT ${OPEN_MESSAGE_COLUMNS} FROM unnest($1::text[], $2::text[], $3::text[]) AS g (account_id, id, lease)
       JOIN messages m ON m.account_id = g.account_id AND m.id = g.id AND m.lease = g.lease`,
    settlements.map(({ accountId }) => accountId),
    settlements.map(({ messageId }) => messageId),
    settlements.map(({ lease }) => lease),
  );
}

/** The input of each settlement: first the next state of its message, then the record of the attempt. */
const GIVEN = `WITH given AS MATERIALIZED
    (SELECT account_id, id, lease, state, due_at, retried, interrupted, alone_at_crash, alone_from_at, held_at, over_at,
        expires_at, failure, failure_code, at, number, started_at, ended_at, outcome, status, error, next_at, response_headers, is_cut,
        body_at, body_length, counted, attempt_bytes
      FROM json_to_recordset($1::json) AS r
       (at int, account_id text, id text, lease text, state text, due_at bigint, retried int, interrupted int,
        alone_at_crash int, alone_from_at bigint, held_at bigint, over_at bigint, expires_at bigint, failure text, failure_code text, number int, started_at bigint, ended_at bigint, outcome text, status int,
        error text, next_at bigint, response_headers text, is_cut boolean, body_at int, body_length int, counted smallint,
        attempt_bytes int)),`;
/** The columns of `settled`, for the parts of the statement that write the records. */
const SETTLED = `given.account_id, given.at, given.number, given.started_at, given.ended_at, given.outcome, given.status,
  given.error, given.next_at, given.response_headers, given.is_cut, given.body_at, given.body_length, given.counted,
  given.attempt_bytes, m.seq`;

/** Writes the record of each attempt in `settled`, to attempts and to the journal. */
const RECORDED = `attempted AS
    (INSERT INTO attempts (account_id, message_seq, number, started_at, ended_at, outcome, status, error, next_at,
       response_headers, is_response_body_cut, response_body)
     SELECT account_id, seq, number, started_at, ended_at, outcome, status, error, next_at, response_headers, is_cut,
       substring($2::bytea FROM body_at FOR body_length) FROM settled),
  weighed AS
    (${storedBytesSql('SELECT account_id, attempt_bytes AS bytes FROM settled')}),
  journalled AS
    (INSERT INTO journal (account_id, seq, at, message_seq, step)
     SELECT account_id, ${positionSql('account_id', 'at')}, ended_at, seq, number FROM settled
     RETURNING account_id, message_seq, seq AS position)`;

/** Messages whose cancel was requested during their attempt end as cancelled, whatever the outcome of the attempt. */
const END_CANCELLED = `${GIVEN}
  settled AS
    (UPDATE messages m SET state = 'cancelled', lease = NULL, node = NULL, claimed_at = NULL, holds_place = false,
       attempts = given.number, last_status = given.status, interrupted = given.interrupted,
       alone_at_crash = given.alone_at_crash, ended_at = greatest(given.ended_at, m.cancel_requested_at),
       expires_at = m.cancel_expires_at, cancel_expires_at = NULL,
       stored_bytes = coalesce(m.stored_bytes, 0) + given.attempt_bytes
     FROM given
     WHERE m.account_id = given.account_id AND m.id = given.id AND m.lease = given.lease
       AND m.cancel_requested_at IS NOT NULL
     RETURNING ${SETTLED}),
  ${RECORDED},
  gone AS
    (INSERT INTO journal (account_id, seq, at, message_seq, step)
     -- At the same position as the end of the attempt: it is not defined which of the two rows is written first.
     SELECT journalled.account_id, journalled.position, settled.ended_at, journalled.message_seq, ${CANCELLED}
       FROM settled JOIN journalled ON journalled.account_id = settled.account_id AND journalled.message_seq = settled.seq)
  SELECT at FROM settled`;

const SETTLE = `${GIVEN}
  settled AS
    (UPDATE messages m SET
       state = given.state, lease = NULL, node = NULL, claimed_at = NULL,
       -- In a queue the place is kept until the end; under a flow key, only as long as the attempt is under way.
       holds_place = m.holds_place AND m.flow_key IS NULL AND given.expires_at IS NULL,
       due_at = coalesce(given.due_at, m.due_at), retried = given.retried, interrupted = given.interrupted,
       alone_at_crash = given.alone_at_crash, alone_from_at = given.alone_from_at, held_at = given.held_at,
       attempts = given.number, last_status = given.status,
       ended_at = given.over_at, expires_at = given.expires_at, failure = given.failure, failure_code = given.failure_code,
       stored_bytes = coalesce(m.stored_bytes, 0) + given.attempt_bytes
     FROM given
     -- Only a claimed message has a lease. Asking for the state too would lead through an index of claims long ended.
     WHERE m.account_id = given.account_id AND m.id = given.id AND m.lease = given.lease
       AND m.cancel_requested_at IS NULL
     RETURNING ${SETTLED}),
  ${RECORDED},
  happened AS
    (${activityCountSql('SELECT account_id, ended_at AS at, counted AS kind FROM settled WHERE counted IS NOT NULL')})
  SELECT at FROM settled`;

/** Parallel to the settlements: whether the lease was still valid, and the settlement is written. */
async function write(
  database: Database,
  sql: string,
  settlements: readonly Settlement[],
  after: readonly AfterAttempt[],
): Promise<boolean[]> {
  let bytes = 0;
  const rows = settlements.map((settlement, at) => {
    const { attempt } = settlement;
    const { state, dueAt, aloneFromAt, heldAt, endedAt, expiresAt, failure, failureCode } = after[at]!;
    const row = {
      at,
      account_id: settlement.accountId,
      id: settlement.messageId,
      lease: settlement.lease,
      state,
      due_at: dueAt ?? undefined,
      retried: settlement.retried,
      interrupted: settlement.interrupted,
      alone_at_crash: settlement.aloneAtCrash,
      alone_from_at: aloneFromAt ?? undefined,
      held_at: heldAt ?? undefined,
      over_at: endedAt ?? undefined,
      expires_at: expiresAt ?? undefined,
      failure: failure === null ? undefined : storable(failure),
      failure_code: failureCode ?? undefined,
      number: attempt.number,
      started_at: attempt.startedAt,
      ended_at: attempt.endedAt,
      outcome: attempt.outcome,
      status: attempt.status ?? undefined,
      error: attempt.error === null ? undefined : storable(attempt.error),
      next_at: attempt.nextAt ?? undefined,
      response_headers: JSON.stringify(attempt.responseHeaders),
      is_cut: attempt.isResponseBodyCut,
      body_at: bytes + 1,
      body_length: attempt.responseBody.length,
      counted: countKindOfEnd(attempt, settlement.lagMs, state === 'failed') ?? undefined,
      attempt_bytes: bytesOfAttempt(attempt),
    };
    bytes += attempt.responseBody.length;
    return row;
  });
  const bodies = Buffer.concat(
    settlements.map(({ attempt }) => attempt.responseBody),
    bytes,
  );
  const settled = new Set((await database.all<{ at: number }>(sql, JSON.stringify(rows), bodies)).map(({ at }) => at));
  return settlements.map((_, at) => settled.has(at));
}

/** Sets the due time of a message to now, if the message waits for the clock. */
export async function deliverNow(
  database: Database,
  accountId: string,
  messageId: string,
  now: number,
): Promise<DeliverNowResult> {
  const row = await database.get<UnclaimedMessage & { seq: number }>(
    `SELECT seq, state, queue_name, held_at, alone_from_at FROM messages
       WHERE account_id = $1 AND id = $2 AND ended_at IS NULL FOR UPDATE`,
    accountId,
    nullIfUnstorable(messageId),
  );
  const { answer, column } = planDeliverNow(row);
  if (row && column) {
    await database.run(
      `UPDATE messages SET ${column} = $3, ${ONE_MORE_CHANGE} WHERE account_id = $1 AND seq = $2`,
      accountId,
      row.seq,
      now,
    );
  }
  return answer;
}
