// A schedule: a publish that is repeated at every tick of a cron expression.

import type { HeaderList } from './message.ts';

export interface Schedule {
  readonly id: string;
  readonly accountId: string;
  readonly cron: string;
  /** As it was given: a URL, or the name or id of a topic, which is looked up at every tick. */
  readonly destination: string;
  readonly queueName: string | null;
  /** The headers of the publish it makes. */
  readonly headers: HeaderList;
  readonly body: Uint8Array;
  readonly callerIp: string | null;
  readonly isPaused: boolean;
  /** Null when it is paused or will never run again. */
  readonly nextAt: number | null;
  readonly lastAt: number | null;
  /** The messages of the last tick. */
  readonly lastMessageIds: readonly string[];
  readonly createdAt: number;
}
