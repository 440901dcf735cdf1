// Made from server/src/store/rows/message-fields.ts by "npm run docs". Change that file, not this one.
// The columns of a new row that come from its message, without the body. An absent property becomes null.

import type { NewMessage } from '../../../rules/delivery/message.ts';
import {
  aheadColumn,
  debounceCountColumn,
  debounceKeyColumn,
  debounceLatestColumn,
  deduplicationColumn,
  descendantsColumn,
  flowKeyColumn,
  flowLimitsColumn,
} from '../../rows/message-columns.ts';

export function acceptedRow(message: NewMessage) {
  return {
    id: message.id,
    account_id: message.accountId,
    kind: message.kind,
    url: message.url,
    host: message.host,
    method: message.method,
    headers: JSON.stringify(message.headers),
    retries_max: message.retriesMax,
    retry_delay: message.retryDelay ?? undefined,
    retry_jitter: message.retryJitter ?? undefined,
    timeout_ms: message.timeoutMs,
    queue_name: message.queueName ?? undefined,
    order_key: message.orderKey ?? undefined,
    ahead_ms: aheadColumn(message) ?? undefined,
    outage: message.outage ?? undefined,
    await_ack_ms: message.awaitAckMs ?? undefined,
    flow_key: flowKeyColumn(message) ?? undefined,
    flow_limits: flowLimitsColumn(message) ?? undefined,
    schedule_id: message.scheduleId ?? undefined,
    labels: (message.labels.length > 0 ? JSON.stringify(message.labels) : null) ?? undefined,
    redaction: (message.redaction && JSON.stringify(message.redaction)) ?? undefined,
    deduplication_key: deduplicationColumn(message) ?? undefined,
    debounce_key: debounceKeyColumn(message) ?? undefined,
    debounce_latest_at: debounceLatestColumn(message) ?? undefined,
    debounced: debounceCountColumn(message) ?? undefined,
    topic_name: message.topicName ?? undefined,
    endpoint_name: message.endpointName ?? undefined,
    callback: (message.callback && JSON.stringify(message.callback)) ?? undefined,
    failure_callback: (message.failureCallback && JSON.stringify(message.failureCallback)) ?? undefined,
    source_message_id: message.sourceMessageId ?? undefined,
    caller_ip: message.callerIp ?? undefined,
    hops: message.hops,
    descendants_left: descendantsColumn(message) ?? undefined,
    created_at: message.createdAt,
    due_at: message.dueAt,
    must_start_before: message.mustStartBefore ?? undefined,
  };
}
