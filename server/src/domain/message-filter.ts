// Which messages a list, a cancel or a bulk operation means: OR within a key, AND between keys. The store finds
// candidates by whichever key has an index; whether a message is meant is decided here, the same for every adapter.

import { parseTargetUrl } from './destination.ts';
import type { Message } from './message.ts';

/** The states a user sees; `pending` is told apart by whether anything was tried yet. */
export type ShownState = 'CREATED' | 'ACTIVE' | 'RETRY' | 'DELIVERED' | 'FAILED' | 'CANCELLED';

export interface MessageFilter {
  readonly messageIds?: readonly string[];
  readonly states?: readonly ShownState[];
  readonly urls?: readonly string[];
  readonly hosts?: readonly string[];
  readonly paths?: readonly string[];
  readonly queueNames?: readonly string[];
  readonly topicNames?: readonly string[];
  readonly scheduleIds?: readonly string[];
  /** The message that led to it: whose attempt it reports, or whose dead letter it sends again. */
  readonly sourceMessageIds?: readonly string[];
  readonly labels?: readonly string[];
  readonly flowKeys?: readonly string[];
  readonly callerIps?: readonly string[];
  /** Status of the last answer. */
  readonly statuses?: readonly number[];
  /** Why it failed, in exactly these words. */
  readonly failures?: readonly string[];
  /** Created at or after, in milliseconds since 1970. */
  readonly fromAt?: number;
  /** Created at or before. */
  readonly toAt?: number;
  /** In the id, URL, queue, topic, schedule, a label, or the body unless it is redacted; letter case does not count. */
  readonly text?: string;
}

export function shownState(message: Pick<Message, 'state' | 'attempts'>): ShownState {
  switch (message.state) {
    case 'pending':
      return message.attempts === 0 ? 'CREATED' : 'RETRY';
    case 'claimed':
      return 'ACTIVE';
    case 'delivered':
      return 'DELIVERED';
    case 'failed':
      return 'FAILED';
    case 'cancelled':
      return 'CANCELLED';
  }
}

export function isMeant(filter: MessageFilter, message: Message): boolean {
  const is = <T>(wanted: readonly T[] | undefined, value: T | null) =>
    wanted === undefined || (value !== null && wanted.includes(value));
  return (
    is(filter.messageIds, message.id) &&
    is(filter.states, shownState(message)) &&
    is(filter.urls, message.url) &&
    (filter.hosts === undefined || filter.hosts.some((host) => isHost(message.host, host))) &&
    (filter.paths === undefined || filter.paths.includes(pathOf(message.url))) &&
    is(filter.queueNames, message.queueName) &&
    is(filter.topicNames, message.topicName) &&
    is(filter.scheduleIds, message.scheduleId) &&
    is(filter.sourceMessageIds, message.sourceMessageId) &&
    (filter.labels === undefined || message.labels.some((label) => filter.labels!.includes(label))) &&
    is(filter.flowKeys, message.flow?.key ?? null) &&
    is(filter.callerIps, message.callerIp) &&
    is(filter.statuses, message.lastStatus) &&
    is(filter.failures, message.failure) &&
    (filter.fromAt === undefined || message.createdAt >= filter.fromAt) &&
    (filter.toAt === undefined || message.createdAt <= filter.toAt) &&
    (filter.text === undefined || hasText(message, filter.text.toLowerCase()))
  );
}

/** A host may be asked for with its port or without. */
function isHost(host: string, wanted: string): boolean {
  return host === wanted || host.slice(0, host.lastIndexOf(':')) === wanted;
}

/** The path without its query. */
function pathOf(url: string): string {
  const target = parseTargetUrl(url);
  return 'problem' in target ? '' : target.path.split('?')[0]!;
}

function hasText(message: Message, text: string): boolean {
  const { id, url, queueName, topicName, scheduleId, labels } = message;
  const isNamed = [id, url, queueName, topicName, scheduleId, ...labels].some((each) =>
    each?.toLowerCase().includes(text),
  );
  // What no read may show must not be found out by asking for it, either.
  if (isNamed || message.redaction?.body) return isNamed;
  return new TextDecoder().decode(message.body).toLowerCase().includes(text);
}
