// The daily quota: how many messages an account may make in a day. A duplicate makes no message, so it gets its
// response even when the quota is used up.

import type { NewMessage } from '../delivery/message.ts';

export interface DayUsage {
  /** Messages that the account has made on this day. */
  readonly used: number;
  /** Deduplication keys in force: a message with one of them is a duplicate. */
  readonly keysInForce: ReadonlySet<string>;
}

type Deduplicated = Pick<NewMessage, 'deduplication'>;

/** Whether these messages exceed the day's quota, so that none of them is accepted. `dayMax` null: no quota. */
export function isOverQuota(messages: readonly Deduplicated[], day: DayUsage, dayMax: number | null): boolean {
  const { used } = usageAfter(messages, day);
  return dayMax !== null && used > day.used && used > dayMax;
}

/** The day's usage after these messages have been accepted. */
export function usageAfter(messages: readonly Deduplicated[], { used, keysInForce }: DayUsage): DayUsage {
  const keys = new Set(keysInForce);
  let made = 0;
  for (const { deduplication } of messages) {
    if (deduplication && keys.has(deduplication.key)) continue;
    if (deduplication) keys.add(deduplication.key);
    made += 1;
  }
  return { used: used + made, keysInForce: keys };
}
