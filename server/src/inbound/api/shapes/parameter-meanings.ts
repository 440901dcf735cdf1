// The meaning of each parameter of a path or a query, in a few words, for /openapi.json and /docs. docs/api.md has
// more.

const OF_EVENTS = /^\/v2\/(?:events|logs)/;

/** The meanings that are the same for all calls, by place and name. */
const MEANINGS: ReadonlyMap<string, string> = new Map([
  ['path accountId', 'Id of an account.'],
  ['path tokenId', 'Id of a token, as the list of tokens shows it.'],
  ['path alertId', 'Id of an alert. You choose it, or the service makes one.'],
  ['path jobId', 'Id of a bulk operation.'],
  ['path dlqId', 'Id of a dead letter.'],
  ['path queue', 'Name of a queue. The first message makes it.'],
  ['path queueName', 'Name of a queue.'],
  ['path key', 'A flow key.'],
  ['path messageId', 'Id of a message.'],
  ['path scheduleId', 'Id of a schedule.'],
  ['path name', 'Name of a topic, or its id where it exists.'],
  ['query accountId', 'Only of this account.'],
  ['query all', 'true: every one. Needed where no filter is given.'],
  ['query callerIp', 'Address of the caller who published the message.'],
  ['query count', 'Most entries of a page: 100 unless given, at most 1,000.'],
  ['query cron', 'A cron expression, such as CRON_TZ=Europe/Berlin 0 9 * * 1-5.'],
  ['query cursor', 'The next page: the cursor of the previous response, with the same filters and order.'],
  ['query dlqIds', 'Ids of dead letters.'],
  ['query failure', 'Why it failed: exactly the text of the field failure.'],
  ['query flowControlKey', 'Flow key of the message.'],
  ['query force', 'true: cancel the open messages of the queue too.'],
  [
    'query fromDate',
    'Accepted at this time or later: milliseconds since 1970, or a date such as 2026-01-31T12:00:00Z.',
  ],
  ['query host', 'Host of the destination, with or without the port.'],
  ['query label', 'A label of the message.'],
  ['query messageId', 'Id of a message.'],
  ['query messageIds', 'Ids of messages.'],
  ['query order', 'earliestFirst: the oldest first. Else the newest.'],
  ['query parallelism', 'Most messages of the key in flight at once.'],
  ['query path', 'Path of the destination, without the query.'],
  ['query period', 'Period of the rate, such as 1m. 1s unless given.'],
  ['query queueName', 'Queue of the message.'],
  ['query rate', 'Most messages of the key that start in a period.'],
  ['query responseStatus', 'Status of the last response; 0 when the last attempt got none.'],
  ['query retried', 'Dead letters that were retried: true for only these, false for none of them, any for both.'],
  ['query scheduleId', 'Schedule of the message.'],
  ['query sourceMessageId', 'Messages that this one led to: its callbacks, and the retry of its dead letter.'],
  ['query state', 'State of the message.'],
  ['query text', 'A part of id, URL, queue, topic, schedule, label or body, in any case.'],
  ['query toDate', 'Accepted at this time or earlier.'],
  ['query topicName', 'Topic of the message.'],
  ['query url', 'The complete URL of the destination.'],
]);

/** The meanings for calls that differ from the others. */
const OF_CALLS: readonly (readonly [path: RegExp, key: string, meaning: string])[] = [
  [/^\/v2\/activity$/, 'query fromDate', 'Start of the time that is counted. Default: an hour ago.'],
  [/^\/v2\/activity$/, 'query toDate', 'End of the time that is counted. Now unless given.'],
  [OF_EVENTS, 'query fromDate', 'Happened at this time or later: milliseconds since 1970, or a date.'],
  [OF_EVENTS, 'query toDate', 'Happened at this time or earlier.'],
  [OF_EVENTS, 'query state', 'State that the event led to.'],
  [/\/unpin$/, 'query parallelism', 'true: only the parallelism is no longer fixed.'],
  [/\/unpin$/, 'query rate', 'true: only the rate is no longer fixed.'],
];

/** The meaning of a parameter. Undefined where the parameter has a description of its own. */
export function meaningOf(path: string, kind: 'path' | 'query', name: string): string | undefined {
  const key = `${kind} ${name}`;
  return OF_CALLS.find(([calls, of]) => of === key && calls.test(path))?.[2] ?? MEANINGS.get(key);
}
