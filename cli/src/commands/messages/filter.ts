// Reads the filter flags of a command into the filters of the API.

import { type Client, type MessageFilter, PostriderError } from 'postrider-sdk';
import type { Given } from '../../frame/arguments.ts';
import { isDurationAgo } from '../../frame/time-text.ts';

const LISTS = [
  ['state', 'state'],
  ['queue', 'queueName'],
  ['topic', 'topicName'],
  ['schedule', 'scheduleId'],
  ['label', 'label'],
  ['flow-key', 'flowControlKey'],
  ['to', 'url'],
  ['host', 'host'],
  ['status', 'responseStatus'],
  ['failure', 'failure'],
] as const;

/**
 * The time from which the values of these flags count back. A value such as `1h` counts back by the clock of the
 * service, which is read only in that case.
 */
export async function nowFor(given: Given, client: Client, ...flags: readonly string[]): Promise<number | undefined> {
  if (!flags.some((flag) => isDurationAgo(given.text(flag) ?? ''))) return undefined;
  const overview = await client.overview().catch((error: unknown) => {
    // The token may not read the clock of the service, so the clock of this machine is used.
    if (error instanceof PostriderError && error.status === 403) return null;
    throw error;
  });
  return overview?.now;
}

export async function filterOf(given: Given, client: Client): Promise<MessageFilter> {
  const lists = LISTS.flatMap(([flag, name]) => {
    const values = given.list(flag);
    if (values.length === 0) return [];
    return [[name, flag === 'state' ? values.map((each) => each.toUpperCase()) : values] as const];
  });
  const text = given.text('text');
  const now = await nowFor(given, client, 'from', 'until');
  const [fromDate, toDate] = [given.time('from', now), given.time('until', now)];
  return {
    ...(Object.fromEntries(lists) as MessageFilter),
    ...(text !== undefined && { text }),
    ...(fromDate !== undefined && { fromDate }),
    ...(toDate !== undefined && { toDate }),
  };
}
