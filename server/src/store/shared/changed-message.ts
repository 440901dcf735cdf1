// What a change writes to the row of its message, for every adapter, and how much of the inbox it takes until then.

import type { MessageChange } from '../../rules/delivery/change.ts';
import type { Message, NewMessage } from '../../rules/delivery/message.ts';
import type { WaitingPlace } from '../../rules/lines/new-time.ts';
import {
  aheadColumn,
  debounceCountColumn,
  debounceLatestColumn,
  descendantsColumn,
  flowLimitsColumn,
} from '../rows/message-columns.ts';
import type { MessageRow } from '../rows/message-row.ts';

/** The columns that every change writes. The body and the columns that stores write in different forms are not listed. */
export const CHANGED_COLUMNS = [
  'url',
  'host',
  'endpoint_name',
  'method',
  'headers',
  'retries_max',
  'retry_delay',
  'retry_jitter',
  'ahead_ms',
  'outage',
  'await_ack_ms',
  'timeout_ms',
  'labels',
  'redaction',
  'callback',
  'failure_callback',
  'hops',
  'descendants_left',
  'flow_limits',
  'topic_name',
  'caller_ip',
  'debounce_latest_at',
  'debounced',
  'changes',
  'state',
  'must_start_before',
  'due_at',
  'first_due_at',
  'ready_at',
  'alone_from_at',
] as const satisfies readonly (keyof MessageRow)[];

/** Parallel to CHANGED_COLUMNS. */
export function changedValues(after: Message, place: WaitingPlace): (string | number | null)[] {
  const row: Pick<MessageRow, (typeof CHANGED_COLUMNS)[number]> = {
    url: after.url,
    host: after.host,
    endpoint_name: after.endpointName,
    method: after.method,
    headers: JSON.stringify(after.headers),
    retries_max: after.retriesMax,
    retry_delay: after.retryDelay,
    retry_jitter: after.retryJitter,
    ahead_ms: aheadColumn(after),
    outage: after.outage,
    await_ack_ms: after.awaitAckMs,
    timeout_ms: after.timeoutMs,
    labels: after.labels.length === 0 ? null : JSON.stringify(after.labels),
    redaction: after.redaction && JSON.stringify(after.redaction),
    callback: after.callback && JSON.stringify(after.callback),
    failure_callback: after.failureCallback && JSON.stringify(after.failureCallback),
    hops: after.hops,
    descendants_left: descendantsColumn(after),
    flow_limits: flowLimitsColumn(after),
    topic_name: after.topicName,
    caller_ip: after.callerIp,
    debounce_latest_at: debounceLatestColumn(after),
    debounced: debounceCountColumn(after),
    changes: after.changes ?? null,
    state: place.state,
    must_start_before: after.mustStartBefore,
    due_at: place.dueAt,
    first_due_at: place.firstDueAt,
    ready_at: place.readyAt,
    alone_from_at: place.aloneFromAt,
  };
  return CHANGED_COLUMNS.map((name) => row[name]);
}

/**
 * An assignment of an UPDATE that moves a message at the word of a person, but changes nothing of it: the message has
 * another version then too, so a change of the version before does not move it again.
 */
export const ONE_MORE_CHANGE = 'changes = coalesce(changes, 0) + 1';

/** How an unclaimed message waits, from its row. */
export function placeOf(row: MessageRow): WaitingPlace {
  return {
    // A claimed message is not changed, and one that has ended is not there.
    state: row.state as WaitingPlace['state'],
    dueAt: row.due_at,
    firstDueAt: row.first_due_at,
    readyAt: row.ready_at,
    aloneFromAt: row.alone_from_at,
    holdsPlace: Boolean(row.holds_place),
  };
}

const NOTHING = new Uint8Array(0);

/** A change as the inbox counts it. */
export function waitingChange(
  accountId: string,
  { body, forward }: MessageChange,
): Pick<NewMessage, 'accountId' | 'headers' | 'body'> {
  return { accountId, headers: forward ?? [], body: body ?? NOTHING };
}
