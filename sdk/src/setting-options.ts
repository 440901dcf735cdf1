// Made from server/src/rules/publish/setting-table.ts by "npm run docs". Change that file, not this one.
// The options of a publish. Each is a header of the API in camel case: `retryDelay` is `Retry-Delay`.

type Unit = 'ms' | 's' | 'm' | 'h' | 'd';

/** Seconds, or numbers with units, such as `90s`, `1d12h` or `1h30m10s`. */
export type Duration =
  | number
  | `${number}${Unit}`
  | `${number}${Unit}${number}${Unit}`
  | `${number}${Unit}${number}${Unit}${number}${Unit}`;

/** How one delivery is made: that of a message, or that of a callback. */
export interface DeliveryOptions {
  /** Method of the delivery: GET, POST, PUT, PATCH or DELETE. Default: `POST`. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined;
  /** Retries after a failed delivery. Default: 3 (free), 5 (paid). */
  readonly retries?: number | undefined;
  /** Wait before a retry in milliseconds: an expression over `retried`. Default: the backoff. */
  readonly retryDelay?: string | undefined;
  /** Wait before the first delivery, such as 90s or 1d12h. */
  readonly delay?: Duration | undefined;
  /** Deadline of one attempt, such as 30s. Default: 30 s. */
  readonly timeout?: Duration | undefined;
  /** Headers for the destination, by name. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A callback with settings of its own. Without them, it has the retries of its message. */
export interface CallbackOptions extends DeliveryOptions {
  readonly url: string;
}

/** Limits of a flow-control key. */
export interface FlowLimits {
  readonly parallelism?: number | undefined;
  readonly rate?: number | undefined;
  readonly period?: Duration | undefined;
}

export interface MessageOptions extends DeliveryOptions {
  /** Time of the first delivery, in seconds since 1970. */
  readonly notBefore?: number | Date | undefined;
  /** URL called after each attempt. */
  readonly callback?: string | CallbackOptions | undefined;
  /** URL called when all retries are used up. */
  readonly failureCallback?: string | CallbackOptions | undefined;
  /** true: forward all headers of this request that are allowed. Default: `false`. */
  readonly headerForward?: boolean | undefined;
  /** Labels to find the message by, separated by commas. */
  readonly label?: string | readonly string[] | undefined;
  /** A message with the same id in the last minutes is a duplicate and is not stored. */
  readonly deduplicationId?: string | undefined;
  /** true: compute the deduplication id from the content. Default: `false`. */
  readonly contentBasedDeduplication?: boolean | undefined;
  /** Key of a limit that several URLs share. */
  readonly flowControlKey?: string | undefined;
  /** The limit of that key, such as parallelism=3, rate=10, period=1m. */
  readonly flowControlValue?: string | FlowLimits | undefined;
  /** In a queue: messages with the same key are delivered one after the other. */
  readonly orderKey?: string | undefined;
  /** What the API must not show: body, headers, header[Name]. */
  readonly redactFields?: string | readonly string[] | undefined;
}

export interface ScheduleOptions extends MessageOptions {
  /** Times of a schedule: five fields, in UTC or in the zone of CRON_TZ=Zone before them. */
  readonly cron: string;
  /** Id of a schedule; an existing schedule with this id is replaced. */
  readonly scheduleId?: string | undefined;
  /** Queue that the messages of a schedule go to. */
  readonly queueName?: string | undefined;
}
