// Chooses the index that a list uses: the index with the fewest expected candidates. Keys whose values few messages
// share come before keys whose values many messages share. rules/reads/message-filter.ts decides whether a candidate
// matches.

import { parseTargetUrl } from '../publish/destination.ts';
import { type MessageFilter, OPEN_STATES, type ShownState } from './message-filter.ts';

/** A column by which an index orders messages. The messages of each value are found separately. */
export type WayColumn =
  | 'label'
  | 'source_message_id'
  | 'schedule_id'
  | 'flow_key'
  | 'queue_name'
  | 'topic_name'
  | 'host';

export type ListWay =
  | { readonly by: 'id' | WayColumn | 'hostOnAnyPort'; readonly values: readonly string[] }
  /** Failed messages that were not sent again. */
  | { readonly by: 'unretried' }
  | { readonly by: 'endedBadly'; readonly states: readonly ('failed' | 'cancelled')[] }
  | { readonly by: 'held' | 'open' | 'account' };

export function chooseWay(filter: MessageFilter): ListWay {
  return wayToFew(filter) ?? wayByState(filter) ?? wayToMany(filter);
}

function wayToFew(filter: MessageFilter): ListWay | null {
  if (filter.messageIds) return way('id', filter.messageIds);
  if (filter.labels) return way('label', filter.labels);
  if (filter.sourceMessageIds) return way('source_message_id', filter.sourceMessageIds);
  if (filter.scheduleIds) return way('schedule_id', filter.scheduleIds);
  if (filter.flowKeys) return way('flow_key', filter.flowKeys);
  return null;
}

function wayByState({ states, isRetried }: MessageFilter): ListWay | null {
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

function wayToMany(filter: MessageFilter): ListWay {
  if (filter.queueNames) return way('queue_name', filter.queueNames);
  if (filter.topicNames) return way('topic_name', filter.topicNames);
  if (filter.urls) return way('host', filter.urls.map(hostOrNone));
  if (filter.hosts) return way('hostOnAnyPort', filter.hosts);
  return { by: 'account' };
}

/**
 * Limit for the hosts that are looked up separately. A host name without a port may stand for more hosts: then all
 * messages of the account are read.
 */
export const HOSTS_MAX = 100;

export function wayByHosts(hosts: readonly string[]): ListWay {
  return hosts.length > HOSTS_MAX ? { by: 'account' } : way('host', hosts);
}

function way(by: 'id' | WayColumn | 'hostOnAnyPort', values: readonly string[]): ListWay {
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
