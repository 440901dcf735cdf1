// Finds the messages that wait under the debounce keys of new ones, and puts the new ones in their places.

import { COUNT_KINDS } from '../../../rules/accounts/activity.ts';
import { namesOfChanges } from '../../../rules/delivery/change.ts';
import type { Message, NewMessage } from '../../../rules/delivery/message.ts';
import { withQueueDefaults } from '../../../rules/lines/queue.ts';
import {
  canBeReplaced,
  type Debounced,
  type DebounceResult,
  hasEvent,
  isDebounced,
  type Misplaced,
  misplacedOf,
  replaced,
} from '../../../rules/publish/debounce.ts';
import { toDefaults } from '../../rows/line-rows.ts';
import { toMessage } from '../../rows/message-row.ts';
import { updatedStep } from '../../rows/rows.ts';
import type { AcceptCommand } from '../../shared/commands.ts';
import { readQueue } from '../deliveries/queues.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { isBodySame, SELECT_WAITING, type WaitingRow, writeChange } from './change.ts';

/** A newer one that has expired, and is about to end, hides no older one that was given back. */
const FIND = `${SELECT_WAITING} WHERE m.account_id = ? AND m.debounce_key = ? AND m.debounce_key IS NOT NULL
  AND m.ended_at IS NULL AND m.lease IS NULL AND m.attempts = 0 AND (m.must_start_before IS NULL OR m.must_start_before > ?)
  ORDER BY m.seq DESC LIMIT 1`;

/** The message that another one has taken the place of, as it is now. */
export interface Replacement extends DebounceResult {
  readonly seq: number;
  readonly message: Message;
  /** When there may be something to claim, or null. */
  readonly dueAt: number | null;
}

/** The messages of one request. */
export class Debouncing {
  readonly misplaced: Misplaced | null;
  /** Parallel to the messages. */
  readonly results: (DebounceResult | null)[];
  readonly #database: Database;
  readonly #caches: TransactionCaches;
  readonly #now: number;

  /** Null if none of them has a debounce key. */
  static of(database: Database, caches: TransactionCaches, { messages, now }: AcceptCommand): Debouncing | null {
    return messages.some(isDebounced) ? new Debouncing(database, caches, messages, now) : null;
  }

  private constructor(database: Database, caches: TransactionCaches, messages: readonly NewMessage[], now: number) {
    this.#database = database;
    this.#caches = caches;
    this.#now = now;
    this.results = messages.map(() => null);
    this.misplaced = findMisplaced(database, messages, now);
  }

  /** Puts the message in the place of the one that waits. Null if none waits, so that the message is to be written. */
  take(message: NewMessage, index: number): Replacement | null {
    if (!isDebounced(message)) return null;
    const taken = takePlace(this.#database, this.#caches, message, this.#now);
    this.results[index] = taken
      ? { messageId: taken.messageId, count: taken.count }
      : { messageId: message.id, count: 1 };
    return taken;
  }
}

/** The first of these messages that may not take the place of the one that waits, or null. */
function findMisplaced(database: Database, messages: readonly NewMessage[], now: number): Misplaced | null {
  const waiting = new Map<string, Message>();
  for (const message of messages.filter(isDebounced)) {
    const row = findWaiting(database, message, now);
    if (row) waiting.set(row.debounce_key!, toMessage(row));
  }
  return misplacedOf(messages, waiting);
}

function takePlace(database: Database, caches: TransactionCaches, newest: Debounced, now: number): Replacement | null {
  const row = findWaiting(database, newest, now);
  if (!row) return null;
  // Limits that this transaction requests apply before any message starts.
  caches.requestedFlowLimits.apply();
  const before = toMessage(row) as Debounced<Message>;
  const message = withDefaults(database, replaced(before, newest));
  const { body, createdAt, accountId } = newest;
  const names = namesOfChanges(before, message, isBodySame(database, row, body));
  const step = hasEvent(message) ? updatedStep(names, 0) : null;
  const dueAt = writeChange(database, caches, row, { message, names, body, step }, createdAt);
  // It counts as accepted, like any other message.
  caches.usage.add(accountId, newest.kind, now);
  caches.activity.add(accountId, COUNT_KINDS.accepted, createdAt);
  return { messageId: message.id, count: message.debounce.count, seq: row.seq, message, dueAt };
}

/** With the expiry and the priority of its queue, as a new message of the queue has them. */
function withDefaults(database: Database, message: Debounced<Message>): Debounced<Message> {
  const { accountId, queueName } = message;
  const queue = queueName === null ? undefined : readQueue(database, accountId, queueName);
  return queue ? { ...message, ...withQueueDefaults(message, toDefaults(queue)) } : message;
}

function findWaiting(database: Database, { accountId, debounce }: Debounced, now: number): WaitingRow | null {
  const row = database.get<WaitingRow>(FIND, accountId, debounce.key, now);
  return row && canBeReplaced(toMessage(row), now) ? row : null;
}
