// Writes new messages. HTTP publishes, schedules and the callbacks of a settlement all use this code.

import { COUNTED } from '../../../rules/accounts/activity.ts';
import type { NewMessage } from '../../../rules/delivery/message.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { isOverQuota } from '../../../rules/limits/quota.ts';
import { firstState } from '../../../rules/lines/line.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { ACCEPTED, ACCEPTED_STARTED } from '../../rows/rows.ts';
import type { AcceptCommand, AcceptReply, AccountAtClaim } from '../../shared/commands.ts';
import { promotedPerKeyMax } from '../../shared/promotion.ts';
import { sharedBodies } from '../../shared/shared-bodies.ts';
import type { Usage } from '../messages/usage.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { insertBody } from './bodies.ts';
import { correctOrderKey, ensureQueue, isOrderKeyInQueue, markQueueDue, startHeads } from './queues.ts';
import type { RequestedFlowLimits } from './requested-flow-limits.ts';

export function accept(database: Database, caches: TransactionCaches, command: AcceptCommand): AcceptReply {
  const { messages, now } = command;
  const { newMessages, journal, usage, activity, accountsAtClaim, requestedFlowLimits } = caches;
  if (isDayOver(database, usage, command)) {
    return { duplicates: [], isOverQuota: true, dueAt: null, accounts: [], rows: [] };
  }
  const duplicates: (string | null)[] = messages.map(nothing);
  const accounts: (AccountAtClaim | null)[] = messages.map(nothing);
  const rows: (number | null)[] = messages.map(nothing);
  const bodies = messages.length === 1 ? null : new Bodies(database, caches, messages);
  const newKeys = newOrderKeys(database, messages);
  /** Created when it is needed, because most messages have no queue and no flow key. */
  let lines: Lines | null = null;
  let dueAt: number | null = null;
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index]!;
    const { accountId } = message;
    const standing = standingMessage(database, message, now);
    duplicates[index] = standing;
    if (standing !== null) continue;
    const lease = command.leases[index] ?? null;
    const claim = lease === null ? null : { lease, node: command.node, at: now };
    const state = firstState(message, lease !== null, now);
    const bodyId = bodies?.idOf(message, index) ?? largeBodyId(database, caches, message);
    const seq = newMessages.add(message, state, claim, bodyId);
    journal.add(accountId, seq, lease === null ? ACCEPTED : ACCEPTED_STARTED, message.createdAt);
    usage.add(accountId, message.kind, now);
    activity.add(accountId, COUNTED.accepted, message.createdAt);
    if (lease !== null) {
      accounts[index] = accountsAtClaim.get(accountId);
      rows[index] = seq;
    }
    if (message.queueName !== null || message.flow) {
      lines ??= new Lines();
      lines.add(message);
      noteOrderKey(database, message, newKeys, seq);
    }
    if (isInNoLine(state)) dueAt = earlier(dueAt, message.dueAt);
  }
  if (lines !== null) dueAt = earlier(dueAt, startLines(database, requestedFlowLimits, lines, now));
  return { duplicates, isOverQuota: false, dueAt, accounts, rows };
}

/** Whether a claim finds the message by its time alone. */
function isInNoLine(state: ReturnType<typeof firstState>): boolean {
  return state === 'delayed' || state === 'ready';
}

/** A new message counts as the first of its order key, unless other messages have the key. */
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
  const ordered = messages.filter(({ orderKey }) => orderKey !== null);
  if (ordered.length === 0) return NONE;
  const keyOf = ({ accountId, queueName, orderKey }: NewMessage) => JSON.stringify([accountId, queueName, orderKey]);
  const alone = [...Map.groupBy(ordered, keyOf).values()].flatMap((same) => (same.length === 1 ? same : []));
  return new Set(alone.filter((message) => !isOrderKeyInQueue(database, message)));
}

const NONE: ReadonlySet<NewMessage> = new Set();

function nothing(): null {
  return null;
}

/** The queues and flow keys that got new messages. */
class Lines {
  readonly queues = new Map<string, { readonly accountId: string; readonly name: string; readonly dueAt: number }>();
  /** The newest message of each flow key, because its limits apply. */
  readonly flows = new Map<string, NewMessage>();

  /** A message of a queue is in the line of its queue only, also if it has a flow key. */
  add(message: NewMessage): void {
    const { accountId, queueName, flow, dueAt } = message;
    if (queueName !== null) {
      const id = JSON.stringify([accountId, queueName]);
      this.queues.set(id, { accountId, name: queueName, dueAt: Math.min(dueAt, this.queues.get(id)?.dueAt ?? dueAt) });
    } else if (flow) this.flows.set(JSON.stringify([accountId, flow.key]), message);
  }
}

/**
 * Starts the messages that may start in a few of these lines. The other lines are left to a claim, because no other
 * call is served meanwhile. Returns the earliest time at which a message of these lines can be claimed.
 */
function startLines(
  database: Database,
  requestedFlowLimits: RequestedFlowLimits,
  { queues, flows }: Lines,
  now: number,
): number | null {
  let dueAt: number | null = null;
  let atOnce = eachMax('linesAtOnce');
  const most = promotedPerKeyMax(Math.min(atOnce, queues.size + flows.size));
  for (const queue of queues.values()) {
    const { accountId, name } = queue;
    const at = Math.max(queue.dueAt, now);
    if (atOnce > 0) {
      ensureQueue(database, accountId, name, now);
      dueAt = earlier(dueAt, startHeads(database, accountId, name, now, most));
    } else {
      markQueueDue(database, accountId, name, at, now);
      dueAt = earlier(dueAt, at);
    }
    atOnce -= 1;
  }
  for (const { accountId, flow } of flows.values()) {
    dueAt = earlier(dueAt, requestedFlowLimits.say({ accountId, ...flow!, now }, atOnce > 0 ? most : 'later'));
    atOnce -= 1;
  }
  return dueAt;
}

/** The bodies that several messages share. The first message with such a body stores it. */
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

/**
 * From this size on, a body has its own row. SQLite rewrites a changed row with all its overflow pages, so a large body
 * inside the row would be written at each claim and settlement.
 */
const LARGE_BODY_BYTES = 16 * 1024;

function largeBodyId(database: Database, caches: TransactionCaches, { accountId, body }: NewMessage): number | null {
  return body.length < LARGE_BODY_BYTES ? null : insertBody(database, caches, accountId, body);
}

/** The id of the message that has the same deduplication key. If there is none, this message takes the key. */
function standingMessage(database: Database, message: NewMessage, now: number): string | null {
  if (!message.deduplication) return null;
  const standing = findStanding(database, message, now);
  if (standing !== null) return standing;
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

function findStanding(database: Database, { accountId, deduplication }: NewMessage, now: number): string | null {
  if (!deduplication) return null;
  const row = database.get<{ message_id: string }>(
    'SELECT message_id FROM deduplication WHERE account_id = ? AND key = ? AND expires_at > ?',
    accountId,
    deduplication.key,
    now,
  );
  return row?.message_id ?? null;
}

/** Whether the daily quota of the account is used up. The day is only read if there is a quota. */
function isDayOver(database: Database, usage: Usage, { messages, dayMax, now }: AcceptCommand): boolean {
  const accountId = messages[0]?.accountId;
  if (dayMax === null || accountId === undefined) return false;
  const standing = messages.flatMap((message) =>
    message.deduplication && findStanding(database, message, now) !== null ? [message.deduplication.key] : [],
  );
  return isOverQuota(messages, { used: usage.ofDay(accountId, now), standingKeys: new Set(standing) }, dayMax);
}
