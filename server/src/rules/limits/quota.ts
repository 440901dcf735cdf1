// The daily quota: how many messages an account may make in a day. A duplicate makes no message, so it gets its
// response even when the quota is used up.

import type { NewMessage } from '../delivery/message.ts';

export interface UsedDay {
  /** Messages that the account has made on this day. */
  readonly used: number;
  /** Deduplication keys in force: a message with one of them is a duplicate. */
  readonly standingKeys: ReadonlySet<string>;
}

type Deduplicated = Pick<NewMessage, 'deduplication'>;

/** Whether these messages exceed the day's quota. None of them is accepted then. A null `dayMax` means no quota. */
export function isOverQuota(messages: readonly Deduplicated[], day: UsedDay, dayMax: number | null): boolean {
  const { used } = dayAfter(messages, day);
  return dayMax !== null && used > day.used && used > dayMax;
}

/** The day's usage after these messages have been accepted. */
export function dayAfter(messages: readonly Deduplicated[], { used, standingKeys }: UsedDay): UsedDay {
  const keys = new Set(standingKeys);
  let made = 0;
  for (const { deduplication } of messages) {
    if (deduplication && keys.has(deduplication.key)) continue;
    if (deduplication) keys.add(deduplication.key);
    made += 1;
  }
  return { used: used + made, standingKeys: keys };
}
