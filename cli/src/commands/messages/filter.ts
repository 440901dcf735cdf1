// Reads the filter flags of a command into the filters of the API.

import { type Client, type MessageFilter, PostriderError } from 'postrider-sdk';
import type { Args } from '../../frame/arguments.ts';
import { isDurationAgo } from '../../frame/time-text.ts';

const LISTS = [
  ['state', 'state'],
  ['queue', 'queueName'],
  ['topic', 'topicName'],
  ['schedule', 'scheduleId'],
  ['label', 'label'],
  ['flow-key', 'flowControlKey'],
  ['debounce-key', 'debounceKey'],
  ['to', 'url'],
  ['host', 'host'],
  ['status', 'responseStatus'],
  ['failure', 'failure'],
] as const;

/**
 * The time of the service, from which a value such as `1h` of these flags counts back. Undefined if no flag has such a
 * value, or if the token may not read the time: then the clock of this machine is used.
 */
export async function serviceTimeFor(
  given: Args,
  client: Client,
  ...flags: readonly string[]
): Promise<number | undefined> {
  if (!flags.some((flag) => isDurationAgo(given.text(flag) ?? ''))) return undefined;
  const overview = await client.overview().catch((error: unknown) => {
    // The token lacks the scope to read the time of the service.
    if (error instanceof PostriderError && error.status === 403) return null;
    throw error;
  });
  return overview?.now;
}

export async function filterOf(given: Args, client: Client): Promise<MessageFilter> {
  const lists = LISTS.flatMap(([flag, name]) => {
    const values = given.list(flag);
    if (values.length === 0) return [];
    return [[name, flag === 'state' ? values.map((each) => each.toUpperCase()) : values] as const];
  });
  const text = given.text('text');
  const now = await serviceTimeFor(given, client, 'from', 'until');
  const [fromDate, toDate] = [given.time('from', now), given.time('until', now)];
  return {
    ...(Object.fromEntries(lists) as MessageFilter),
    ...(text !== undefined && { text }),
    ...(fromDate !== undefined && { fromDate }),
    ...(toDate !== undefined && { toDate }),
  };
}
