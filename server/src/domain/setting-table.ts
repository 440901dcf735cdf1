// The table of publish settings: each header that controls a delivery, with its description. The accepted names,
// OpenAPI, the table in docs/api.md, the settings of the console and the names in the SDK come from here.
// publish-settings.ts says how each is parsed.

export interface Setting {
  /** Without the prefix. A name that ends in "-" is a family: the caller writes the rest. */
  readonly name: string;
  /**
   * `delivery`: of the message, and of each callback under `Callback-` and `Failure-Callback-`. `message`: of the message only.
   * `schedule`: only when a schedule is made.
   */
  readonly of: 'delivery' | 'message' | 'schedule';
  readonly default: string;
  /** One phrase, for OpenAPI and the console. */
  readonly help: string;
  /** Replaces `help` in docs/api.md. */
  readonly told?: string;
  readonly example: string;
}

export const SETTING_TABLE = [
  {
    name: 'Method',
    of: 'delivery',
    default: '`POST`',
    help: 'Method of the delivery: GET, POST, PUT, PATCH or DELETE',
    example: 'PUT',
  },
  {
    name: 'Retries',
    of: 'delivery',
    default: '3 (free), 5 (paid)',
    help: 'Retries after a failed delivery',
    example: '3',
  },
  {
    name: 'Retry-Delay',
    of: 'delivery',
    default: 'the backoff',
    help: 'Wait before a retry in milliseconds: an expression over `retried`',
    told: "wait before a retry in milliseconds: an expression over `retried` (0 before the first retry) with `+ - * / ( )`, `pow exp sqrt abs floor ceil round min max`; clamped to 0 … 1 day. Beyond the tier's default number of retries each waits at least the tier's `retryDelayMsMin` (1 s free, 0 paid)",
    example: '1000 * pow(2, retried)',
  },
  {
    name: 'Delay',
    of: 'delivery',
    default: 'none',
    help: 'Wait before the first delivery, such as 90s or 1d12h',
    told: 'wait before the first delivery: numbers with units `ms s m h d`, such as `90s` or `1d12h`; a plain number is seconds',
    example: '90s',
  },
  {
    name: 'Not-Before',
    of: 'message',
    default: 'none',
    help: 'Time of the first delivery, in seconds since 1970',
    told: 'time of the first delivery in seconds since 1970; wins over the delay; the past means now',
    example: '1790000000',
  },
  {
    name: 'Timeout',
    of: 'delivery',
    default: '30 s',
    help: 'Deadline of one attempt, such as 30s',
    told: 'deadline of one attempt, from connecting to the last byte; may be longer than the default, up to the limit of the tier: 15 minutes (free), 2 hours (paid)',
    example: '30s',
  },
  {
    name: 'Callback',
    of: 'message',
    default: 'none',
    help: 'URL called after each attempt',
    example: 'https://example.com/done',
  },
  {
    name: 'Failure-Callback',
    of: 'message',
    default: 'none',
    help: 'URL called when all retries are used up',
    example: 'https://example.com/failed',
  },
  {
    name: 'Forward-',
    of: 'delivery',
    default: 'none',
    help: 'A header for the destination: write its name behind the dash',
    told: 'sent as `<Name>` with the same value; up to 64, 16 KiB together. Not `Host`, `Content-Length`, `Connection` and the like',
    example: 'acme',
  },
  {
    name: 'Header-Forward',
    of: 'message',
    default: '`false`',
    help: 'true: forward all headers of this request that may be forwarded',
    told: '`true` forwards all headers of the request, but for `Authorization`, cookies, hop-by-hop headers and ours',
    example: 'true',
  },
  {
    name: 'Label',
    of: 'message',
    default: 'none',
    help: 'Labels to find it by, separated by commas',
    example: 'invoice',
  },
  {
    name: 'Deduplication-Id',
    of: 'message',
    default: 'none',
    help: 'While a message with this id stands, this one is not accepted',
    told: 'while a message with this id stands, this one is not accepted: 202 and the old id. For 10 minutes (`--deduplication-window`), or until that message has failed. Not `:`. `Idempotency-Key` is an alias. Each copy for an endpoint of a topic stands for itself',
    example: 'order-7',
  },
  {
    name: 'Content-Based-Deduplication',
    of: 'message',
    default: '`false`',
    help: 'true: the id is made from the content',
    told: '`true` makes the id from destination, body, `Content-Type` and forwarded headers',
    example: 'true',
  },
  {
    name: 'Flow-Control-Key',
    of: 'message',
    default: 'none',
    help: 'Key of a limit across URLs',
    told: 'key of a limit across URLs: see [Flow control](#flow-control)',
    example: 'shop',
  },
  {
    name: 'Flow-Control-Value',
    of: 'message',
    default: 'none',
    help: 'The limit of that key, such as parallelism=3, rate=10, period=1m',
    told: 'the limit of that key; both belong together',
    example: 'parallelism=3, rate=10, period=1m',
  },
  {
    name: 'Order-Key',
    of: 'message',
    default: 'none',
    help: 'In a queue: messages with the same key go one after the other',
    told: "in a queue: messages with the same key go one after the other, those with other keys beside them, up to the queue's parallelism",
    example: 'customer-7',
  },
  {
    name: 'Redact-Fields',
    of: 'message',
    default: 'none',
    help: 'What reads must not show: body, headers, header[Name]',
    told: 'what no read shows: a list of `body`, `headers`, `header[Name]`. In their place stands `REDACTED:<sha256>`. The delivery, callbacks and retries have the original. A retry of a dead letter can add to the list, but not take from it; nor can a publish to a topic whose default headers have one',
    example: 'body, header[Authorization]',
  },
  {
    name: 'Cron',
    of: 'schedule',
    default: 'required',
    help: 'When a schedule runs: five fields, in UTC or after CRON_TZ=Zone',
    example: '0 9 * * 1-5',
  },
  {
    name: 'Schedule-Id',
    of: 'schedule',
    default: 'made',
    help: 'Id of a schedule; the same id replaces it',
    example: 'daily-report',
  },
  {
    name: 'Queue-Name',
    of: 'schedule',
    default: 'none',
    help: 'Queue that the messages of a schedule go to',
    example: 'reports',
  },
] as const satisfies readonly Setting[];

/** Headers that have settings of their own delivery. */
export const CALLBACK_NAMES = ['Callback', 'Failure-Callback'] as const;

/** All names, including those of callbacks. */
export const SETTING_NAMES: readonly string[] = [
  ...SETTING_TABLE.map(({ name }) => name),
  ...CALLBACK_NAMES.flatMap((callback) =>
    SETTING_TABLE.filter(({ of }) => of === 'delivery').map(({ name }) => `${callback}-${name}`),
  ),
];
