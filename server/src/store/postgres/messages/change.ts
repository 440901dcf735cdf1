// Changes a message that waits: its row, its labels, its body and its place in its line, in one transaction. The locks are
// taken in the order of a cancel: queue, flow key, message. Nothing else changes a message without the lock of its row.

import {
  type ChangedName,
  isContentChanged,
  isStartChanged,
  type MessageChange,
  planChange,
  versionOf,
} from '../../../rules/delivery/change.ts';
import type { Message } from '../../../rules/delivery/message.ts';
import { bytesBesideBody } from '../../../rules/limits/stored-bytes.ts';
import { claimableAt, type NewPlace, placeAtNewTime } from '../../../rules/lines/new-time.ts';
import { isOfContent } from '../../../rules/publish/deduplication.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { ACCEPTED, ACCEPTED_STARTED, startStep, updatedStep } from '../../rows/rows.ts';
import { CHANGED_COLUMNS, changedValues, placeOf } from '../../shared/changed-message.ts';
import type { ChangeReply } from '../../shared/commands.ts';
import { bodyBytesSql, deleteUnusedBodies, lockBodies, readBodies } from '../deliveries/bodies.ts';
import { uncountAdmitted } from '../deliveries/flow-keys.ts';
import { positionSql } from '../deliveries/journal.ts';
import {
  forgetDeduplication,
  LockedLines,
  OPEN_MESSAGE_COLUMNS,
  type OpenMessage,
} from '../deliveries/open-message.ts';
import { keyOf } from '../groups/lines.ts';
import type { Database } from '../sessions/database.ts';
import { ALL_BUT_BODY } from './messages.ts';
import { nullIfUnstorable } from './storable.ts';
import { storedBytesSql } from './stored.ts';

/** A message that may be changed, without its body. */
export type WaitingRow = MessageRow & OpenMessage & { readonly body_bytes: number };

/** Null: another transaction is changing the message, so nothing was done. */
export type ChangeStep = ChangeReply | null;

/**
 * Does not wait for the message while it holds the locks of its lines: a claim locks its messages before their flow keys,
 * and the two could wait for each other.
 */
export async function changeFree(
  database: Database,
  accountId: string,
  messageId: string,
  change: MessageChange,
  now: number,
): Promise<ChangeStep> {
  const held = await database.get<OpenMessage>(
    `SELECT ${OPEN_MESSAGE_COLUMNS} FROM messages m WHERE m.account_id = $1 AND m.id = $2 AND m.ended_at IS NULL`,
    accountId,
    nullIfUnstorable(messageId),
  );
  if (!held) return unchanged({ outcome: 'unknown' });
  const lines = await LockedLines.lock(database, [held]);
  const row = await database.get<WaitingRow>(LOCK_FREE, accountId, held.seq);
  if (!row) return null;
  const plan = planChange(toMessage(row), change, await isBodySame(database, row, change.body));
  if (plan.outcome !== 'changed') return unchanged(plan);
  const { message: after, names } = plan;
  const step = updatedStep(names, row.attempts);
  const dueAt = await writeChange(database, row, { message: after, names, body: change.body, step }, lines, now);
  const outcome = { outcome: 'changed', version: versionOf(after) } as const;
  if (!isStartChanged(toMessage(row), after)) return { outcome, dueAt: null, isStartChanged: false };
  return { outcome, dueAt, isStartChanged: true };
}

/** What a waiting message becomes. */
interface WrittenChange {
  readonly message: Message;
  readonly names: readonly ChangedName[];
  /** The new body; read only if `names` has the body. */
  readonly body: Uint8Array | null;
  /** The step for the journal; null if it gets none here. */
  readonly step: number | null;
}

/** Returns when there may be something to claim, in the line of the message or the message itself; null if nothing. */
export async function writeChange(
  database: Database,
  row: WaitingRow,
  { message: after, names, body, step }: WrittenChange,
  lines: LockedLines,
  now: number,
): Promise<number | null> {
  const place = placeAfter(row, lines, names.includes('nextDeliveryTime') ? after.dueAt : null, now);
  await writeRow(database, row, after, place, step, now);
  if (names.includes('body')) await writeBody(database, row, body!);
  if (names.includes('labels')) await writeLabels(database, row, after.labels);
  if (isContentChanged(names)) await forgetContent(database, row);
  const lineAt = place.hasLeft ? await leaveLine(database, row, lines, now) : null;
  const ownAt = claimableAt(place);
  return earlier(lineAt, ownAt === null ? null : Math.max(ownAt, now));
}

function unchanged(outcome: ChangeReply['outcome']): ChangeReply {
  return { outcome, dueAt: null, isStartChanged: false };
}

/** A query of WaitingRow, up to its condition. */
export const SELECT_WAITING = `SELECT ${ALL_BUT_BODY}, m.deduplication_key, ${bodyBytesSql('m')} AS body_bytes FROM messages m`;

const LOCK_FREE = `${SELECT_WAITING}
  WHERE m.account_id = $1 AND m.seq = $2 FOR UPDATE OF m SKIP LOCKED`;

/** The stored body is read only if it is as long as the new one. */
export async function isBodySame(database: Database, row: WaitingRow, body: Uint8Array | null): Promise<boolean> {
  if (body === null) return true;
  if (body.length !== row.body_bytes) return false;
  const stored = (await readBodies(database, [row])).get(row.seq);
  return stored !== undefined && Buffer.compare(body, stored) === 0;
}

/** `newDueAt` is null if the time was not changed. */
function placeAfter(row: WaitingRow, { queues }: LockedLines, newDueAt: number | null, now: number): NewPlace {
  const place = placeOf(row);
  if (newDueAt === null) return { ...place, hasLeft: false };
  const moved = placeAtNewTime(place, toMessage(row), newDueAt, now);
  const queue = row.queue_name === null ? undefined : queues.get(keyOf(row.account_id, row.queue_name));
  if (!queue || !moved.hasLeft || moved.firstDueAt > now) return moved;
  // As for a new message: the clocks of two nodes may differ, and it comes after those that are there.
  queue.line_at = Math.max(queue.line_at, moved.firstDueAt);
  return { ...moved, firstDueAt: queue.line_at };
}

/** The columns of every change come after the first six parameters. */
const WRITE = `WITH changed AS
    (UPDATE messages SET holds_place = $3, stored_bytes = coalesce(stored_bytes, 0) + $4::bigint,
       ${CHANGED_COLUMNS.map((name, index) => `${name} = $${index + 7}`).join(', ')}
     WHERE account_id = $1 AND seq = $2 RETURNING account_id, seq),
  weighed AS (${storedBytesSql('SELECT account_id, $4::bigint AS bytes FROM changed')})
  INSERT INTO journal (account_id, seq, at, message_seq, step)
    SELECT account_id, ${positionSql('account_id', 'seq')}, $6::bigint, seq, $5::int FROM changed WHERE $5::int IS NOT NULL`;

async function writeRow(
  database: Database,
  row: WaitingRow,
  after: Message,
  place: NewPlace,
  step: number | null,
  now: number,
): Promise<void> {
  if (row.claimed_at !== null) await forgetStart(database, row);
  const bytes = bytesBesideBody(after) - bytesBesideBody(toMessage(row));
  await database.run(
    WRITE,
    row.account_id,
    row.seq,
    place.holdsPlace,
    bytes,
    step,
    now,
    ...changedValues(after, place),
  );
}

async function writeBody(database: Database, row: WaitingRow, body: Uint8Array): Promise<void> {
  await lockBodies(database, [row]);
  await database.run(
    `WITH changed AS
       (UPDATE messages SET body = $3, body_id = NULL, stored_bytes = coalesce(stored_bytes, 0) + $4::bigint
          WHERE account_id = $1 AND seq = $2 RETURNING account_id)
     ${storedBytesSql('SELECT account_id, $4::bigint AS bytes FROM changed')}`,
    row.account_id,
    row.seq,
    body,
    body.length - (row.body_id === null ? row.body_bytes : 0),
  );
  await deleteUnusedBodies(database, [row]);
}

async function writeLabels(
  database: Database,
  { account_id, seq, labels: before }: WaitingRow,
  labels: readonly string[],
) {
  await database.run(
    'DELETE FROM message_labels WHERE account_id = $1 AND label = ANY($2::text[]) AND message_seq = $3',
    account_id,
    before === null ? [] : (JSON.parse(before) as string[]),
    seq,
  );
  await database.run(
    `INSERT INTO message_labels (account_id, label, message_seq)
       SELECT DISTINCT $1, label, $3::bigint FROM unnest($2::text[]) AS g (label) ON CONFLICT DO NOTHING`,
    account_id,
    labels,
    seq,
  );
}

/** A message that is deduplicated by its content no longer has this content, so others with it are no duplicates. */
async function forgetContent(database: Database, row: WaitingRow): Promise<void> {
  if (!isOfContent(row.deduplication_key)) return;
  await forgetDeduplication(database, [row]);
  await database.run(
    'UPDATE messages SET deduplication_key = NULL WHERE account_id = $1 AND seq = $2',
    row.account_id,
    row.seq,
  );
}

/**
 * Removes from the journal the start of an attempt that was released before it began: the attempt will start after the
 * change, and sends what was changed.
 */
async function forgetStart(database: Database, { account_id, seq, attempts }: WaitingRow): Promise<void> {
  await database.run(
    'DELETE FROM journal WHERE account_id = $1 AND message_seq = $2 AND step = $3',
    account_id,
    seq,
    startStep(attempts + 1),
  );
  // The start at the accept was that of the first attempt. If this attempt has ended, it stays an event.
  if (attempts === 0) {
    await database.run(
      'UPDATE journal SET step = $3 WHERE account_id = $1 AND message_seq = $2 AND step = $4',
      account_id,
      seq,
      ACCEPTED,
      ACCEPTED_STARTED,
    );
  }
  await database.run('UPDATE messages SET claimed_at = NULL WHERE account_id = $1 AND seq = $2', account_id, seq);
}

/** Corrects the line that the message has left, and in which it now waits elsewhere. */
async function leaveLine(database: Database, row: WaitingRow, lines: LockedLines, now: number): Promise<number | null> {
  if (row.order_key !== null) {
    await database.run(
      'UPDATE messages SET is_first_of_key = false WHERE account_id = $1 AND seq = $2',
      row.account_id,
      row.seq,
    );
  }
  const key = row.flow_key === null ? undefined : lines.keys.get(keyOf(row.account_id, row.flow_key));
  if (key && row.holds_place) await uncountAdmitted(database, key);
  return (await lines.startWaitingMessages(database, [row], now)).dueAt;
}
