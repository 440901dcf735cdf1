// Made from server/src/domain/setting-table.ts by "npm run docs". Change that file, not this one.

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
    help: 'A header for the destination: write its name behind the dash',
    example: 'acme',
  },
  {
    name: 'Header-Forward',
    help: 'true: forward all headers of this request that may be forwarded',
    example: 'true',
  },
  {
    name: 'Label',
    help: 'Labels to find it by, separated by commas',
    example: 'invoice',
  },
  {
    name: 'Deduplication-Id',
    help: 'While a message with this id stands, this one is not accepted',
    example: 'order-7',
  },
  {
    name: 'Content-Based-Deduplication',
    help: 'true: the id is made from the content',
    example: 'true',
  },
  {
    name: 'Flow-Control-Key',
    help: 'Key of a limit across URLs',
    example: 'shop',
  },
  {
    name: 'Flow-Control-Value',
    help: 'The limit of that key, such as parallelism=3, rate=10, period=1m',
    example: 'parallelism=3, rate=10, period=1m',
  },
  {
    name: 'Order-Key',
    help: 'In a queue: messages with the same key go one after the other',
    example: 'customer-7',
  },
  {
    name: 'Redact-Fields',
    help: 'What reads must not show: body, headers, header[Name]',
    example: 'body, header[Authorization]',
  },
  {
    name: 'Cron',
    help: 'When a schedule runs: five fields, in UTC or after CRON_TZ=Zone',
    example: '0 9 * * 1-5',
  },
  {
    name: 'Schedule-Id',
    help: 'Id of a schedule; the same id replaces it',
    example: 'daily-report',
  },
  {
    name: 'Queue-Name',
    help: 'Queue that the messages of a schedule go to',
    example: 'reports',
  },
];
