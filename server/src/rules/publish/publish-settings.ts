// Turns the headers of a publish (of a request, an element of a batch, or a schedule) into the settings of a delivery.
// This file knows names and formats; publish.ts knows defaults and the limits of the tier.

import { type Descent, NO_DESCENT, stricterDescent } from '../delivery/descent.ts';
import { type HeaderList, NO_SETTINGS } from '../delivery/message.ts';
import { type Problem, problem } from '../requests/problem.ts';
import type { Overlap } from '../schedules/schedule.ts';
import { parseSeconds } from '../time/written-time.ts';
import { HeaderReader, HeaderRefused, type HeaderRules } from './header-reader.ts';
import type { PublishRequest } from './publish.ts';
import {
  parseAwaitAck,
  parseJitter,
  parseLabelList,
  parseOrderKey,
  parseOutage,
  parseOverlap,
  parsePriority,
  parseRedactFields,
  parseText,
} from './setting-values.ts';

export { type HeaderRules, headerLimits, KNOWN_SETTINGS } from './header-reader.ts';

/** What a publish has beside its headers. */
export interface PublishParts extends Pick<PublishRequest, 'queueName' | 'body' | 'callerIp' | 'scheduleId'> {
  /** How the request descends from one of our deliveries, if it does. */
  readonly descent: Descent;
}

export interface ParsedPublishRequest extends PublishRequest {
  /** The cron expression as given. Only a schedule may have it and the next two. */
  readonly cron: string | null;
  readonly overlap: Overlap | null;
  readonly jitterMs: number | null;
  /** The names, without our prefix, of settings for a callback that the request does not have. They have no effect. */
  readonly unusedNames: readonly string[];
  /**
   * The names of headers without an effect. Names that are not settings, and the unused settings of the publish itself,
   * come without our prefix. Settings of another service come with the prefix of that service.
   */
  readonly unknownNames: readonly string[];
}

export type PublishSettings = Omit<ParsedPublishRequest, 'destination' | Exclude<keyof PublishParts, 'descent'>>;

/** For settings that are parsed without a request. */
const NO_ORIGIN: PublishParts = {
  queueName: null,
  body: new Uint8Array(0),
  callerIp: null,
  scheduleId: null,
  descent: NO_DESCENT,
};

export function parsePublishSettings(
  headers: HeaderList,
  rules: HeaderRules,
): PublishSettings | { readonly problem: Problem } {
  return readRequest(null, headers, NO_ORIGIN, rules);
}

/** Reads a publish from its headers. Unknown headers with our prefix are not forwarded, and named in `unknownNames`. */
export function readRequest<D extends PublishRequest['destination'] | null>(
  destination: D,
  headers: HeaderList,
  origin: PublishParts,
  rules: HeaderRules,
): (Omit<ParsedPublishRequest, 'destination'> & { readonly destination: D }) | { readonly problem: Problem } {
  try {
    const reader = new HeaderReader(headers, rules);
    reader.requireSupported();
    // The order of these calls matters, because the caller gets the first problem.
    const named = reader.settings('');
    const contentType = reader.contentType();
    const forward = reader.withPassedOnHeaders(named.forward);
    reader.requireDeliverable(contentType, forward);
    // Written out as one object literal, because spreading parts would be several times slower.
    return {
      destination,
      queueName: origin.queueName,
      contentType,
      settings: forward === named.forward ? named : { ...named, forward },
      notBefore: reader.own('Not-Before', parseSeconds),
      expiry: reader.expiry(),
      callback: reader.callback('Callback'),
      failureCallback: reader.callback('Failure-Callback'),
      labels: reader.own('Label', parseLabelList) ?? NO_SETTINGS.labels,
      flow: reader.flow(),
      orderKey: reader.own('Order-Key', parseOrderKey),
      priority: reader.own('Priority', parsePriority),
      outage: reader.own('Outage', parseOutage),
      awaitAckMs: reader.own('Await-Ack', parseAwaitAck),
      deduplication: reader.deduplication(),
      debounce: reader.debounce(),
      redaction: reader.own('Redact-Fields', parseRedactFields),
      body: origin.body,
      callerIp: origin.callerIp,
      // The headers can only tighten the limits that follow from where the request comes from.
      hops: Math.max(reader.hops(), origin.descent.hops),
      descendantsLeft: stricterDescent(reader.descendantsLeft(), origin.descent.left),
      scheduleId: origin.scheduleId,
      cron: reader.own('Cron', parseText),
      overlap: reader.own('Schedule-Overlap', parseOverlap),
      jitterMs: reader.own('Schedule-Jitter', parseJitter),
      unusedNames: reader.unusedNames(),
      unknownNames: reader.unknownNames(),
    };
  } catch (error) {
    if (error instanceof HeaderRefused) return error.refusal;
    throw error;
  }
}

/**
 * Reads from the headers of a request how it descends from our deliveries. Returns a problem if the chain of these
 * deliveries has passed through this service too often.
 */
export function parseDescent(headers: HeaderList, rules: HeaderRules): Descent | { readonly problem: Problem } {
  const prefix = rules.headerPrefix.toLowerCase();
  const names = ['hops', 'descendants-left'].flatMap((name) => [prefix + name, `${prefix}forward-${prefix}${name}`]);
  const own = headers.filter(([name]) => names.includes(name.toLowerCase()));
  if (own.length === 0) return NO_DESCENT;
  try {
    const reader = new HeaderReader(own, rules);
    return { hops: reader.hops(), left: reader.descendantsLeft() };
  } catch (error) {
    if (error instanceof HeaderRefused) return error.refusal;
    throw error;
  }
}

/** The value of a single header with our prefix, such as the `Cron` of a schedule. Null when it is absent or empty. */
export function prefixedHeader(headers: HeaderList, name: string, headerPrefix: string): string | null {
  const wanted = (headerPrefix + name).toLowerCase();
  const value = headers.find(([each, text]) => each.toLowerCase() === wanted && text.trim() !== '')?.[1];
  return value?.trim() ?? null;
}

/**
 * Why a publish with these settings is refused, or null. Only a schedule may have a cron expression and what goes with
 * it: if the cron of a publish were ignored, the caller would wait for ticks in vain.
 */
export function scheduleOnlyProblem(
  { cron, overlap, jitterMs }: PublishSettings,
  { headerPrefix }: HeaderRules,
): { problem: Problem } | null {
  if (cron === null && overlap === null && jitterMs === null) return null;
  const name = cron !== null ? 'Cron' : overlap !== null ? 'Schedule-Overlap' : 'Schedule-Jitter';
  return problem(
    'bad_header',
    `${headerPrefix}${name}: only for a schedule; create one with POST /v2/schedules/{destination}`,
  );
}
