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
  /** Share of the wait before a retry that is added to it at random, such as 20%. Default: `0%`. */
  readonly retryJitter?: string | undefined;
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
  /** How long after its acceptance an attempt may start, such as 10m; then the message fails as expired. Default: never. */
  readonly expires?: Duration | undefined;
  /** Time in seconds since 1970 from which no attempt starts; then the message fails as expired. Default: never. */
  readonly expiresAt?: number | Date | undefined;
  /** URL called after each attempt. */
  readonly callback?: string | CallbackOptions | undefined;
  /** URL called when all retries are used up. */
  readonly failureCallback?: string | CallbackOptions | undefined;
  /** true: forward all headers of this request that are allowed. Default: `false`. */
  readonly headerForward?: boolean | undefined;
  /** Labels to find the message by, separated by commas. */
  readonly label?: string | readonly string[] | undefined;
  /** Id by which duplicates are found: for some minutes, a second message with the same id is not stored. */
  readonly deduplicationId?: string | undefined;
  /** true: compute the deduplication id from the content. Default: `false`. */
  readonly contentBasedDeduplication?: boolean | undefined;
  /** A new message with the same key takes the place of the one that waits; give Debounce too. */
  readonly debounceKey?: string | undefined;
  /** With a debounce key: how long the message waits for others with the same key, such as 5s. */
  readonly debounce?: Duration | undefined;
  /** With a debounce key: how long after the first message the newest is due at the latest, such as 1m. Default: the tier's longest delay. */
  readonly debounceMax?: Duration | undefined;
  /** Key of a limit that several URLs share. */
  readonly flowControlKey?: string | undefined;
  /** The limit of the flow-control key, such as parallelism=3, rate=10, period=1m. */
  readonly flowControlValue?: string | FlowLimits | undefined;
  /** In a queue: messages with the same key are delivered one after the other. */
  readonly orderKey?: string | undefined;
  /** From 0 to 9: of the messages to a host that wait for a free slot, those with the highest go first. Default: 5. */
  readonly priority?: number | undefined;
  /** While its host is down: retry, or park, which waits until the host is back and uses up no retry. Default: retry. */
  readonly outage?: 'retry' | 'park' | undefined;
  /** A 202 means that the receiver has taken the message on: it has this long for its ack, such as 30m. */
  readonly awaitAck?: Duration | undefined;
  /** What the API must not show: body, headers, header[Name]. */
  readonly redactFields?: string | readonly string[] | undefined;
}

export interface ScheduleOptions extends MessageOptions {
  /** Times of a schedule: five fields, or six with the second first, in UTC or in the zone of CRON_TZ=Zone before them; or @every 10s. */
  readonly cron: string;
  /** Id of a schedule; an existing schedule with this id is replaced and keeps its history. */
  readonly scheduleId?: string | undefined;
  /** Queue that the messages of a schedule go to. */
  readonly queueName?: string | undefined;
  /** allow or skip. skip: a tick makes no message while a message of the tick before is open. Default: `allow`. */
  readonly scheduleOverlap?: 'allow' | 'skip' | undefined;
  /** The messages of a tick are due up to this much later, such as 30s. The same tick has the same delay everywhere. */
  readonly scheduleJitter?: Duration | undefined;
}
