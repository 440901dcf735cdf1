// The headers that steer a delivery, without their prefix, each with a word of help: what the rows of the request
// builder offer.

export interface KnownSetting {
  readonly name: string;
  readonly help: string;
  readonly example: string;
}

export const KNOWN_SETTINGS: readonly KnownSetting[] = [
  { name: 'Retries', help: 'Retries after a failed delivery', example: '3' },
  { name: 'Delay', help: 'Wait before the first delivery', example: '90s' },
  { name: 'Not-Before', help: 'Time of the first delivery, in seconds since 1970', example: '1790000000' },
  { name: 'Timeout', help: 'Deadline of one attempt', example: '30s' },
  { name: 'Retry-Delay', help: 'Wait before a retry in ms, over “retried”', example: '1000 * pow(2, retried)' },
  { name: 'Method', help: 'Method of the delivery', example: 'PUT' },
  { name: 'Callback', help: 'URL called after each attempt', example: 'https://example.com/done' },
  { name: 'Failure-Callback', help: 'URL called when all retries are used up', example: 'https://example.com/failed' },
  { name: 'Label', help: 'Labels to find it by, separated by commas', example: 'invoice' },
  {
    name: 'Deduplication-Id',
    help: 'While a message with this id stands, this one is not accepted',
    example: 'order-7',
  },
  { name: 'Content-Based-Deduplication', help: 'Make that id from the content', example: 'true' },
  { name: 'Flow-Control-Key', help: 'Key of a limit across URLs', example: 'shop' },
  { name: 'Flow-Control-Value', help: 'The limit of that key', example: 'parallelism=3, rate=10, period=1m' },
  { name: 'Order-Key', help: 'In a queue: those with the same key one after the other', example: 'customer-7' },
  { name: 'Redact-Fields', help: 'What no read may show', example: 'body, header[Authorization]' },
  { name: 'Forward-', help: 'A header for the destination: write its name behind the dash', example: 'acme' },
  { name: 'Cron', help: 'For a schedule: when it runs', example: '0 9 * * 1-5' },
  { name: 'Schedule-Id', help: 'For a schedule: its id; the same id replaces it', example: 'daily-report' },
  { name: 'Queue-Name', help: 'For a schedule: the queue of its messages', example: 'reports' },
];

export function knownSetting(name: string): KnownSetting | undefined {
  const lower = name.toLowerCase();
  return (
    KNOWN_SETTINGS.find((known) => known.name.toLowerCase() === lower) ??
    (lower.startsWith('forward-') ? KNOWN_SETTINGS.find(({ name: each }) => each === 'Forward-') : undefined)
  );
}
