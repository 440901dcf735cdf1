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

/** Shown by fields of their own, or of no use to who makes the schedule again. */
const SHOWN_ELSEWHERE = /^(?:cron|schedule-id|queue-name|method|header-forward|hops|descendants-left)$|(?:^|-)forward-/;

/** The settings of its messages as they were given, by their names without the prefix. Forwarded headers are not among them. */
export function givenSettings(headers: HeaderList, headerPrefix: string): Readonly<Record<string, string>> {
  const prefix = headerPrefix.toLowerCase();
  const settings = headers.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    const rest = lower.slice(prefix.length);
    if (!lower.startsWith(prefix) || value === '' || SHOWN_ELSEWHERE.test(rest)) return [];
    // Clients send names in lower case.
    return [[rest.replaceAll(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase()), value] as const];
  });
  return Object.fromEntries(settings);
}
