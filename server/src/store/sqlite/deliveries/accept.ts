// Writes new messages. HTTP publishes, schedules and the callbacks of a settlement all use this code.

import { COUNT_KINDS } from '../../../rules/accounts/activity.ts';
import type { NewMessage } from '../../../rules/delivery/message.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { isOverQuota } from '../../../rules/limits/quota.ts';
import { firstState } from '../../../rules/lines/line.ts';
import { hasDefaults, withQueueDefaults } from '../../../rules/lines/queue.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { type QueueRow, toDefaults } from '../../rows/line-rows.ts';
import { aheadColumn } from '../../rows/message-columns.ts';
import { ACCEPTED, ACCEPTED_STARTED } from '../../rows/rows.ts';
import { type AcceptCommand, type AcceptReply, type AccountAtClaim, NOT_ACCEPTED } from '../../shared/commands.ts';
import { promotedPerKeyMax } from '../../shared/promotion.ts';
import { sharedBodies } from '../../shared/shared-bodies.ts';
import { Debouncing } from '../messages/debounce.ts';
import type { UsageCounts } from '../messages/usage.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { insertBody, largeBodyId } from './bodies.ts';
import { correctOrderKey, ensureQueue, isOrderKeyInQueue, markQueueDue, readQueue, startHeads } from './queues.ts';
import type { RequestedFlowLimits } from './requested-flow-limits.ts';

export function accept(database: Database, caches: TransactionCaches, command: AcceptCommand): AcceptReply {
  const { messages, now } = command;
  const { newMessages, journal, usage, activity, accountsAtClaim, requestedFlowLimits } = caches;
  if (isDayOver(database, usage, command)) return { ...NOT_ACCEPTED, isOverQuota: true };
  const debouncing = Debouncing.of(database, caches, command);
  if (debouncing?.misplaced) return { ...NOT_ACCEPTED, misplaced: debouncing.misplaced };
  const duplicates: (string | null)[] = messages.map(nothing);
  const accounts: (AccountAtClaim | null)[] = messages.map(nothing);
  const rows: (number | null)[] = messages.map(nothing);
  const bodies = messages.length === 1 ? null : new Bodies(database, caches, messages);
  const newKeys = newOrderKeys(database, messages);
  /** Created for the first message with a queue or a flow key, because most messages have neither. */
  let lines: Lines | null = null;
  let dueAt: number | null = null;
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index]!;
    const { accountId } = message;
    const duplicateOf = takeDeduplication(database, message, now);
    duplicates[index] = duplicateOf;
    if (duplicateOf !== null) continue;
    const taken = debouncing?.take(message, index) ?? null;
    if (taken !== null) {
      dueAt = earlier(dueAt, taken.dueAt);
      lines = withLine(lines, taken.message, taken.seq);
      continue;
    }
    const lease = command.leases[index] ?? null;
    const claim = lease === null ? null : { lease, node: command.node, at: now };
    const state = firstState(message, lease !== null, now);
    const bodyId = bodies?.idOf(message, index) ?? largeBodyId(database, caches, message.accountId, message.body);
    const seq = newMessages.add(message, state, claim, bodyId);
    journal.add(accountId, seq, lease === null ? ACCEPTED : ACCEPTED_STARTED, message.createdAt);
    usage.add(accountId, message.kind, now);
    activity.add(accountId, COUNT_KINDS.accepted, message.createdAt);
    if (lease !== null) {
      accounts[index] = accountsAtClaim.get(accountId);
      rows[index] = seq;
    }
    lines = withLine(lines, message, seq);
    noteOrderKey(database, message, newKeys, seq);
    if (isInNoLine(state)) dueAt = earlier(dueAt, message.dueAt);
  }
  dueAt = earlier(dueAt, startLines(database, requestedFlowLimits, lines, now));
  return { ...NOT_ACCEPTED, duplicates, dueAt, accounts, rows, debounced: debouncing?.results ?? null };
}

/** The lines with that of the message, if it has one. */
function withLine(lines: Lines | null, message: NewMessage, seq: number): Lines | null {
  if (message.queueName === null && !message.flow) return lines;
  const all = lines ?? new Lines();
  all.add(message, seq);
  return all;
}

/** Whether a claim finds the message by its own state and due time, not through its queue or flow key. */
function isInNoLine(state: ReturnType<typeof firstState>): boolean {
  return state === 'delayed' || state === 'ready';
}

/** A new message is written as the first of its order key. If other messages have the key, this corrects the mark. */
function noteOrderKey(database: Database, message: NewMessage, newKeys: ReadonlySet<NewMessage>, seq: number): void {
  const { accountId, queueName, orderKey } = message;
  if (orderKey === null || newKeys.has(message)) return;
  database.run('UPDATE messages SET is_first_of_key = 0 WHERE seq = ?', seq);
  correctOrderKey(database, accountId, queueName!, orderKey);
}

/**
 * The messages whose order key no other message has, neither in this list nor in the queue. Call this before the first
 * message of the list is written.
 */
function newOrderKeys(database: Database, messages: readonly NewMessage[]): ReadonlySet<NewMessage> {
  if (!messages.some(hasOrderKey)) return NONE;
  const ordered = messages.filter(hasOrderKey);
  const keyOf = ({ accountId, queueName, orderKey }: NewMessage) => JSON.stringify([accountId, queueName, orderKey]);
  const alone = [...Map.groupBy(ordered, keyOf).values()].flatMap((same) => (same.length === 1 ? same : []));
  return new Set(alone.filter((message) => !isOrderKeyInQueue(database, message)));
}

const NONE: ReadonlySet<NewMessage> = new Set();

function hasOrderKey({ orderKey }: NewMessage): boolean {
  return orderKey !== null;
}

function nothing(): null {
  return null;
}

/** A queue that got new messages, and when the first of them is due. */
interface NewInQueue {
  readonly accountId: string;
  readonly name: string;
  dueAt: number;
  readonly added: { readonly message: NewMessage; readonly seq: number }[];
}

/** Gives new messages the settings of their queue that they do not have themselves. */
function applyQueueDefaults(database: Database, row: QueueRow | undefined, { added }: NewInQueue): void {
  const defaults = row && toDefaults(row);
  if (!defaults || !hasDefaults(defaults)) return;
  for (const { message, seq } of added) {
    const { mustStartBefore, priority, outage } = withQueueDefaults(message, defaults);
    const ahead = aheadColumn({ priority });
    const sql = 'UPDATE messages SET must_start_before = ?, ahead_ms = ?, outage = ? WHERE seq = ?';
    database.run(sql, mustStartBefore, ahead, outage, seq);
  }
}

/** The queues and flow keys that got new messages. */
class Lines {
  readonly queues = new Map<string, NewInQueue>();
  /** The newest message of each flow key. Its limits apply to the key. */
  readonly flows = new Map<string, NewMessage>();

  /** A message of a queue waits only in its queue, even if it has a flow key. */
  add(message: NewMessage, seq: number): void {
    const { accountId, queueName, flow, dueAt } = message;
    if (queueName !== null) {
      const id = JSON.stringify([accountId, queueName]);
      const queue = this.queues.get(id) ?? { accountId, name: queueName, dueAt, added: [] };
      queue.dueAt = Math.min(dueAt, queue.dueAt);
      queue.added.push({ message, seq });
      this.queues.set(id, queue);
    } else if (flow) this.flows.set(JSON.stringify([accountId, flow.key]), message);
  }
}

/**
 * Starts messages in a few of these queues and flow keys. The others are left to a claim, because no other call is
 * served during this transaction. Returns the earliest time at which a message of any of them can be claimed.
 */
function startLines(
  database: Database,
  requestedFlowLimits: RequestedFlowLimits,
  lines: Lines | null,
  now: number,
): number | null {
  if (lines === null) return null;
  const { queues, flows } = lines;
  let dueAt: number | null = null;
  let atOnce = eachMax('linesAtOnce');
  const most = promotedPerKeyMax(Math.min(atOnce, queues.size + flows.size));
  for (const queue of queues.values()) {
    const { accountId, name } = queue;
    const at = Math.max(queue.dueAt, now);
    if (atOnce > 0) {
      ensureQueue(database, accountId, name, now);
      const row = readQueue(database, accountId, name);
      applyQueueDefaults(database, row, queue);
      dueAt = earlier(dueAt, startHeads(database, accountId, name, now, most, row));
    } else {
      markQueueDue(database, accountId, name, at, now);
      applyQueueDefaults(database, readQueue(database, accountId, name), queue);
      dueAt = earlier(dueAt, at);
    }
    atOnce -= 1;
  }
  for (const { accountId, flow } of flows.values()) {
    dueAt = earlier(dueAt, requestedFlowLimits.add({ accountId, ...flow!, now }, atOnce > 0 ? most : 'later'));
    atOnce -= 1;
  }
  return dueAt;
}

/** The bodies that several of these messages share. A shared body is stored with the first message that has it. */
class Bodies {
  readonly #database: Database;
  readonly #caches: TransactionCaches;
  readonly #firsts: readonly (number | null)[];
  readonly #ids = new Map<number, number>();

  constructor(database: Database, caches: TransactionCaches, messages: readonly NewMessage[]) {
    this.#database = database;
    this.#caches = caches;
    this.#firsts = sharedBodies(messages);
  }

  /** The id of the shared body; null if the body is not shared. */
  idOf({ accountId, body }: NewMessage, index: number): number | null {
    const first = this.#firsts[index] ?? null;
    if (first === null) return null;
    const id = this.#ids.get(first) ?? insertBody(this.#database, this.#caches, accountId, body);
    this.#ids.set(first, id);
    return id;
  }
}

/** The id of an earlier message with the same deduplication key. Null if there is none: the message takes the key. */
function takeDeduplication(database: Database, message: NewMessage, now: number): string | null {
  if (!message.deduplication) return null;
  const duplicateOf = findDuplicateOf(database, message, now);
  if (duplicateOf !== null) return duplicateOf;
  database.run(
    `INSERT INTO deduplication (account_id, key, message_id, expires_at) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET message_id = excluded.message_id, expires_at = excluded.expires_at`,
    message.accountId,
    message.deduplication.key,
    message.id,
    message.deduplication.expiresAt,
  );
  return null;
}

function findDuplicateOf(database: Database, { accountId, deduplication }: NewMessage, now: number): string | null {
  if (!deduplication) return null;
  const row = database.get<{ message_id: string }>(
    'SELECT message_id FROM deduplication WHERE account_id = ? AND key = ? AND expires_at > ?',
    accountId,
    deduplication.key,
    now,
  );
  return row?.message_id ?? null;
}

/** Whether these messages would exceed the daily quota. The usage of the day is read only if there is a quota. */
function isDayOver(database: Database, usage: UsageCounts, { messages, dayMax, now }: AcceptCommand): boolean {
  const accountId = messages[0]?.accountId;
  if (dayMax === null || accountId === undefined) return false;
  const inForce = messages.flatMap((message) =>
    message.deduplication && findDuplicateOf(database, message, now) !== null ? [message.deduplication.key] : [],
  );
  return isOverQuota(messages, { used: usage.ofDay(accountId, now), keysInForce: new Set(inForce) }, dayMax);
}
