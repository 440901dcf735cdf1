// The part of the store port that is about time: signs of life, the time as it was last known, and when schedules run.

import type { KeptTime } from '../domain/clock.ts';

export interface HeardTime {
  readonly kept: KeptTime | null;
  /** What the store's own clock shows, if it has one that its nodes share. */
  readonly wallAt: number | null;
}

/** What a start must know of the time before it. */
export interface StoredTime extends HeardTime {
  /** The newest time that was given to a message in a line, or an earlier message was accepted; null if there is none. */
  readonly newestAt: number | null;
}

/** When a schedule runs, without what it publishes. */
export interface ScheduleTime {
  readonly accountId: string;
  readonly id: string;
  readonly cron: string;
  readonly nextAt: number;
}

export interface TimeStore {
  /**
   * Says that `node` is alive and stays so for `ttlMs`, by the store's own clock; and keeps the time. Answers what was kept
   * before, perhaps by another node.
   */
  heartbeat(node: string, ttlMs: number, time?: KeptTime | null): Promise<HeardTime>;

  storedTime(): Promise<StoredTime>;

  /** Schedules that will run, up to `limit` behind a place, in the order of account and id. */
  scheduleTimes(after: Pick<ScheduleTime, 'accountId' | 'id'>, limit: number): Promise<readonly ScheduleTime[]>;

  /** Lets schedules run at other times: those that nobody has moved, paused or taken since they were read. */
  moveSchedules(moves: readonly { readonly schedule: ScheduleTime; readonly nextAt: number }[]): Promise<void>;
}
