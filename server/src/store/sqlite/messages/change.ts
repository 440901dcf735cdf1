// Changes a message that waits: its row, its labels, its body and its place in its line, in one transaction.

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
import { READ_COLUMNS } from '../../rows/message-fields.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { ACCEPTED, ACCEPTED_STARTED, startStep, updatedStep } from '../../rows/rows.ts';
import { CHANGED_COLUMNS, changedValues, placeOf } from '../../shared/changed-message.ts';
import type { ChangeReply } from '../../shared/commands.ts';
import { BODY_BYTES, Bodies, deleteUnusedBody, largeBodyId } from '../deliveries/bodies.ts';
import { uncountAdmitted } from '../deliveries/flow-keys.ts';
import { addLabels, deleteLabels } from '../deliveries/new-messages.ts';
import { forgetDeduplication, type OpenMessage, startWaitingMessages } from '../deliveries/open-message.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

/** A message that may be changed, without its body. */
export type WaitingRow = MessageRow & OpenMessage & { readonly body_bytes: number };

/** A query of WaitingRow, up to its condition. */
export const SELECT_WAITING = `SELECT ${READ_COLUMNS}, x'' AS body, m.deduplication_key, ${BODY_BYTES} AS body_bytes FROM messages m`;

const FIND = `${SELECT_WAITING} WHERE m.id = ? AND m.account_id = ?`;
const EMPTY = new Uint8Array(0);

const WRITE = `UPDATE messages SET ${CHANGED_COLUMNS.map((name) => `${name} = ?`).join(', ')}, holds_place = ?,
  stored_bytes = ifnull(stored_bytes, 0) + ? WHERE seq = ?`;

export function changeMessage(
  database: Database,
  caches: TransactionCaches,
  accountId: string,
  messageId: string,
  change: MessageChange,
  now: number,
): ChangeReply {
  const row = database.get<WaitingRow>(FIND, messageId, accountId);
  const plan = planChange(
    row ? toMessage(row) : null,
    change,
    row === undefined || isBodySame(database, row, change.body),
  );
  if (!row || plan.outcome !== 'changed') {
    return { outcome: plan as ChangeReply['outcome'], dueAt: null, isStartChanged: false };
  }
  // Limits that an accept of this transaction requests apply before any message starts.
  caches.requestedFlowLimits.apply();
  const step = updatedStep(plan.names, row.attempts);
  const dueAt = writeChange(database, caches, row, { ...plan, body: change.body, step }, now);
  const outcome = { outcome: 'changed', version: versionOf(plan.message) } as const;
  if (!isStartChanged(toMessage(row), plan.message)) return { outcome, dueAt: null, isStartChanged: false };
  return { outcome, dueAt, isStartChanged: true };
}

/** What a waiting message becomes. */
interface WrittenChange {
  readonly message: Message;
  readonly names: readonly ChangedName[];
  /** The new body; read only if `names` has the body. */
  readonly body: Uint8Array | null;
  /** The step for the journal; null if it gets none. */
  readonly step: number | null;
}

/** Returns when there may be something to claim, in the line of the message or the message itself; null if nothing. */
export function writeChange(
  database: Database,
  caches: TransactionCaches,
  row: WaitingRow,
  { message: after, names, body, step }: WrittenChange,
  now: number,
): number | null {
  const { account_id: accountId, seq } = row;
  const before = toMessage(row);
  const place: NewPlace = names.includes('nextDeliveryTime')
    ? placeAtNewTime(placeOf(row), before, after.dueAt, now)
    : { ...placeOf(row), hasLeft: false };
  const bytes = bytesBesideBody(after) - bytesBesideBody(before);
  caches.stored.add(accountId, bytes);
  database.run(WRITE, ...changedValues(after, place), place.holdsPlace ? 1 : 0, bytes, seq);
  if (names.includes('body')) writeBody(database, caches, row, body!);
  if (names.includes('labels')) {
    deleteLabels(database, accountId, seq, before.labels);
    addLabels(database, accountId, seq, after.labels);
  }
  if (isContentChanged(names)) forgetContent(database, row);
  if (row.claimed_at !== null) forgetStart(database, row);
  if (step !== null) caches.journal.add(accountId, seq, step, now);
  const lineAt = place.hasLeft ? leaveLine(database, row, now) : null;
  const ownAt = claimableAt(place);
  return earlier(lineAt, ownAt === null ? null : Math.max(ownAt, now));
}

/** The stored body is read only if it is as long as the new one. */
export function isBodySame(database: Database, row: WaitingRow, body: Uint8Array | null): boolean {
  if (body === null) return true;
  return body.length === row.body_bytes && Buffer.compare(body, new Bodies(database).read(row)) === 0;
}

function writeBody(database: Database, caches: TransactionCaches, { seq, ...row }: WaitingRow, body: Uint8Array): void {
  const bodyId = largeBodyId(database, caches, row.account_id, body);
  const own = bodyId === null ? body : EMPTY;
  const bytes = own.length - (row.body_id === null ? row.body_bytes : 0);
  caches.stored.add(row.account_id, bytes);
  database.run(
    'UPDATE messages SET body = ?, body_id = ?, stored_bytes = ifnull(stored_bytes, 0) + ? WHERE seq = ?',
    own,
    bodyId,
    bytes,
    seq,
  );
  if (row.body_id !== null) deleteUnusedBody(database, caches, row.body_id);
}

/** A message that is deduplicated by its content no longer has this content, so others with it are no duplicates. */
function forgetContent(database: Database, row: WaitingRow): void {
  if (!isOfContent(row.deduplication_key)) return;
  forgetDeduplication(database, row, row.id);
  database.run('UPDATE messages SET deduplication_key = NULL WHERE seq = ?', row.seq);
}

/**
 * Removes from the journal the start of an attempt that was released before it began: the attempt will start after the
 * change, and sends what was changed.
 */
function forgetStart(database: Database, { seq, attempts }: WaitingRow): void {
  database.run('DELETE FROM journal WHERE message_seq = ? AND step = ?', seq, startStep(attempts + 1));
  // The start at the accept was that of the first attempt. If this attempt has ended, it stays an event.
  if (attempts === 0) {
    database.run('UPDATE journal SET step = ? WHERE message_seq = ? AND step = ?', ACCEPTED, seq, ACCEPTED_STARTED);
  }
  database.run('UPDATE messages SET claimed_at = NULL WHERE seq = ?', seq);
}

/** Corrects the line that the message has left, and in which it now waits elsewhere. */
function leaveLine(database: Database, row: WaitingRow, now: number): number | null {
  const { account_id: accountId, seq, order_key: orderKey, flow_key: flowKey } = row;
  if (orderKey !== null) database.run('UPDATE messages SET is_first_of_key = 0 WHERE seq = ?', seq);
  if (flowKey !== null && row.holds_place) uncountAdmitted(database, accountId, flowKey);
  return startWaitingMessages(database, row, now);
}
