// The part of the store port that is about lists in the order of a name or an id, and about the numbers beside them. Each
// call is a bounded piece of work; whoever wants more asks again behind the last entry.

import type { Account, Token, UsageRow } from '../domain/account.ts';
import { eachMax } from '../domain/budgets.ts';
import type { FlowKey } from '../domain/flow-key.ts';
import type { Job } from '../domain/job.ts';
import type { Message } from '../domain/message.ts';
import type { Queue } from '../domain/queue.ts';
import type { Schedule } from '../domain/schedule.ts';
import type { Topic } from '../domain/topic.ts';

export interface ListPart {
  /** The name or id of the entry to go on behind; null for the first. */
  readonly after: string | null;
  /** At most so many entries, and so many bytes as they are stored; but always one. */
  readonly limit: number;
  readonly bytesMax: number;
}

/** The first entries, as many as one piece may have. */
export const FIRST_PART: ListPart = { after: null, limit: 500, bytesMax: eachMax('pageBytes') };

/** Behind every id, where a list begins that goes backwards. */
export const BEHIND_ALL = '\u{10ffff}';

export interface ListPiece<T> {
  /** May be fewer than were asked for. */
  readonly entries: readonly T[];
  /** Whether there are entries behind the last of these. */
  readonly hasMore: boolean;
}

/** A schedule as it stands in a list: a body over the budget for lists reads as empty. */
export interface ListedSchedule extends Schedule {
  readonly isBodyLeftOut?: true;
}

/** The place of a message in the line of its queue. */
export interface LinePlace {
  readonly dueAt: number;
  readonly seq: number;
}

export interface LinePiece {
  readonly count: number;
  /** Where to count on; null when all are counted. */
  readonly next: LinePlace | null;
}

export interface ListStore {
  /** By name. The lag of each is counted as `getQueue` does. */
  listQueues(accountId: string, part?: ListPart): Promise<ListPiece<Queue>>;
  /** By key. */
  listFlowKeys(accountId: string, part?: ListPart): Promise<ListPiece<FlowKey>>;
  /** By id. */
  listSchedules(accountId: string, part?: ListPart): Promise<ListPiece<ListedSchedule>>;
  /** By name. */
  listTopics(accountId: string, part?: ListPart): Promise<ListPiece<Topic>>;
  /** The newest first. */
  listJobs(accountId: string, part?: ListPart): Promise<ListPiece<Job>>;
  /** By id. */
  listAccounts(part?: ListPart): Promise<ListPiece<Account>>;
  /** By id. */
  listTokens(accountId: string, part?: ListPart): Promise<ListPiece<Token>>;
  /** Usage by day (UTC, `YYYY-MM-DD`) and kind, oldest first, both days included; behind `usageKey` of a row. */
  usage(accountId: string, fromDay: string, toDay: string, part?: ListPart): Promise<ListPiece<UsageRow>>;

  /** How many queues there are; counted up to `max`. */
  countQueues(accountId: string, max: number): Promise<number>;
  countSchedules(accountId: string): Promise<number>;
  /** Counts on in the open messages of a queue, from a place in its line. */
  countLine(accountId: string, queueName: string, from: LinePlace | null): Promise<LinePiece>;
  /** The states of those of these messages that are there. */
  messageStates(accountId: string, ids: readonly string[]): Promise<readonly MessageState[]>;
}

export interface MessageState {
  readonly id: string;
  readonly state: Message['state'];
}

/** All entries of a list, a piece at a time. */
export async function* everyEntry<T>(
  read: (part: ListPart) => Promise<ListPiece<T>>,
  keyOf: (entry: T) => string,
): AsyncGenerator<T> {
  for (let part = FIRST_PART; ; ) {
    const { entries, hasMore } = await read(part);
    yield* entries;
    if (!hasMore) return;
    part = { ...part, after: keyOf(entries.at(-1)!) };
  }
}

/** Of rows that are one more than were asked for, if there are so many. */
export function pieceOf<R, T>(rows: readonly R[], limit: number, make: (row: R) => T): ListPiece<T> {
  return { entries: rows.slice(0, limit).map(make), hasMore: rows.length > limit };
}

export interface WeighedKey {
  readonly key: string;
  readonly bytes: number;
}

/** Of keys that are one more than were asked for, if there are so many: how many fit, and the last of them. */
export function fitting(keys: readonly WeighedKey[], { limit, bytesMax }: ListPart): { last: string; count: number } {
  let bytes = 0;
  let count = 0;
  while (count < Math.min(keys.length, limit) && (count === 0 || bytes + keys[count]!.bytes <= bytesMax)) {
    bytes += keys[count]!.bytes;
    count += 1;
  }
  return { last: keys[count - 1]?.key ?? '', count };
}

/** The order of usage, as one text. */
export function usageKey({ day, kind }: Pick<UsageRow, 'day' | 'kind'>): string {
  return `${day} ${kind}`;
}

/** Back from `usageKey`; before the first row for null. */
export function usagePlace(key: string | null): readonly [day: string, kind: string] {
  const at = key?.indexOf(' ') ?? -1;
  return key === null || at < 0 ? ['', ''] : [key.slice(0, at), key.slice(at + 1)];
}
