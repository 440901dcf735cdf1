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
    help: 'A message with the same id in the last minutes is a duplicate and is not stored',
    example: 'order-7',
  },
  {
    name: 'Content-Based-Deduplication',
    help: 'true: compute the deduplication id from the content',
    example: 'true',
  },
  {
    name: 'Flow-Control-Key',
    help: 'Key of a limit that several URLs share',
    example: 'shop',
  },
  {
    name: 'Flow-Control-Value',
    help: 'The limit of that key, such as parallelism=3, rate=10, period=1m',
    example: 'parallelism=3, rate=10, period=1m',
  },
  {
    name: 'Order-Key',
    help: 'In a queue: messages with the same key are delivered one after the other',
    example: 'customer-7',
  },
  {
    name: 'Redact-Fields',
    help: 'What the API must not show: body, headers, header[Name]',
    example: 'body, header[Authorization]',
  },
  {
    name: 'Cron',
    help: 'Times of a schedule: five fields, in UTC or in the zone of CRON_TZ=Zone before them',
    example: '0 9 * * 1-5',
  },
  {
    name: 'Schedule-Id',
    help: 'Id of a schedule; an existing schedule with this id is replaced',
    example: 'daily-report',
  },
  {
    name: 'Queue-Name',
    help: 'Queue that the messages of a schedule go to',
    example: 'reports',
  },
];
