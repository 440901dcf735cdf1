// A schedule: a publish that is repeated at every tick of a cron expression.

import type { HeaderList } from '../delivery/message.ts';
import { SETTING_TABLE, type Setting } from '../publish/setting-table.ts';

export interface Schedule {
  readonly id: string;
  readonly accountId: string;
  readonly cron: string;
  /** The destination as it was given: a URL, or the name or id of a topic, which is looked up at every tick. */
  readonly destination: string;
  readonly queueName: string | null;
  /** The headers of the publish that is repeated. */
  readonly headers: HeaderList;
  readonly body: Uint8Array;
  readonly callerIp: string | null;
  readonly isPaused: boolean;
  /** Null when the schedule is paused or will never run again. */
  readonly nextAt: number | null;
  readonly lastAt: number | null;
  /** The messages of the last tick. */
  readonly lastMessageIds: readonly string[];
  readonly createdAt: number;
}

/** Settings that are left out: other fields show them, or they are not needed to create the schedule again. */
const SHOWN_ELSEWHERE = ['Method', 'Header-Forward'];

/** The names of the settings, by their lower-case spelling, in which clients send them. No forwarded headers. */
const GIVEN_NAMES: ReadonlyMap<string, string> = new Map(
  (SETTING_TABLE as readonly Setting[])
    .filter(({ name, of }) => of !== 'schedule' && !name.endsWith('-'))
    .flatMap(({ name, of }) => {
      const ofCallbacks = of === 'delivery' ? [`Callback-${name}`, `Failure-Callback-${name}`] : [];
      return SHOWN_ELSEWHERE.includes(name) ? ofCallbacks : [name, ...ofCallbacks];
    })
    .map((name) => [name.toLowerCase(), name]),
);

/** The settings of a schedule's messages as they were given, by their names without the prefix. */
export function givenSettings(headers: HeaderList, headerPrefix: string): Readonly<Record<string, string>> {
  const prefix = headerPrefix.toLowerCase();
  const settings = headers.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    const known = lower.startsWith(prefix) ? GIVEN_NAMES.get(lower.slice(prefix.length)) : undefined;
    return known === undefined || value === '' ? [] : [[known, value] as const];
  });
  return Object.fromEntries(settings);
}
