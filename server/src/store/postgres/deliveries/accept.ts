// Writes new messages. The messages of HTTP publishes, of schedules and, inside a settle, of callbacks are written
// here. Commands of many callers are written together.

import { usageDay } from '../../../rules/accounts/account.ts';
import type { NewMessage } from '../../../rules/delivery/message.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { type DayUsage, isOverQuota, usageAfter } from '../../../rules/limits/quota.ts';
import { firstState } from '../../../rules/lines/line.ts';
import { hasDefaults, withQueueDefaults } from '../../../rules/lines/queue.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { toDefaults } from '../../rows/line-rows.ts';
import { type AcceptCommand, type AcceptReply, type AccountAtClaim, NOT_ACCEPTED } from '../../shared/commands.ts';
import { promotedPerKeyMax } from '../../shared/promotion.ts';
import { sharedBodies } from '../../shared/shared-bodies.ts';
import { keyOf, Pairs } from '../groups/lines.ts';
import { Debouncing, hasDebounceKey } from '../messages/debounce.ts';
import type { Database } from '../sessions/database.ts';
import { admitWaiting, type LockedKeys, lockOrCreateKeys, markKeysDue } from './flow-keys.ts';
import { insertMessages, type PlacedMessage } from './insert.ts';
import { OrderKeys } from './order-keys.ts';
import { type LockedQueues, lockOrCreateQueues, markQueuesDue, startHeads } from './queues.ts';
import { applyOrDeferLimits } from './requested-flow-limits.ts';

/** Whether one statement writes the whole command. Then it needs no BEGIN and COMMIT. */
export function isPlain({ messages, dayMax }: AcceptCommand): boolean {
  return (
    dayMax === null &&
    messages.every(
      ({ queueName, flow, deduplication, debounce }) => queueName === null && !flow && !deduplication && !debounce,
    )
  );
}

export async function accept(database: Database, command: AcceptCommand): Promise<AcceptReply> {
  return (await acceptAll(database, [command]))[0]!;
}

/** Each command is written whole or not at all. An error rolls back all of them. */
export async function acceptAll(database: Database, commands: readonly AcceptCommand[]): Promise<AcceptReply[]> {
  const debouncing = commands.some(hasDebounceKey) ? await Debouncing.begin(database, commands) : null;
  const refused = debouncing?.misplaced ?? NONE;
  const placed = refused.size === 0 ? commands : commands.filter((command) => !refused.has(command));
  const isOver = await overQuota(database, placed);
  const accepted = isOver.size === 0 ? placed : placed.filter((command) => !isOver.has(command));
  const duplicates = await takeDeduplication(database, accepted);
  const replacedAt = debouncing && (await replaceWaiting(database, debouncing, accepted));
  const drafts = accepted.flatMap((command) => draftsOf(command, duplicates, debouncing));
  const accounts = new Map<string, AccountAtClaim>();
  const dueAt = earlier(replacedAt, await write(database, drafts, accounts));
  if (debouncing && accepted.length > 0) await debouncing.note(usageDay(latestOf(accepted)));
  return commands.map((command) => {
    const misplaced = refused.get(command) ?? null;
    if (misplaced) return { ...NOT_ACCEPTED, misplaced };
    if (isOver.has(command)) return { ...NOT_ACCEPTED, isOverQuota: true };
    const { messages } = command;
    const duplicateIds = messages.map((message) => duplicates.get(message) ?? null);
    const own = messages.map(({ accountId }) => accounts.get(accountId) ?? null);
    const debounced = debouncing?.resultsOf(command) ?? null;
    return { ...NOT_ACCEPTED, duplicates: duplicateIds, dueAt, accounts: own, debounced };
  });
}

const NONE: Debouncing['misplaced'] = new Map();

function latestOf(commands: readonly AcceptCommand[]): number {
  return Math.max(...commands.map(({ now }) => now));
}

/** Puts messages in the places of those that wait under their debounce keys. The lines of all are locked first, in order. */
async function replaceWaiting(
  database: Database,
  debouncing: Debouncing,
  commands: readonly AcceptCommand[],
): Promise<number | null> {
  if (commands.length === 0) return null;
  let queues: LockedQueues = new Map();
  let isPutOff = false;
  const now = latestOf(commands);
  if (debouncing.hasWaiting) {
    const messages = commands.flatMap((command) => command.messages);
    queues = await lockLines(database, messages, now);
    isPutOff = (await lockFlow(database, messages, now)).isPutOff;
  }
  return earlier(isPutOff ? now : null, await debouncing.write(commands, queues));
}

interface Draft {
  readonly command: AcceptCommand;
  readonly message: NewMessage;
  readonly lease: string | null;
  /** The first message of the command with the same body; null if the body is not shared. */
  readonly bodyOf: NewMessage | null;
}

function draftsOf(
  command: AcceptCommand,
  duplicates: ReadonlyMap<NewMessage, string>,
  debouncing: Debouncing | null,
): Draft[] {
  const fresh = command.messages.flatMap((given, at) => {
    const message = debouncing && !duplicates.has(given) ? debouncing.written(given) : given;
    return message === null || duplicates.has(given) ? [] : [{ command, message, lease: command.leases[at] ?? null }];
  });
  const shared = sharedBodies(fresh.map(({ message }) => message));
  return fresh.map((draft, at) => {
    const first = shared[at] ?? null;
    return { ...draft, bodyOf: first === null ? null : fresh[first]!.message };
  });
}

async function write(
  database: Database,
  drafts: readonly Draft[],
  accounts: Map<string, AccountAtClaim>,
): Promise<number | null> {
  if (drafts.length === 0) return null;
  const now = Math.max(...drafts.map(({ command }) => command.now));
  const messages = drafts.map(({ message }) => message);
  const queues = await lockLines(database, messages, now);
  const { keys, isPutOff } = await lockFlow(database, messages, now);
  const placed = drafts.map((draft) => place(draft, queues));
  for (const [accountId, account] of await insertMessages(database, placed, usageDay(now))) {
    accounts.set(accountId, account);
  }
  await orderKeysOf(drafts).correct(database);
  const startedAt = await startLines(database, placed, { queues, keys, atOnce: linesAtOnce(drafts) }, now);
  let dueAt = isPutOff ? now : startedAt;
  for (const { state, message } of placed) {
    if (state === 'delayed' || state === 'ready') dueAt = earlier(dueAt, message.dueAt);
  }
  return dueAt;
}

/** The queue or flow key of a message; null if it has none. */
function lineOf({ accountId, queueName, flow }: NewMessage): string | null {
  if (queueName !== null) return `queue ${keyOf(accountId, queueName)}`;
  return flow ? `key ${keyOf(accountId, flow.key)}` : null;
}

/** The first few queues and flow keys of each command. Their messages start at once: see `startLines`. */
function linesAtOnce(drafts: readonly Draft[]): ReadonlySet<string> {
  const ofCommands = new Map<AcceptCommand, Set<string>>();
  for (const { command, message } of drafts) {
    const line = lineOf(message);
    if (line === null) continue;
    const lines = ofCommands.get(command) ?? new Set();
    if (lines.size < eachMax('linesAtOnce')) ofCommands.set(command, lines.add(line));
  }
  return new Set([...ofCommands.values()].flatMap((lines) => [...lines]));
}

interface StartedLines {
  readonly queues: LockedQueues;
  readonly keys: LockedKeys;
  readonly atOnce: ReadonlySet<string>;
}

/**
 * Starts the messages that may start in the queues and flow keys of `atOnce`. A claim starts the rest, because other
 * accounts wait for this transaction. Returns the earliest time at which one of the messages can be claimed.
 */
async function startLines(
  database: Database,
  placed: readonly PlacedMessage[],
  { queues, keys, atOnce }: StartedLines,
  now: number,
): Promise<number | null> {
  if (queues.size === 0 && keys.size === 0) return null;
  const most = promotedPerKeyMax(atOnce.size);
  const isAtOnce = (kind: 'queue' | 'key') => (id: string) => atOnce.has(`${kind} ${id}`);
  const [startedQueues, notedQueues] = divide(queues, isAtOnce('queue'));
  const [admittedKeys, notedKeys] = divide(keys, isAtOnce('key'));
  const heads = await startHeads(database, startedQueues, now, { most });
  const admittedAt = await admitWaiting(database, admittedKeys, now, most);
  let dueAt = earlier(heads.dueAt, admittedAt);
  if (notedQueues.size > 0) {
    const firstAt = new Map<string, number>();
    for (const { message, firstDueAt } of placed) {
      if (message.queueName === null) continue;
      const id = keyOf(message.accountId, message.queueName);
      firstAt.set(id, Math.min(firstDueAt, firstAt.get(id) ?? firstDueAt));
    }
    const noted = [...notedQueues].map(([id, queue]) => ({ queue, at: Math.max(now, firstAt.get(id)!) }));
    dueAt = earlier(dueAt, await markQueuesDue(database, noted));
  }
  if (notedKeys.size === 0) return dueAt;
  await markKeysDue(database, notedKeys, now);
  return earlier(dueAt, now);
}

/** Divides the entries into those for which `isFirst` is true, and the others. */
function divide<T>(all: ReadonlyMap<string, T>, isFirst: (id: string) => boolean): [Map<string, T>, Map<string, T>] {
  const entries = [...all];
  return [new Map(entries.filter(([id]) => isFirst(id))), new Map(entries.filter(([id]) => !isFirst(id)))];
}

/** Decides the state of a message and its time in the queue. Under the lock of the queue, these times only grow. */
function place({ command, message, lease, bodyOf }: Draft, queues: LockedQueues): PlacedMessage {
  const { node, now } = command;
  const claim = lease === null ? null : { lease, node, at: now };
  const state = firstState(message, lease !== null, now);
  const queue = message.queueName === null ? undefined : queues.get(keyOf(message.accountId, message.queueName));
  const defaults = queue && toDefaults(queue);
  const own = defaults && hasDefaults(defaults) ? { ...message, ...withQueueDefaults(message, defaults) } : message;
  if (!queue || message.dueAt > now) return { message: own, bodyOf, state, claim, firstDueAt: message.dueAt };
  // The clocks of two nodes may differ: a later message must still come after the earlier ones.
  queue.line_at = Math.max(queue.line_at, message.dueAt);
  return { message: own, bodyOf, state, claim, firstDueAt: queue.line_at };
}

/** Locks the queues of these messages. */
async function lockLines(database: Database, messages: readonly NewMessage[], now: number): Promise<LockedQueues> {
  const pairs = new Pairs();
  for (const { accountId, queueName } of messages) if (queueName !== null) pairs.add(accountId, queueName);
  return pairs.isEmpty ? new Map() : lockOrCreateQueues(database, pairs, now);
}

/** Locks the flow keys, and takes over the limits in the messages. `isPutOff`: some limits wait for a claim. */
async function lockFlow(
  database: Database,
  messages: readonly NewMessage[],
  now: number,
): Promise<{ keys: LockedKeys; isPutOff: boolean }> {
  const limits = new Map<
    string,
    { accountId: string; key: string; limits: NonNullable<NewMessage['flow']>['limits'] }
  >();
  for (const { accountId, queueName, flow } of messages) {
    // The limits of the newest message apply.
    if (queueName === null && flow)
      limits.set(keyOf(accountId, flow.key), { accountId, key: flow.key, limits: flow.limits });
  }
  if (limits.size === 0) return { keys: new Map(), isPutOff: false };
  const locked = await lockOrCreateKeys(database, [...limits.values()]);
  const requested = [...locked].map(([key, row]) => ({ row, limits: limits.get(key)!.limits }));
  return { keys: locked, isPutOff: await applyOrDeferLimits(database, requested, now) };
}

function orderKeysOf(drafts: readonly Draft[]): OrderKeys {
  const keys = new OrderKeys();
  for (const { message } of drafts) {
    if (message.queueName !== null && message.orderKey !== null) {
      keys.add(message.accountId, message.queueName, message.orderKey);
    }
  }
  return keys;
}

/**
 * Takes the deduplication keys of these messages. Returns which messages are duplicates, and of what. In a batch, the
 * first message with a key gets it.
 */
async function takeDeduplication(
  database: Database,
  commands: readonly AcceptCommand[],
): Promise<Map<NewMessage, string>> {
  const wanting = commands.flatMap(({ messages, now }) =>
    messages.filter(({ deduplication }) => deduplication).map((message) => ({ message, now })),
  );
  // Reversed, because a Map keeps the last entry of a key: it must keep the first message.
  const first = new Map(wanting.toReversed().map((each) => [dedupKey(each.message), each]));
  if (first.size === 0) return new Map();
  const taking = [...first].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
  const columns = [
    taking.map(({ message }) => message.accountId),
    taking.map(({ message }) => message.deduplication!.key),
  ] as const;
  const taken = await database.all<{ account_id: string; key: string }>(
    `INSERT INTO deduplication AS d (account_id, key, message_id, expires_at)
       SELECT account_id, key, message_id, expires_at
         FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS g (account_id, key, message_id, expires_at)
       ON CONFLICT (account_id, key) DO UPDATE SET message_id = excluded.message_id, expires_at = excluded.expires_at
         WHERE d.expires_at <= $5
       RETURNING account_id, key`,
    ...columns,
    taking.map(({ message }) => message.id),
    taking.map(({ message }) => message.deduplication!.expiresAt),
    Math.max(...taking.map(({ now }) => now)),
  );
  const isOurs = new Set(taken.map(({ account_id, key }) => keyOf(account_id, key)));
  const owners = new Map<string, string>();
  for (const [key, { message }] of first) if (isOurs.has(key)) owners.set(key, message.id);
  if (isOurs.size < first.size) {
    for (const row of await deduplicationRows(database, ...columns)) {
      const key = keyOf(row.account_id, row.key);
      if (!isOurs.has(key)) owners.set(key, row.message_id);
    }
  }
  const found = wanting.map(({ message }) => [message, owners.get(dedupKey(message))] as const);
  return new Map(found.filter((each): each is [NewMessage, string] => each[1] !== undefined && each[1] !== each[0].id));
}

function dedupKey(message: NewMessage): string {
  return keyOf(message.accountId, message.deduplication!.key);
}

function deduplicationRows(database: Database, accountIds: readonly string[], keys: readonly string[]) {
  return database.all<{ account_id: string; key: string; message_id: string; expires_at: number }>(
    `SELECT account_id, key, d.message_id, d.expires_at FROM deduplication d JOIN unnest($1::text[], $2::text[]) AS g (account_id, key) USING (account_id, key)`,
    accountIds,
    keys,
  );
}

/**
 * The commands for which the daily quota of the account is used up. Accepts of one account under a quota run
 * one after another on all nodes; otherwise the sum of the day could be outdated when it is used.
 */
async function overQuota(database: Database, commands: readonly AcceptCommand[]): Promise<ReadonlySet<AcceptCommand>> {
  const limited = commands.filter(({ dayMax, messages }) => dayMax !== null && messages.length > 0);
  const days = new Map<string, DayUsage>();
  for (const accountId of [...new Set(limited.map(accountOf))].toSorted()) {
    const own = limited.filter((command) => accountOf(command) === accountId);
    days.set(accountId, await lockDay(database, accountId, own));
  }
  const over = new Set<AcceptCommand>();
  for (const command of limited) {
    const { messages, dayMax } = command;
    const accountId = accountOf(command);
    const day = days.get(accountId)!;
    if (isOverQuota(messages, day, dayMax)) over.add(command);
    else days.set(accountId, usageAfter(messages, day));
  }
  return over;
}

async function lockDay(database: Database, accountId: string, commands: readonly AcceptCommand[]): Promise<DayUsage> {
  await database.run('SELECT pg_advisory_xact_lock(hashtextextended($1, 8411))', `quota ${accountId}`);
  const now = Math.max(...commands.map((command) => command.now));
  const usage = await database.get<{ used: number | null }>(
    'SELECT sum(count)::bigint AS used FROM usage WHERE account_id = $1 AND day = $2',
    accountId,
    usageDay(now),
  );
  const wanted = commands.flatMap(({ messages }) =>
    messages.flatMap(({ deduplication }) => (deduplication ? [deduplication.key] : [])),
  );
  const accountIds = wanted.map(() => accountId);
  const rows = wanted.length === 0 ? [] : await deduplicationRows(database, accountIds, wanted);
  const keys = rows.filter((row) => row.expires_at > now).map((row) => row.key);
  return { used: usage?.used ?? 0, keysInForce: new Set(keys) };
}

function accountOf({ messages }: AcceptCommand): string {
  return messages[0]!.accountId;
}
