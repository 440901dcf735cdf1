// A schedule: a publish that is repeated at every tick of a cron expression or of an interval.

import type { HeaderList } from '../delivery/message.ts';
import { SETTING_TABLE, type Setting } from '../publish/setting-table.ts';

/** `skip`: a tick makes no message while a message of the last tick has not ended. */
export const OVERLAPS = ['allow', 'skip'] as const;
export type Overlap = (typeof OVERLAPS)[number];

/** A longer jitter would pass the next tick of a daily schedule. */
export const JITTER_MS_MAX = 86_400_000;

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
  readonly overlap: Overlap;
  /** By how much the messages of a tick may be due later. 0: not at all. */
  readonly jitterMs: number;
  readonly isPaused: boolean;
  /** Null when the schedule is paused or will never run again. */
  readonly nextAt: number | null;
  /** The last tick that was not skipped. */
  readonly lastAt: number | null;
  /** The messages of the last tick that was not skipped. */
  readonly lastMessageIds: readonly string[];
  /** How many ticks were skipped because of an open message, and when the last of them was. */
  readonly skippedCount: number;
  readonly skippedAt: number | null;
  readonly createdAt: number;
  /** Raised by every change, pause and resume. A tick is no change. */
  readonly version: number;
}

/** What tells a schedule from what it was before, and from one that was deleted and created again under its id. */
export type ScheduleVersion = Pick<Schedule, 'createdAt' | 'version'>;

/** Settings that `settingsByName` leaves out: shown in other fields, or not needed to create the schedule again. */
const SHOWN_ELSEWHERE = ['Method', 'Header-Forward'];

/** The names of the settings to show, by their lower-case spelling, because clients may use any case. */
const GIVEN_NAMES: ReadonlyMap<string, string> = new Map(
  (SETTING_TABLE as readonly Setting[])
    .filter(({ name, of }) => of !== 'schedule' && !name.endsWith('-'))
    .flatMap(({ name, of }) => {
      const ofCallbacks = of === 'delivery' ? [`Callback-${name}`, `Failure-Callback-${name}`] : [];
      return SHOWN_ELSEWHERE.includes(name) ? ofCallbacks : [name, ...ofCallbacks];
    })
    .map((name) => [name.toLowerCase(), name]),
);

/** The headers with those of a change in the place of theirs. A changed header without a value is removed. */
export function changedHeaders(headers: HeaderList, change: HeaderList): HeaderList {
  const changed = new Set(change.map(([name]) => name.toLowerCase()));
  return [
    ...headers.filter(([name]) => !changed.has(name.toLowerCase())),
    ...change.filter(([, value]) => value.trim() !== ''),
  ];
}

/** The settings for the messages of a schedule: their values as given, by their names without the prefix. */
export function settingsByName(headers: HeaderList, headerPrefix: string): Readonly<Record<string, string>> {
  const prefix = headerPrefix.toLowerCase();
  const settings = headers.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    const known = lower.startsWith(prefix) ? GIVEN_NAMES.get(lower.slice(prefix.length)) : undefined;
    return known === undefined || value === '' ? [] : [[known, value] as const];
  });
  return Object.fromEntries(settings);
}
