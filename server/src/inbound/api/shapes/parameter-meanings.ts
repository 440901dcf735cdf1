// The meaning of each parameter of a path or a query, in a few words, for /openapi.json and /docs. docs/api.md has
// more.

const OF_EVENTS = /^\/v2\/(?:events|logs)/;

/** The meanings that are the same for all calls, by kind and name of the parameter. */
const MEANINGS: ReadonlyMap<string, string> = new Map([
  ['path accountId', 'Id of an account.'],
  ['path tokenId', 'Id of a token, as the list of tokens shows it.'],
  ['path alertId', 'Id of an alert. You choose it, or the service creates one.'],
  ['path jobId', 'Id of a bulk operation.'],
  ['path dlqId', 'Id of a dead letter.'],
  ['path queue', 'Name of a queue. The first message to a queue creates it.'],
  ['path queueName', 'Name of a queue.'],
  ['path key', 'A flow key.'],
  ['path host', 'Host of a destination, with its port. Without one, 443 or 80.'],
  ['path messageId', 'Id of a message.'],
  ['path secret', 'The last part of the Ack-Url that came with the delivery.'],
  ['path scheduleId', 'Id of a schedule.'],
  ['path name', 'Name of a topic. The id of an existing topic works too.'],
  ['query accountId', 'Id of an account: return only what belongs to it.'],
  ['query account', 'Id of the account of the caller.'],
  ['query address', 'Address of the caller, or its network.'],
  ['query call', 'Method and route, such as POST /v2/queues/{queueName}/pause, or a command.'],
  ['query result', 'done, refused, a status such as 403, or the code of an error.'],
  ['query target', 'Name or id of what was called for.'],
  ['query token', 'Id or name of the token of the caller.'],
  ['query all', 'true: select all. Required if no filter is given.'],
  ['query callerIp', 'Address of the caller who published the message.'],
  ['query count', 'Maximum of entries in a page, up to 1,000. Default: 100.'],
  ['query cron', 'A cron expression, such as CRON_TZ=Europe/Berlin 0 9 * * 1-5.'],
  ['query cursor', 'Cursor of the previous response, to get the next page. Keep the same filters and order.'],
  ['query debounceKey', 'Debounce key of the message.'],
  ['query dlqIds', 'Ids of dead letters.'],
  ['query failure', 'Why the message failed: the exact text of its field failure.'],
  ['query flowControlKey', 'Flow key of the message.'],
  ['query force', 'true: cancel the open messages of the queue too.'],
  [
    'query fromDate',
    'Messages accepted at this time or later: milliseconds since 1970, or a date such as 2026-01-31T12:00:00Z.',
  ],
  ['query host', 'Host of the destination, with or without the port.'],
  ['query label', 'A label of the message.'],
  ['query messageId', 'Id of a message.'],
  ['query messageIds', 'Ids of messages.'],
  ['query order', 'earliestFirst: oldest first. Default: newest first.'],
  ['query parallelism', 'How many messages of the key may be in flight at once.'],
  ['query path', 'Path of the destination, without the query.'],
  ['query period', 'Period of the rate, such as 1m. Default: 1s.'],
  ['query queueName', 'Queue of the message.'],
  ['query rate', 'How many messages of the key may start in a period.'],
  ['query responseStatus', 'Status of the last response; 0 when the last attempt got no response.'],
  ['query retried', 'true: only dead letters that were retried; false: only those that were not; any: both.'],
  ['query scheduleId', 'Schedule of the message.'],
  ['query sourceMessageId', 'Id of a message: select its callbacks and the retries of its dead letter.'],
  ['query state', 'State of the message.'],
  ['query text', 'Text in the id, URL, queue, topic, schedule, label or body. Upper and lower case are the same.'],
  ['query toDate', 'Messages accepted at this time or earlier.'],
  ['query topicName', 'Topic of the message.'],
  ['query url', 'The complete URL of the destination.'],
]);

const OF_AUDIT = /^\/v2\/(?:admin\/)?audit$/;

/** The meanings in calls where a parameter does not mean the same as in all others. */
const OF_CALLS: readonly (readonly [path: RegExp, key: string, meaning: string])[] = [
  [/^\/v2\/activity$/, 'query fromDate', 'Start of the period that is counted. Default: an hour ago.'],
  [/^\/v2\/activity$/, 'query toDate', 'End of the period that is counted. Default: now.'],
  [OF_EVENTS, 'query fromDate', 'Events at this time or later: milliseconds since 1970, or a date.'],
  [OF_EVENTS, 'query toDate', 'Events at this time or earlier.'],
  [OF_EVENTS, 'query state', 'State that the event led to.'],
  [OF_AUDIT, 'query fromDate', 'Calls at this time or later: milliseconds since 1970, or a date.'],
  [OF_AUDIT, 'query toDate', 'Calls at this time or earlier.'],
  [/\/unpin$/, 'query parallelism', 'true: unpin only the parallelism.'],
  [/\/unpin$/, 'query rate', 'true: unpin only the rate.'],
];

/** The meaning of a parameter. Undefined for a parameter that has a description in the schema of its route. */
export function parameterMeaning(path: string, kind: 'path' | 'query', name: string): string | undefined {
  const key = `${kind} ${name}`;
  return OF_CALLS.find(([calls, of]) => of === key && calls.test(path))?.[2] ?? MEANINGS.get(key);
}
