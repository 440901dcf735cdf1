// The table of publish settings: each header that controls a delivery, with its description. The accepted names,
// OpenAPI, the table in docs/api.md, the settings of the console and the names in the SDK come from here.
// header-reader.ts and publish-settings.ts choose the parser of each setting.

/**
 * `count`: a whole number. `duration`: such as `90s`, or seconds. `instant`: seconds since 1970, or a date. `list`:
 * texts, separated by commas. `flag`: true or false. `callback`: a URL with settings of its own delivery. `headers`: a
 * family of header names. `limits`: the limits of a flow-control key.
 */
export type SettingValue =
  | 'text'
  | 'count'
  | 'duration'
  | 'instant'
  | 'list'
  | 'flag'
  | 'method'
  | 'callback'
  | 'headers'
  | 'limits';

export interface Setting {
  /** Without the prefix. A name that ends in "-" is a family: the caller writes the rest. */
  readonly name: string;
  /**
   * `delivery`: a setting of the message, and of each callback under `Callback-` and `Failure-Callback-`. `message`: a
   * setting of the message only. `schedule`: a setting that is used only when a schedule is made.
   */
  readonly of: 'delivery' | 'message' | 'schedule';
  /** The kind of value. It decides the type of the option in the SDK. */
  readonly value: SettingValue;
  readonly default: string;
  /** One phrase, for OpenAPI and the console. */
  readonly help: string;
  /** The text in docs/api.md, if it is not `help`. */
  readonly docs?: string;
  readonly example: string;
}

export const SETTING_TABLE = [
  {
    name: 'Method',
    of: 'delivery',
    value: 'method',
    default: '`POST`',
    help: 'Method of the delivery: GET, POST, PUT, PATCH or DELETE',
    example: 'PUT',
  },
  {
    name: 'Retries',
    of: 'delivery',
    value: 'count',
    default: '3 (free), 5 (paid)',
    help: 'Retries after a failed delivery',
    example: '3',
  },
  {
    name: 'Retry-Delay',
    of: 'delivery',
    value: 'text',
    default: 'the backoff',
    help: 'Wait before a retry in milliseconds: an expression over `retried`',
    docs: "wait before a retry in milliseconds: an expression over `retried` (0 before the first retry) with `+ - * / ( )`, `pow exp sqrt abs floor ceil round min max`; clamped to 0 … 1 day. Each retry beyond the tier's default number waits at least the tier's `retryDelayMsMin` (1 s free, 0 paid)",
    example: '1000 * pow(2, retried)',
  },
  {
    name: 'Delay',
    of: 'delivery',
    value: 'duration',
    default: 'none',
    help: 'Wait before the first delivery, such as 90s or 1d12h',
    docs: 'wait before the first delivery: numbers with units `ms s m h d`, such as `90s` or `1d12h`; a plain number is seconds',
    example: '90s',
  },
  {
    name: 'Not-Before',
    of: 'message',
    value: 'instant',
    default: 'none',
    help: 'Time of the first delivery, in seconds since 1970',
    docs: 'time of the first delivery in seconds since 1970; takes precedence over the delay; a time in the past means now',
    example: '1790000000',
  },
  {
    name: 'Timeout',
    of: 'delivery',
    value: 'duration',
    default: '30 s',
    help: 'Deadline of one attempt, such as 30s',
    docs: 'deadline of one attempt, from connecting to the last byte; may be longer than the default, up to the limit of the tier: 15 minutes (free), 2 hours (paid)',
    example: '30s',
  },
  {
    name: 'Callback',
    of: 'message',
    value: 'callback',
    default: 'none',
    help: 'URL called after each attempt',
    example: 'https://example.com/done',
  },
  {
    name: 'Failure-Callback',
    of: 'message',
    value: 'callback',
    default: 'none',
    help: 'URL called when all retries are used up',
    example: 'https://example.com/failed',
  },
  {
    name: 'Forward-',
    of: 'delivery',
    value: 'headers',
    default: 'none',
    help: 'A header for the destination: write its name after the dash',
    docs: 'sent as `<Name>` with the same value; up to 64 headers, 16 KiB in total. Not allowed: `Host`, `Content-Length`, `Connection` and similar headers',
    example: 'acme',
  },
  {
    name: 'Header-Forward',
    of: 'message',
    value: 'flag',
    default: '`false`',
    help: 'true: forward all headers of this request that are allowed',
    docs: '`true` forwards all headers of the request, except `Authorization`, cookies, hop-by-hop headers and headers of the service',
    example: 'true',
  },
  {
    name: 'Label',
    of: 'message',
    value: 'list',
    default: 'none',
    help: 'Labels to find the message by, separated by commas',
    example: 'invoice',
  },
  {
    name: 'Deduplication-Id',
    of: 'message',
    value: 'text',
    default: 'none',
    help: 'A message with the same id in the last minutes is a duplicate and is not stored',
    docs: 'a second message with the same id is a duplicate: it is not stored, and the response is 202 with the id of the first. This lasts 10 minutes (`--deduplication-window`), or until the first message has failed. The id must not contain `:`. `Idempotency-Key` is an alias. With a topic, each endpoint is deduplicated separately',
    example: 'order-7',
  },
  {
    name: 'Content-Based-Deduplication',
    of: 'message',
    value: 'flag',
    default: '`false`',
    help: 'true: compute the deduplication id from the content',
    docs: '`true` computes the deduplication id from destination, body, `Content-Type` and forwarded headers',
    example: 'true',
  },
  {
    name: 'Flow-Control-Key',
    of: 'message',
    value: 'text',
    default: 'none',
    help: 'Key of a limit that several URLs share',
    docs: 'key of a limit that several URLs share: see [Flow control](#flow-control)',
    example: 'shop',
  },
  {
    name: 'Flow-Control-Value',
    of: 'message',
    value: 'limits',
    default: 'none',
    help: 'The limit of that key, such as parallelism=3, rate=10, period=1m',
    docs: 'the limit of that key; give both headers together',
    example: 'parallelism=3, rate=10, period=1m',
  },
  {
    name: 'Order-Key',
    of: 'message',
    value: 'text',
    default: 'none',
    help: 'In a queue: messages with the same key are delivered one after the other',
    docs: "in a queue: messages with the same key are delivered one after the other; messages with other keys are delivered at the same time, up to the queue's parallelism",
    example: 'customer-7',
  },
  {
    name: 'Redact-Fields',
    of: 'message',
    value: 'list',
    default: 'none',
    help: 'What the API must not show: body, headers, header[Name]',
    docs: 'what the API must not show: a list of `body`, `headers`, `header[Name]`. It shows `REDACTED:<sha256>` instead. Deliveries, callbacks and retries use the original. A retry of a dead letter can add entries to the list, but not remove them. The same holds for a publish to a topic whose default headers have such a list',
    example: 'body, header[Authorization]',
  },
  {
    name: 'Cron',
    of: 'schedule',
    value: 'text',
    default: 'required',
    help: 'Times of a schedule: five fields, in UTC or in the zone of CRON_TZ=Zone before them',
    example: '0 9 * * 1-5',
  },
  {
    name: 'Schedule-Id',
    of: 'schedule',
    value: 'text',
    default: 'made',
    help: 'Id of a schedule; an existing schedule with this id is replaced',
    example: 'daily-report',
  },
  {
    name: 'Queue-Name',
    of: 'schedule',
    value: 'text',
    default: 'none',
    help: 'Queue that the messages of a schedule go to',
    example: 'reports',
  },
] as const satisfies readonly Setting[];

/** The headers that name a callback. A callback has settings for its own delivery. */
export const CALLBACK_NAMES = ['Callback', 'Failure-Callback'] as const;

/** The names of all settings, including the settings of callbacks. */
export const SETTING_NAMES: readonly string[] = [
  ...SETTING_TABLE.map(({ name }) => name),
  ...CALLBACK_NAMES.flatMap((callback) =>
    SETTING_TABLE.filter(({ of }) => of === 'delivery').map(({ name }) => `${callback}-${name}`),
  ),
];
