// The table of publish settings: each header that controls a delivery, with its description. The accepted names,
// OpenAPI, the table in docs/api.md, the settings of the console and the names in the SDK come from here.
// header-reader.ts and publish-settings.ts choose the parser of each setting.

/**
 * `count`: a whole number. `duration`: such as `90s`, or seconds. `instant`: seconds since 1970. `list`: texts,
 * separated by commas. `flag`: true or false. `callback`: a URL, and settings for the delivery to this URL. `headers`:
 * headers whose names begin with that of the setting. `limits`: the limits of a flow-control key. `overlap`: allow or
 * skip. `outage`: retry or park.
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
  | 'limits'
  | 'overlap'
  | 'outage';

export interface Setting {
  /** The name of the header without the prefix. If it ends in "-", the caller adds the name of a header to forward. */
  readonly name: string;
  /**
   * `delivery`: a setting of the message; with `Callback-` or `Failure-Callback-` before its name, a setting of the
   * callback. `message`: a setting of the message only. `schedule`: a setting for the creation of a schedule.
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
    name: 'Retry-Jitter',
    of: 'delivery',
    value: 'text',
    default: '`0%`',
    help: 'Share of the wait before a retry that is added to it at random, such as 20%',
    docs: 'up to this share of the wait before a retry is added to it, from `0%` to `100%`: so messages that failed together are not all retried at the same moment. A retry never comes earlier than without it, also after a `Retry-After`',
    example: '20%',
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
    name: 'Expires',
    of: 'message',
    value: 'duration',
    default: 'never',
    help: 'How long after its acceptance an attempt may start, such as 10m; then the message fails as expired',
    docs: 'how long after the acceptance of the message an attempt may start, such as `10m`. Then the message ends as failed, with the code `expired`: see [Expiry](#expiry)',
    example: '10m',
  },
  {
    name: 'Expires-At',
    of: 'message',
    value: 'instant',
    default: 'never',
    help: 'Time in seconds since 1970 from which no attempt starts; then the message fails as expired',
    docs: 'the same as a time in seconds since 1970; not together with `Expires`',
    example: '1790000600',
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
    help: 'Id by which duplicates are found: for some minutes, a second message with the same id is not stored',
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
    name: 'Debounce-Key',
    of: 'message',
    value: 'text',
    default: 'none',
    help: 'A new message with the same key takes the place of the one that waits; give Debounce too',
    docs: 'a new message with the same key takes the place of the one that waits: see [Debouncing](#debouncing)',
    example: 'cart-42',
  },
  {
    name: 'Debounce',
    of: 'message',
    value: 'duration',
    default: 'none',
    help: 'With a debounce key: how long the message waits for others with the same key, such as 5s',
    docs: 'how long a message with a `Debounce-Key` waits for others with the same key; each of them starts the wait again. Give both headers together',
    example: '5s',
  },
  {
    name: 'Debounce-Max',
    of: 'message',
    value: 'duration',
    default: "the tier's longest delay",
    help: 'With a debounce key: how long after the first message the newest is due at the latest, such as 1m',
    docs: 'how long after the acceptance of the first message the one that waits is due at the latest',
    example: '1m',
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
    help: 'The limit of the flow-control key, such as parallelism=3, rate=10, period=1m',
    docs: 'the limit of the key in `Flow-Control-Key`; give both headers together',
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
    name: 'Priority',
    of: 'message',
    value: 'count',
    default: '5',
    help: 'From 0 to 9: of the messages to a host that wait for a free slot, those with the highest go first',
    docs: 'from 0 to 9, 9 first: the order in which the ready messages of an account to the same host start while they wait for free slots. While a message waits, its level rises by one each minute, so it is overtaken for a few minutes at most. Not allowed in a queue, whose messages start in order; a queue as a whole may have a [priority](#queues). Messages of a flow-control key are admitted in order; the priority counts after that',
    example: '9',
  },
  {
    name: 'Outage',
    of: 'message',
    value: 'outage',
    default: 'retry',
    help: 'While its host is down: retry, or park, which waits until the host is back and uses up no retry',
    docs: 'what happens to the message while its host is down: `retry`, or `park`. After ten failed attempts in a row of the account to a host, messages that park wait until the host is back, and use up no retry; see [Parking](#parking). Without it, the queue of the message decides, then the account',
    example: 'park',
  },
  {
    name: 'Await-Ack',
    of: 'message',
    value: 'duration',
    default: 'none',
    help: 'A 202 means that the receiver has taken the message on: it has this long for its ack, such as 30m',
    docs: 'how long a receiver that returns 202 has for its ack, such as `30m`: the delivery carries `Service-Ack-Url`, and the attempt stays open until the receiver has said there how its work ended; see [Long jobs](#long-jobs). From 1 s up to the limit of the tier: 1 day (free), 7 days (paid)',
    example: '30m',
  },
  {
    name: 'Redact-Fields',
    of: 'message',
    value: 'list',
    default: 'none',
    help: 'What the API must not show: body, headers, header[Name]',
    docs: 'what the API must not show: a list of `body`, `headers`, `header[Name]`. It shows `REDACTED:<sha256>` instead. Deliveries, callbacks and retries use the original. A retry of a dead letter can add entries to the list, but not remove them. A publish can in the same way only add to the list in the default headers of its topic',
    example: 'body, header[Authorization]',
  },
  {
    name: 'Cron',
    of: 'schedule',
    value: 'text',
    default: 'required',
    help: 'Times of a schedule: five fields, or six with the second first, in UTC or in the zone of CRON_TZ=Zone before them; or @every 10s',
    example: '0 9 * * 1-5',
  },
  {
    name: 'Schedule-Id',
    of: 'schedule',
    value: 'text',
    default: 'made',
    help: 'Id of a schedule; an existing schedule with this id is replaced and keeps its history',
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
  {
    name: 'Schedule-Overlap',
    of: 'schedule',
    value: 'overlap',
    default: '`allow`',
    help: 'allow or skip. skip: a tick makes no message while a message of the tick before is open',
    example: 'skip',
  },
  {
    name: 'Schedule-Jitter',
    of: 'schedule',
    value: 'duration',
    default: 'none',
    help: 'The messages of a tick are due up to this much later, such as 30s. The same tick has the same delay everywhere',
    example: '30s',
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
