// Finds the messages that wait under the debounce keys of new ones, and puts the new ones in their places. Publishes with
// the same key take turns on all nodes: without that, two of them could both find that none waits.

import { createHash } from 'node:crypto';
import { COUNT_KINDS } from '../../../rules/accounts/activity.ts';
import { type ChangedName, namesOfChanges } from '../../../rules/delivery/change.ts';
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
  type PlaceOfMessage,
  replaced,
} from '../../../rules/publish/debounce.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { toDefaults } from '../../rows/line-rows.ts';
import { toState } from '../../rows/message-columns.ts';
import { toMessage } from '../../rows/message-row.ts';
import { updatedStep } from '../../rows/rows.ts';
import type { AcceptCommand } from '../../shared/commands.ts';
import { positionSql } from '../deliveries/journal.ts';
import { LockedLines } from '../deliveries/open-message.ts';
import type { LockedQueues } from '../deliveries/queues.ts';
import { keyOf } from '../groups/lines.ts';
import type { Database } from '../sessions/database.ts';
import { activityCountSql } from './activity.ts';
import { isBodySame, SELECT_WAITING, type WaitingRow, writeChange } from './change.ts';

/**
 * The locks of the database take memory that all its sessions share, so there is not one for each key: keys with the
 * same number share a lock.
 */
const LOCKS = 256;
const LOCK_SPACE = 8412;

/** Another transaction is changing a message that waits: nothing was done, and the accept is to be run again. */
export class MessageBusy extends Error {
  readonly accountId: string;
  readonly messageId: string;

  constructor(accountId: string, messageId: string) {
    super(`message ${messageId} is being changed`);
    this.accountId = accountId;
    this.messageId = messageId;
  }
}

interface Waiting
  extends Pick<
    WaitingRow,
    'account_id' | 'seq' | 'debounce_key' | 'state' | 'held_at' | 'attempts' | 'must_start_before'
  > {
  readonly id: string;
  readonly queue_name: string | null;
  readonly order_key: string | null;
  readonly flow_key: string | null;
}

/** The place under a key: the message that waits there, and what has taken its place so far. */
interface Place {
  readonly row: WaitingRow | null;
  /** The message that is written first, if none waits. */
  readonly first: NewMessage | null;
  readonly before: Debounced;
  current: Debounced;
  names: readonly ChangedName[];
  /** The number of messages that took the place. */
  taken: number;
}

interface Step {
  readonly accountId: string;
  readonly messageId: string;
  readonly kind: NewMessage['kind'];
  readonly at: number;
  /** Null if there is no event for it. */
  readonly step: number | null;
}

export function hasDebounceKey({ messages }: AcceptCommand): boolean {
  return messages.some(isDebounced);
}

export class Debouncing {
  /** Of the commands that are refused: why. */
  readonly misplaced: ReadonlyMap<AcceptCommand, Misplaced>;
  readonly #database: Database;
  readonly #waiting: ReadonlyMap<string, Waiting>;
  readonly #results = new Map<NewMessage, DebounceResult>();
  /** For messages that are written themselves: as what. */
  readonly #written = new Map<NewMessage, NewMessage>();
  readonly #steps: Step[] = [];

  private constructor(
    database: Database,
    waiting: ReadonlyMap<string, Waiting>,
    misplaced: ReadonlyMap<AcceptCommand, Misplaced>,
  ) {
    this.#database = database;
    this.#waiting = waiting;
    this.misplaced = misplaced;
  }

  /** Locks the keys of these commands, and finds what waits under them. Call it before anything else is locked. */
  static async begin(database: Database, commands: readonly AcceptCommand[]): Promise<Debouncing> {
    const keys = new Map<string, Debounced>();
    for (const { messages } of commands) {
      for (const message of messages) if (isDebounced(message)) keys.set(placeKey(message), message);
    }
    await lockDebounceKeys(database, [...keys.keys()]);
    const now = latestOf(commands);
    const found = (await findWaiting(database, [...keys.values()], now)).filter((row) =>
      canBeReplaced(factsOf(row), now),
    );
    const waiting = new Map(found.map((row) => [keyOf(row.account_id, row.debounce_key!), row]));
    return new Debouncing(database, waiting, misplacedIn(commands, found));
  }

  /** Whether messages wait that are to be replaced. Their lines must be locked before `write`. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Puts messages in the places of those that wait. Returns when there may be something to claim, or null. */
  async write(commands: readonly AcceptCommand[], queues: LockedQueues): Promise<number | null> {
    const rows = await this.#lockWaiting(commands);
    const places = new Map<string, Place>();
    const messages = commands.flatMap((command) => command.messages.filter(isDebounced));
    for (const message of messages) await this.#take(message, places, rows, queues);
    let dueAt: number | null = null;
    for (const { first, current } of places.values()) if (first) this.#written.set(first, current);
    for (const place of places.values()) {
      if (place.row) dueAt = earlier(dueAt, await this.#writePlace(place, place.row));
    }
    return dueAt;
  }

  async #writePlace({ before, current, names, taken }: Place, row: WaitingRow): Promise<number | null> {
    const lines = await LockedLines.lock(this.#database, [row]);
    const { body } = current;
    const all = taken === 1 ? names : namesOfChanges(before, current, await isBodySame(this.#database, row, body));
    const change = { message: current as Debounced<Message>, names: all, body, step: null };
    return writeChange(this.#database, row, change, lines, this.#steps.at(-1)!.at);
  }

  /** The message to write for this one; null if it took the place of another. Valid after `write`. */
  written(message: NewMessage): NewMessage | null {
    if (!isDebounced(message)) return message;
    return this.#written.get(message) ?? null;
  }

  resultsOf({ messages }: AcceptCommand): (DebounceResult | null)[] | null {
    if (!messages.some(isDebounced)) return null;
    return messages.map((message) => this.#results.get(message) ?? null);
  }

  /** Writes the events of what took a place, and counts it as accepted. Call it when all messages are written. */
  async note(day: string): Promise<void> {
    if (this.#steps.length === 0) return;
    await this.#database.run(
      NOTE,
      this.#steps.map(({ accountId }) => accountId),
      this.#steps.map(({ messageId }) => messageId),
      this.#steps.map(({ at }) => at),
      this.#steps.map(({ step }) => step),
      this.#steps.map(({ kind }) => kind),
      day,
    );
  }

  /** The messages that wait, by key, locked. Throws `MessageBusy` if another transaction is changing one of them. */
  async #lockWaiting(commands: readonly AcceptCommand[]): Promise<Map<string, WaitingRow>> {
    const rows = new Map<string, WaitingRow>();
    if (!this.hasWaiting) return rows;
    const now = latestOf(commands);
    const wanted = [...this.#waiting.values()];
    const locked = await this.#database.all<WaitingRow>(
      LOCK,
      wanted.map(({ account_id }) => account_id),
      wanted.map(({ seq }) => seq),
    );
    const free = new Map(locked.map((row) => [row.seq, row]));
    for (const [key, { account_id: accountId, seq, id }] of this.#waiting) {
      const row = free.get(seq);
      if (!row) throw new MessageBusy(accountId, id);
      if (canBeReplaced(toMessage(row), now)) rows.set(key, row);
    }
    return rows;
  }

  async #take(
    message: Debounced,
    places: Map<string, Place>,
    rows: ReadonlyMap<string, WaitingRow>,
    queues: LockedQueues,
  ): Promise<void> {
    const key = placeKey(message);
    const known = places.get(key);
    const row = rows.get(key) ?? null;
    if (!known && !row) {
      places.set(key, { row, first: message, before: message, current: message, names: [], taken: 0 });
      this.#results.set(message, { messageId: message.id, count: 1 });
      return;
    }
    const place = known ?? placeOf(row!);
    places.set(key, place);
    const after = withDefaults(replaced(place.current, message), queues);
    const isSame =
      row && place.taken === 0
        ? await isBodySame(this.#database, row, message.body)
        : Buffer.compare(place.current.body, message.body) === 0;
    place.names = namesOfChanges(place.current, after, isSame);
    place.current = after;
    place.taken += 1;
    const { id: messageId, debounce } = after;
    this.#results.set(message, { messageId, count: debounce.count });
    const step = hasEvent(after) ? updatedStep(place.names, 0) : null;
    this.#steps.push({ accountId: message.accountId, messageId, kind: message.kind, at: message.createdAt, step });
  }
}

function placeOf(row: WaitingRow): Place {
  const before = toMessage(row) as Debounced<Message>;
  return { row, first: null, before, current: before, names: [], taken: 0 };
}

/** With the expiry and the priority of its queue, as a new message of the queue has them. */
function withDefaults(message: Debounced, queues: LockedQueues): Debounced {
  const { accountId, queueName } = message;
  const queue = queueName === null ? undefined : queues.get(keyOf(accountId, queueName));
  return queue ? { ...message, ...withQueueDefaults(message, toDefaults(queue)) } : message;
}

function placeKey({ accountId, debounce }: Debounced): string {
  return keyOf(accountId, debounce.key);
}

/** The locks are taken in ascending order, so that no deadlock can occur, and are held until the transaction ends. */
export async function lockDebounceKeys(database: Database, keys: readonly string[]): Promise<void> {
  const numbers = new Set(keys.map((key) => createHash('sha256').update(key).digest().readUInt32BE(0) % LOCKS));
  await database.all(
    'SELECT pg_advisory_xact_lock($1::int, number) FROM unnest($2::int[]) AS g (number)',
    LOCK_SPACE,
    [...numbers].toSorted((a, b) => a - b),
  );
}

function latestOf(commands: readonly AcceptCommand[]): number {
  return Math.max(...commands.map(({ now }) => now));
}

function factsOf(row: Waiting) {
  return { state: toState(row), attempts: row.attempts, mustStartBefore: row.must_start_before };
}

/** A newer one that has expired, and is about to end, hides no older one that was given back. */
function findWaiting(database: Database, messages: readonly Debounced[], now: number): Promise<Waiting[]> {
  return database.all<Waiting>(
    `SELECT m.account_id, m.seq, m.id, m.debounce_key, m.queue_name, m.order_key, m.flow_key, m.state, m.held_at, m.attempts,
         m.must_start_before
       FROM unnest($1::text[], $2::text[]) AS g (account_id, key)
       CROSS JOIN LATERAL
         (SELECT account_id, seq, id, debounce_key, queue_name, order_key, flow_key, state, held_at, attempts, must_start_before
            FROM messages
            WHERE account_id = g.account_id AND debounce_key = g.key AND debounce_key IS NOT NULL
              AND ended_at IS NULL AND lease IS NULL AND attempts = 0 AND (must_start_before IS NULL OR must_start_before > $3)
            ORDER BY seq DESC LIMIT 1) AS m`,
    messages.map(({ accountId }) => accountId),
    messages.map(({ debounce }) => debounce.key),
    now,
  );
}

/** Skips messages that another transaction has locked: it may be waiting for a lock of this one. */
const LOCK = `${SELECT_WAITING} JOIN unnest($1::text[], $2::bigint[]) AS g (account_id, seq)
    ON g.account_id = m.account_id AND g.seq = m.seq
  FOR UPDATE OF m SKIP LOCKED`;

/** The shard is as for the messages that are written: see insert.ts. */
const NOTE = `WITH given AS MATERIALIZED
    (SELECT account_id, id, at, step, kind, number
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::int[], $5::text[])
         WITH ORDINALITY AS g (account_id, id, at, step, kind, number)),
  counted AS
    (INSERT INTO usage AS u (account_id, day, kind, shard, count)
       SELECT account_id, $6, kind, (pg_backend_pid() % 16)::smallint, count(*) FROM given GROUP BY account_id, kind
         ORDER BY account_id, kind
       ON CONFLICT (account_id, day, kind, shard) DO UPDATE SET count = u.count + excluded.count),
  happened AS (${activityCountSql(`SELECT account_id, at, ${COUNT_KINDS.accepted}::smallint AS kind FROM given`)})
  INSERT INTO journal (account_id, seq, at, message_seq, step)
    SELECT g.account_id, ${positionSql('g.account_id', 'g.number')}, g.at, m.seq, g.step
      FROM given g JOIN messages m ON m.account_id = g.account_id AND m.id = g.id WHERE g.step IS NOT NULL`;

function misplacedIn(commands: readonly AcceptCommand[], found: readonly Waiting[]): Map<AcceptCommand, Misplaced> {
  const misplaced = new Map<AcceptCommand, Misplaced>();
  const places = new Map(
    [...Map.groupBy(found, ({ account_id }) => account_id)].map(([accountId, rows]) => [accountId, placesOf(rows)]),
  );
  for (const command of commands.filter(hasDebounceKey)) {
    const { accountId } = command.messages[0]!;
    const ofAccount = places.get(accountId) ?? new Map<string, PlaceOfMessage>();
    places.set(accountId, ofAccount);
    const wrong = misplacedOf(command.messages, ofAccount);
    if (wrong) misplaced.set(command, wrong);
    else addNew(ofAccount, command);
  }
  return misplaced;
}

function placesOf(rows: readonly Waiting[]): Map<string, PlaceOfMessage> {
  return new Map(
    rows.map(({ debounce_key, id, queue_name: queueName, order_key: orderKey, flow_key: key }) => [
      debounce_key!,
      { id, queueName, orderKey, flow: key === null ? null : { key } },
    ]),
  );
}

/** The messages of a command that wait under keys under which none waited. */
function addNew(places: Map<string, PlaceOfMessage>, { messages }: AcceptCommand): void {
  for (const message of messages.filter(isDebounced)) {
    if (!places.has(message.debounce.key)) places.set(message.debounce.key, message);
  }
}
