// Writes new messages. The messages of HTTP publishes, of schedules and, inside a settle, of callbacks are written
// here. Commands of many callers are written together.

import { usageDay } from '../../../rules/accounts/account.ts';
import type { NewMessage } from '../../../rules/delivery/message.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { dayAfter, isOverQuota, type UsedDay } from '../../../rules/limits/quota.ts';
import { firstState } from '../../../rules/lines/line.ts';
import { earlier } from '../../../rules/time/instant.ts';
import type { AcceptCommand, AcceptReply, AccountAtClaim } from '../../shared/commands.ts';
import { promotedPerKeyMax } from '../../shared/promotion.ts';
import { sharedBodies } from '../../shared/shared-bodies.ts';
import { keyOf, Pairs } from '../groups/lines.ts';
import type { Database } from '../sessions/database.ts';
import { admitWaiting, type LockedKeys, lockOrCreateKeys, markKeysDue } from './flow-keys.ts';
import { insertMessages, type Placed } from './insert.ts';
import { OrderKeys } from './order-keys.ts';
import { type LockedQueues, lockOrCreateQueues, markQueuesDue, startHeads } from './queues.ts';
import { noteLimits } from './requested-flow-limits.ts';

/** Whether one statement writes everything, so that it needs no transaction. */
export function isPlain({ messages, dayMax }: AcceptCommand): boolean {
  return (
    dayMax === null &&
    messages.every((message) => message.queueName === null && !message.flow && !message.deduplication)
  );
}

export async function accept(database: Database, command: AcceptCommand): Promise<AcceptReply> {
  return (await acceptAll(database, [command]))[0]!;
}

/** Each command is written whole or not at all. An error rolls back all of them. */
export async function acceptAll(database: Database, commands: readonly AcceptCommand[]): Promise<AcceptReply[]> {
  const isOver = await overQuota(database, commands);
  const duplicates = await takeDeduplication(
    database,
    commands.filter((_, index) => !isOver[index]),
  );
  const drafts = commands.flatMap((command, index) => (isOver[index] ? [] : draftsOf(command, duplicates)));
  const accounts = new Map<string, AccountAtClaim>();
  const dueAt = await write(database, drafts, accounts);
  return commands.map(({ messages }, index) => {
    if (isOver[index]) return { duplicates: [], isOverQuota: true, dueAt: null, accounts: [], rows: [] };
    const standing = messages.map((message) => duplicates.get(message) ?? null);
    const own = messages.map(({ accountId }) => accounts.get(accountId) ?? null);
    return { duplicates: standing, isOverQuota: false, dueAt, accounts: own, rows: [] };
  });
}

interface Draft {
  readonly command: AcceptCommand;
  readonly message: NewMessage;
  readonly lease: string | null;
  /** The first message of the command with the same body; null if the body is not shared. */
  readonly bodyOf: NewMessage | null;
}

function draftsOf(command: AcceptCommand, duplicates: ReadonlyMap<NewMessage, string>): Draft[] {
  const fresh = command.messages
    .map((message, at) => ({ command, message, lease: command.leases[at] ?? null }))
    .filter(({ message }) => !duplicates.has(message));
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
  const queues = await lockLines(database, drafts, now);
  const { keys, isPutOff } = await lockFlow(database, drafts, now);
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

/** The first few queues and flow keys of each command. */
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
  placed: readonly Placed[],
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

/** Call it under the lock of the queue, so that the numbers of messages have the same order as their positions. */
function place({ command, message, lease, bodyOf }: Draft, queues: LockedQueues): Placed {
  const { node, now } = command;
  const claim = lease === null ? null : { lease, node, at: now };
  const state = firstState(message, lease !== null, now);
  const queue = message.queueName === null ? undefined : queues.get(keyOf(message.accountId, message.queueName));
  if (!queue || message.dueAt > now) return { message, bodyOf, state, claim, firstDueAt: message.dueAt };
  // The clocks of two nodes may differ: a later message must still come after the earlier ones.
  queue.line_at = Math.max(queue.line_at, message.dueAt);
  return { message, bodyOf, state, claim, firstDueAt: queue.line_at };
}

/** Locks the queues of these messages. */
async function lockLines(database: Database, drafts: readonly Draft[], now: number): Promise<LockedQueues> {
  const pairs = new Pairs();
  for (const { message } of drafts) if (message.queueName !== null) pairs.add(message.accountId, message.queueName);
  return pairs.isEmpty ? new Map() : lockOrCreateQueues(database, pairs, now);
}

/** `isPutOff`: whether new limits of some keys wait for a claim. */
async function lockFlow(
  database: Database,
  drafts: readonly Draft[],
  now: number,
): Promise<{ keys: LockedKeys; isPutOff: boolean }> {
  const limits = new Map<
    string,
    { accountId: string; key: string; limits: NonNullable<NewMessage['flow']>['limits'] }
  >();
  for (const { message } of drafts) {
    const { accountId, queueName, flow } = message;
    // The limits of the newest message apply.
    if (queueName === null && flow)
      limits.set(keyOf(accountId, flow.key), { accountId, key: flow.key, limits: flow.limits });
  }
  if (limits.size === 0) return { keys: new Map(), isPutOff: false };
  const locked = await lockOrCreateKeys(database, [...limits.values()]);
  const said = [...locked].map(([key, row]) => ({ row, limits: limits.get(key)!.limits }));
  return { keys: locked, isPutOff: await noteLimits(database, said, now) };
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
  const standing = new Map<string, string>();
  for (const [key, { message }] of first) if (isOurs.has(key)) standing.set(key, message.id);
  if (isOurs.size < first.size) {
    for (const row of await standingKeys(database, ...columns)) {
      const key = keyOf(row.account_id, row.key);
      if (!isOurs.has(key)) standing.set(key, row.message_id);
    }
  }
  const found = wanting.map(({ message }) => [message, standing.get(dedupKey(message))] as const);
  return new Map(found.filter((each): each is [NewMessage, string] => each[1] !== undefined && each[1] !== each[0].id));
}

function dedupKey(message: NewMessage): string {
  return keyOf(message.accountId, message.deduplication!.key);
}

function standingKeys(database: Database, accountIds: readonly string[], keys: readonly string[]) {
  return database.all<{ account_id: string; key: string; message_id: string; expires_at: number }>(
    `SELECT account_id, key, d.message_id, d.expires_at FROM deduplication d JOIN unnest($1::text[], $2::text[]) AS g (account_id, key) USING (account_id, key)`,
    accountIds,
    keys,
  );
}

/**
 * Parallel to `commands`: whether the daily quota of the account is used up. Accepts of one account under a quota run
 * one after another on all nodes; otherwise the sum of the day could be outdated when it is used.
 */
async function overQuota(database: Database, commands: readonly AcceptCommand[]): Promise<boolean[]> {
  const limited = commands.filter(({ dayMax, messages }) => dayMax !== null && messages.length > 0);
  const days = new Map<string, UsedDay>();
  for (const accountId of [...new Set(limited.map(accountOf))].toSorted()) {
    const own = limited.filter((command) => accountOf(command) === accountId);
    days.set(accountId, await lockDay(database, accountId, own));
  }
  return commands.map((command) => {
    const { messages, dayMax } = command;
    if (dayMax === null || messages.length === 0) return false;
    const accountId = accountOf(command);
    const day = days.get(accountId)!;
    if (isOverQuota(messages, day, dayMax)) return true;
    days.set(accountId, dayAfter(messages, day));
    return false;
  });
}

async function lockDay(database: Database, accountId: string, commands: readonly AcceptCommand[]): Promise<UsedDay> {
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
  const standing = wanted.length === 0 ? [] : await standingKeys(database, accountIds, wanted);
  const keys = standing.filter((row) => row.expires_at > now).map((row) => row.key);
  return { used: usage?.used ?? 0, standingKeys: new Set(keys) };
}

function accountOf({ messages }: AcceptCommand): string {
  return messages[0]!.accountId;
}
