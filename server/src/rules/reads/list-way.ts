// Chooses the index by which a list finds candidates for its filter: the one with the fewest expected candidates. Keys
// whose values few messages share come before keys whose values many share. message-filter.ts decides whether a
// candidate matches.

import { parseTargetUrl } from '../publish/destination.ts';
import { type MessageFilter, OPEN_STATES, type ShownState } from './message-filter.ts';

/** An indexed column; `debounce_key` is the key as its caller gave it. For each value that the filter names, the messages with this value are read separately. */
export type ListIndexColumn =
  | 'label'
  | 'source_message_id'
  | 'schedule_id'
  | 'flow_key'
  | 'debounce_key'
  | 'queue_name'
  | 'topic_name'
  | 'host';

export type ListIndex =
  | { readonly by: 'id' | ListIndexColumn | 'hostOnAnyPort'; readonly values: readonly string[] }
  /** Failed messages that were not sent again. */
  | { readonly by: 'unretried' }
  | { readonly by: 'endedBadly'; readonly states: readonly ('failed' | 'cancelled')[] }
  | { readonly by: 'held' | 'open' | 'account' };

export function chooseListIndex(filter: MessageFilter): ListIndex {
  return wayToFew(filter) ?? wayByState(filter) ?? wayToMany(filter);
}

function wayToFew(filter: MessageFilter): ListIndex | null {
  if (filter.messageIds) return way('id', filter.messageIds);
  if (filter.labels) return way('label', filter.labels);
  if (filter.sourceMessageIds) return way('source_message_id', filter.sourceMessageIds);
  if (filter.scheduleIds) return way('schedule_id', filter.scheduleIds);
  if (filter.flowKeys) return way('flow_key', filter.flowKeys);
  if (filter.debounceKeys) return way('debounce_key', filter.debounceKeys);
  return null;
}

function wayByState({ states, isRetried }: MessageFilter): ListIndex | null {
  if (isWithin(states, ['FAILED']) && isRetried === false) return { by: 'unretried' };
  if (isWithin(states, ['FAILED', 'CANCELLED'])) {
    return {
      by: 'endedBadly',
      states: unique(states).map((state) => (state === 'FAILED' ? 'failed' : 'cancelled')),
    };
  }
  if (isWithin(states, ['HELD'])) return { by: 'held' };
  if (isWithin(states, OPEN_STATES)) return { by: 'open' };
  return null;
}

function wayToMany(filter: MessageFilter): ListIndex {
  if (filter.queueNames) return way('queue_name', filter.queueNames);
  if (filter.topicNames) return way('topic_name', filter.topicNames);
  if (filter.urls) return way('host', filter.urls.map(hostOrNone));
  if (filter.hosts) return way('hostOnAnyPort', filter.hosts);
  return { by: 'account' };
}

/**
 * Limit for the hosts whose messages are read separately. A host name without a port can match any number of hosts;
 * with more than this, all messages of the account are read instead.
 */
export const HOSTS_MAX = 100;

export function listIndexByHosts(hosts: readonly string[]): ListIndex {
  return hosts.length > HOSTS_MAX ? { by: 'account' } : way('host', hosts);
}

function way(by: 'id' | ListIndexColumn | 'hostOnAnyPort', values: readonly string[]): ListIndex {
  return { by, values: unique(values) };
}

function hostOrNone(url: string): string {
  const target = parseTargetUrl(url);
  return 'problem' in target ? '' : target.host;
}

function isWithin(
  states: readonly ShownState[] | undefined,
  set: readonly ShownState[],
): states is readonly ShownState[] {
  return states !== undefined && states.length > 0 && states.every((state) => set.includes(state));
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
