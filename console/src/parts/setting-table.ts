// Made from server/src/rules/publish/setting-table.ts by "npm run docs". Change that file, not this one.

export interface KnownSetting {
  /** Without the prefix; one that ends in "-" is the start of a name. */
  readonly name: string;
  readonly help: string;
  readonly example: string;
}

export const KNOWN_SETTINGS: readonly KnownSetting[] = [
  {
    name: 'Method',
    help: 'Method of the delivery: GET, POST, PUT, PATCH or DELETE',
    example: 'PUT',
  },
  {
    name: 'Retries',
    help: 'Retries after a failed delivery',
    example: '3',
  },
  {
    name: 'Retry-Delay',
    help: 'Wait before a retry in milliseconds: an expression over retried',
    example: '1000 * pow(2, retried)',
  },
  {
    name: 'Retry-Jitter',
    help: 'Share of the wait before a retry that is added to it at random, such as 20%',
    example: '20%',
  },
  {
    name: 'Delay',
    help: 'Wait before the first delivery, such as 90s or 1d12h',
    example: '90s',
  },
  {
    name: 'Not-Before',
    help: 'Time of the first delivery, in seconds since 1970',
    example: '1790000000',
  },
  {
    name: 'Expires',
    help: 'How long after its acceptance an attempt may start, such as 10m; then the message fails as expired',
    example: '10m',
  },
  {
    name: 'Expires-At',
    help: 'Time in seconds since 1970 from which no attempt starts; then the message fails as expired',
    example: '1790000600',
  },
  {
    name: 'Timeout',
    help: 'Deadline of one attempt, such as 30s',
    example: '30s',
  },
  {
    name: 'Callback',
    help: 'URL called after each attempt',
    example: 'https://example.com/done',
  },
  {
    name: 'Failure-Callback',
    help: 'URL called when all retries are used up',
    example: 'https://example.com/failed',
  },
  {
    name: 'Forward-',
    help: 'A header for the destination: write its name after the dash',
    example: 'acme',
  },
  {
    name: 'Header-Forward',
    help: 'true: forward all headers of this request that are allowed',
    example: 'true',
  },
  {
    name: 'Label',
    help: 'Labels to find the message by, separated by commas',
    example: 'invoice',
  },
  {
    name: 'Deduplication-Id',
    help: 'Id by which duplicates are found: for some minutes, a second message with the same id is not stored',
    example: 'order-7',
  },
  {
    name: 'Content-Based-Deduplication',
    help: 'true: compute the deduplication id from the content',
    example: 'true',
  },
  {
    name: 'Debounce-Key',
    help: 'A new message with the same key takes the place of the one that waits; give Debounce too',
    example: 'cart-42',
  },
  {
    name: 'Debounce',
    help: 'With a debounce key: how long the message waits for others with the same key, such as 5s',
    example: '5s',
  },
  {
    name: 'Debounce-Max',
    help: 'With a debounce key: how long after the first message the newest is due at the latest, such as 1m',
    example: '1m',
  },
  {
    name: 'Flow-Control-Key',
    help: 'Key of a limit that several URLs share',
    example: 'shop',
  },
  {
    name: 'Flow-Control-Value',
    help: 'The limit of the flow-control key, such as parallelism=3, rate=10, period=1m',
    example: 'parallelism=3, rate=10, period=1m',
  },
  {
    name: 'Order-Key',
    help: 'In a queue: messages with the same key are delivered one after the other',
    example: 'customer-7',
  },
  {
    name: 'Priority',
    help: 'From 0 to 9: of the messages to a host that wait for a free slot, those with the highest go first',
    example: '9',
  },
  {
    name: 'Outage',
    help: 'While its host is down: retry, or park, which waits until the host is back and uses up no retry',
    example: 'park',
  },
  {
    name: 'Await-Ack',
    help: 'A 202 means that the receiver has taken the message on: it has this long for its ack, such as 30m',
    example: '30m',
  },
  {
    name: 'Redact-Fields',
    help: 'What the API must not show: body, headers, header[Name]',
    example: 'body, header[Authorization]',
  },
  {
    name: 'Cron',
    help: 'Times of a schedule: five fields, or six with the second first, in UTC or in the zone of CRON_TZ=Zone before them; or @every 10s',
    example: '0 9 * * 1-5',
  },
  {
    name: 'Schedule-Id',
    help: 'Id of a schedule; an existing schedule with this id is replaced and keeps its history',
    example: 'daily-report',
  },
  {
    name: 'Queue-Name',
    help: 'Queue that the messages of a schedule go to',
    example: 'reports',
  },
  {
    name: 'Schedule-Overlap',
    help: 'allow or skip. skip: a tick makes no message while a message of the tick before is open',
    example: 'skip',
  },
  {
    name: 'Schedule-Jitter',
    help: 'The messages of a tick are due up to this much later, such as 30s. The same tick has the same delay everywhere',
    example: '30s',
  },
];
