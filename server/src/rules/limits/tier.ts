// The table of tiers: the defaults and limits of an account of each tier. The configuration can override every number,
// and can make some of them unlimited, which is `null`.

export type TierName = 'free' | 'paid';

export interface Tier {
  readonly name: TierName;
  readonly retriesDefault: number;
  readonly retriesMax: number | null;
  /** The minimum wait before each retry beyond `retriesDefault`, whatever a message or a receiver requests. */
  readonly retryDelayMsMin: number;
  readonly bodyBytesMax: number | null;
  readonly delayMsMax: number | null;
  readonly timeoutMsDefault: number;
  readonly timeoutMsMax: number | null;
  readonly awaitAckMsMax: number | null;
  readonly endpointsPerTopicMax: number | null;
  readonly topicsMax: number | null;
  readonly queuesMax: number | null;
  readonly schedulesMax: number | null;
  readonly messagesPerDayMax: number | null;
  readonly storedBytesMax: number | null;
  /** How long an ended message is kept. Never null: ended messages must expire, or the disk fills. */
  readonly retentionMs: number;
}

export type Tiers = Readonly<Record<TierName, Tier>>;

/** A number of a tier that the configuration may override. */
export type TierLimit = Exclude<keyof Tier, 'name'>;

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * Default limit for topics, queues and schedules: far above what anybody sets up, and few enough for upkeep to read all
 * of them.
 */
const RESOURCES_MAX = 100_000;

export const DEFAULT_TIERS: Tiers = {
  free: {
    name: 'free',
    retriesDefault: 3,
    retriesMax: 100,
    retryDelayMsMin: SECOND_MS,
    bodyBytesMax: MIB,
    delayMsMax: 365 * DAY_MS,
    timeoutMsDefault: 30 * SECOND_MS,
    timeoutMsMax: 15 * MINUTE_MS,
    awaitAckMsMax: DAY_MS,
    endpointsPerTopicMax: 100,
    topicsMax: RESOURCES_MAX,
    queuesMax: RESOURCES_MAX,
    schedulesMax: RESOURCES_MAX,
    messagesPerDayMax: null,
    storedBytesMax: 100 * GIB,
    retentionMs: 3 * DAY_MS,
  },
  paid: {
    name: 'paid',
    retriesDefault: 5,
    retriesMax: 100,
    retryDelayMsMin: 0,
    bodyBytesMax: 10 * MIB,
    delayMsMax: 365 * DAY_MS,
    timeoutMsDefault: 30 * SECOND_MS,
    timeoutMsMax: 2 * HOUR_MS,
    awaitAckMsMax: 7 * DAY_MS,
    endpointsPerTopicMax: 1000,
    topicsMax: RESOURCES_MAX,
    queuesMax: RESOURCES_MAX,
    schedulesMax: RESOURCES_MAX,
    messagesPerDayMax: null,
    storedBytesMax: 1024 * GIB,
    retentionMs: 7 * DAY_MS,
  },
};

/**
 * The maximum for a message on a tier where the limit is null. More is not possible: the column of retries has 32 bits,
 * and a timer of Node.js lasts at most 24.8 days.
 */
export const HARD_LIMITS = {
  retriesMax: 999_999_999,
  delayMsMax: 100 * 365 * DAY_MS,
  timeoutMsMax: 2 ** 31 - 1,
  awaitAckMsMax: 100 * 365 * DAY_MS,
};

/** The range of each limit that the configuration may set, and its meaning, which docs/configuration.md shows. */
export const TIER_LIMITS: Readonly<
  Record<TierLimit, { readonly min: number; readonly canBeUnlimited: boolean; readonly meaning: string }>
> = {
  retriesDefault: {
    min: 0,
    canBeUnlimited: false,
    meaning: 'Retries of a message that sets no number of retries.',
  },
  retriesMax: { min: 0, canBeUnlimited: true, meaning: 'Most retries that a message may set.' },
  retryDelayMsMin: {
    min: 0,
    canBeUnlimited: false,
    meaning:
      'Shortest wait before each retry beyond `retriesDefault`, in milliseconds. Neither a message nor a receiver can make it shorter.',
  },
  bodyBytesMax: { min: 0, canBeUnlimited: true, meaning: 'Largest body of a message, in bytes.' },
  delayMsMax: { min: 0, canBeUnlimited: true, meaning: 'Longest delay before the first attempt, in milliseconds.' },
  timeoutMsDefault: { min: 1, canBeUnlimited: false, meaning: 'Default deadline of one attempt, in milliseconds.' },
  timeoutMsMax: { min: 1, canBeUnlimited: true, meaning: 'Longest deadline that a message may set, in milliseconds.' },
  awaitAckMsMax: {
    min: 1000,
    canBeUnlimited: true,
    meaning: 'Longest time for the ack of an attempt that was answered with 202, with all extensions, in milliseconds.',
  },
  endpointsPerTopicMax: { min: 1, canBeUnlimited: true, meaning: 'Most endpoints of one topic.' },
  topicsMax: { min: 0, canBeUnlimited: true, meaning: 'Most topics.' },
  queuesMax: {
    min: 1,
    canBeUnlimited: true,
    meaning:
      'Most queues. Beyond the limit, the queue API creates none. Queues that messages created count too, but no message is refused because of the limit. Such queues are deleted when they have no messages.',
  },
  schedulesMax: { min: 0, canBeUnlimited: true, meaning: 'Most schedules.' },
  messagesPerDayMax: {
    min: 0,
    canBeUnlimited: true,
    meaning:
      'Most messages in a UTC day. Beyond the limit, publishing is refused and schedules create no messages. Callbacks count, but are never refused.',
  },
  storedBytesMax: {
    min: 0,
    canBeUnlimited: true,
    meaning:
      'Most bytes that an account may store: bodies, headers, responses, and about 1 KiB for each message, topic and schedule. Beyond the limit, publishing gets 412 `storage_exceeded`, and the responses of destinations are not stored. Callbacks count, but are never refused.',
  },
  retentionMs: { min: 0, canBeUnlimited: false, meaning: 'How long an ended message is kept, in milliseconds.' },
};

/** The default tiers with single limits replaced, for instance by `{"free":{"bodyBytesMax":2097152}}`. */
export function tiersWith(overrides: unknown): Tiers | { readonly problems: string[] } {
  if (!isObject(overrides)) return { problems: ['the tiers must be a JSON object such as {"free":{"retriesMax":10}}'] };
  const problems: string[] = [];
  const tiers = { free: { ...DEFAULT_TIERS.free }, paid: { ...DEFAULT_TIERS.paid } };

  for (const [name, limits] of Object.entries(overrides)) {
    if (!isTierName(name)) {
      problems.push(`"${name}" is not a tier; the tiers are free and paid`);
    } else if (!isObject(limits)) {
      problems.push(`"${name}" must be an object of limits`);
    } else {
      problems.push(...replaceLimits(tiers[name], limits));
    }
  }
  if (problems.length === 0) problems.push(...Object.values(tiers).flatMap(contradictions));
  return problems.length > 0 ? { problems } : tiers;
}

/** Replaces the limits that are valid, and returns what is wrong with the others. */
function replaceLimits(tier: Tier, limits: object): string[] {
  const problems: string[] = [];
  for (const [limit, value] of Object.entries(limits)) {
    const wrong = wrongLimit(limit, value);
    if (wrong === null) Object.assign(tier, { [limit]: value });
    else problems.push(`${tier.name}.${limit} ${wrong}`);
  }
  return problems;
}

/** What is wrong with one override, or null. */
function wrongLimit(limit: string, value: unknown): string | null {
  if (!isTierLimit(limit)) return `is not a limit; the limits are ${Object.keys(TIER_LIMITS).join(', ')}`;
  const { min, canBeUnlimited } = TIER_LIMITS[limit];
  if (value === null && canBeUnlimited) return null;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min) return null;
  return `must be a whole number of at least ${min}${canBeUnlimited ? ', or null for unlimited' : ''}`;
}

/** The defaults that are over their maximum: every message that uses such a default would be refused. */
function contradictions(tier: Tier): string[] {
  const problems: string[] = [];
  if (tier.retriesMax !== null && tier.retriesDefault > tier.retriesMax) {
    problems.push(`${tier.name}.retriesDefault (${tier.retriesDefault}) is over its retriesMax (${tier.retriesMax})`);
  }
  if (tier.timeoutMsMax !== null && tier.timeoutMsDefault > tier.timeoutMsMax) {
    problems.push(
      `${tier.name}.timeoutMsDefault (${tier.timeoutMsDefault}) is over its timeoutMsMax (${tier.timeoutMsMax})`,
    );
  }
  return problems;
}

function isTierName(name: string): name is TierName {
  return Object.hasOwn(DEFAULT_TIERS, name);
}

function isTierLimit(limit: string): limit is TierLimit {
  return Object.hasOwn(TIER_LIMITS, limit);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
