// Made from server/src/rules/publish/setting-table.ts by "npm run docs". Change that file, not this one.

/** Settings of one delivery: of a message, or of a callback. */
export type DeliverySettingName =
  | 'Method'
  | 'Retries'
  | 'Retry-Delay'
  | 'Retry-Jitter'
  | 'Delay'
  | 'Timeout'
  | `Forward-${string}`;

/** The headers of a publish, without their prefix. */
export type SettingName =
  | DeliverySettingName
  | `Callback-${DeliverySettingName}`
  | `Failure-Callback-${DeliverySettingName}`
  | 'Not-Before'
  | 'Expires'
  | 'Expires-At'
  | 'Callback'
  | 'Failure-Callback'
  | 'Header-Forward'
  | 'Label'
  | 'Deduplication-Id'
  | 'Content-Based-Deduplication'
  | 'Debounce-Key'
  | 'Debounce'
  | 'Debounce-Max'
  | 'Flow-Control-Key'
  | 'Flow-Control-Value'
  | 'Order-Key'
  | 'Priority'
  | 'Outage'
  | 'Await-Ack'
  | 'Redact-Fields'
  | 'Cron'
  | 'Schedule-Id'
  | 'Queue-Name'
  | 'Schedule-Overlap'
  | 'Schedule-Jitter';
