// Refuses calls of an account that is over its daily quota, or that would store too much.

import type { StoredRoom } from '../../publish/stored-room.ts';
import type { Account } from '../../rules/accounts/account.ts';
import type { NewMessage } from '../../rules/delivery/message.ts';
import type { Tier } from '../../rules/limits/tier.ts';
import type { Problem } from '../../rules/requests/problem.ts';
import { ApiError } from '../api/errors.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

function quotaHeaders(dayMax: number, now: number): [name: string, value: string][] {
  const resetSeconds = Math.ceil((DAY_MS - (now % DAY_MS)) / 1000);
  return [
    ['Retry-After', String(resetSeconds)],
    ['RateLimit-Limit', String(dayMax)],
    ['RateLimit-Remaining', '0'],
    ['RateLimit-Reset', String(resetSeconds)],
  ];
}

/** Refuses every publish over the quota. The response headers say when the next day starts. */
export function requireQuota(
  isOverQuota: boolean,
  tier: Tier,
  now: number,
  setHeader: (name: string, value: string) => void,
): void {
  const dayMax = tier.messagesPerDayMax;
  if (!isOverQuota || dayMax === null) return;
  for (const [name, value] of quotaHeaders(dayMax, now)) setHeader(name, value);
  throw new ApiError(
    'quota_exceeded',
    `the account would exceed its daily quota on the ${tier.name} tier: ${dayMax} messages`,
  );
}

/** Refuses a call by which the account would store too much. `what`: the new messages, or how many bytes are added. */
export function requireRoom(
  room: Pick<StoredRoom, 'problem'>,
  account: Pick<Account, 'id' | 'tier'>,
  what: readonly NewMessage[] | number,
): Promise<void> {
  return refuseIfProblem(room.problem(account, what));
}

/** Throws the problem that a check has found, if any. The check may still be running. */
export async function refuseIfProblem(asked: Problem | null | Promise<Problem | null>): Promise<void> {
  const why = await asked;
  if (why) throw new ApiError(why.code, why.message);
}
