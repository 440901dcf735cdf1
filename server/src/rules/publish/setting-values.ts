// Parses the values of publish headers: each text becomes a value, or a reason why it is invalid. header-reader.ts and
// publish-settings.ts say which header takes which value.

import { ACK_MS_MIN } from '../acks/ack.ts';
import type { Expiry } from '../delivery/expiry.ts';
import { METHODS, type Method } from '../delivery/message.ts';
import { PRIORITY_MAX } from '../delivery/priority.ts';
import { parseRetryDelay } from '../delivery/retry-delay.ts';
import { type GivenOutage, OUTAGES } from '../hosts/parking.ts';
import { FLOW_KEY_RULE, isFlowKey, parseFlowControl } from '../lines/flow-control.ts';
import { JITTER_MS_MAX, OVERLAPS, type Overlap } from '../schedules/schedule.ts';
import { formatDurationMs, parseAnyDurationMs } from '../time/duration.ts';
import { parseSeconds } from '../time/written-time.ts';
import { deduplicationIdProblem } from './deduplication.ts';
import { parseTargetUrl } from './destination.ts';
import { parseLabels } from './labels.ts';
import { parseRedaction } from './redact.ts';

export type Parsed<T> = { readonly value: T } | { readonly problem: string };

/** Wraps a parser that returns the parsed object itself, without a `value` around it. */
function valued<T extends object>(
  parse: (text: string) => T | { readonly problem: string },
): (text: string) => Parsed<T> {
  return (text) => {
    const parsed = parse(text);
    return 'problem' in parsed ? parsed : { value: parsed };
  };
}

export const parseCallbackUrl = valued(parseTargetUrl);
export const parseLabelList = valued(parseLabels);
export const parseFlowLimits = valued(parseFlowControl);
export const parseRedactFields = valued(parseRedaction);

export function parseMethod(text: string): Parsed<Method> {
  const method = METHODS.find((each) => each === text.toUpperCase());
  return method ? { value: method } : { problem: `must be one of ${METHODS.join(', ')}` };
}

/** Accepts a number of any size: the limits of the tier decide what is too much. */
export function parseCount(text: string): Parsed<number> {
  if (!/^\d+$/.test(text)) return { problem: 'must be a whole number, 0 or more' };
  return { value: Math.min(Number(text), Number.MAX_SAFE_INTEGER) };
}

export function parseText(text: string): Parsed<string> {
  return { value: text };
}

export function parseFlag(text: string): Parsed<boolean> {
  const lower = text.toLowerCase();
  return lower === 'true' || lower === 'false' ? { value: lower === 'true' } : { problem: 'must be true or false' };
}

export function parseDuration(text: string): Parsed<number> {
  const ms = parseAnyDurationMs(text);
  return ms === null ? { problem: 'must be a duration such as 90s, 5m, 1d12h or 250ms' } : { value: ms };
}

export function parseTimeout(text: string): Parsed<number> {
  const ms = parseAnyDurationMs(text);
  return ms === null || ms === 0 ? { problem: 'must be a duration over 0, such as 30s or 2m' } : { value: ms };
}

export function parseAwaitAck(text: string): Parsed<number> {
  const ms = parseAnyDurationMs(text);
  return ms === null || ms < ACK_MS_MIN ? { problem: 'must be a duration of at least 1s, such as 30m' } : { value: ms };
}

export function parseOverlap(text: string): Parsed<Overlap> {
  const overlap = OVERLAPS.find((each) => each === text.toLowerCase());
  return overlap ? { value: overlap } : { problem: `must be one of ${OVERLAPS.join(', ')}` };
}

export function parseJitter(text: string): Parsed<number> {
  const ms = parseAnyDurationMs(text);
  const max = formatDurationMs(JITTER_MS_MAX);
  return ms === null || ms > JITTER_MS_MAX
    ? { problem: `must be a duration of at most ${max}, such as 30s or 5m` }
    : { value: ms };
}

export function parseExpires(text: string): Parsed<Expiry> {
  const parsed = parseTimeout(text);
  return 'problem' in parsed ? parsed : { value: { afterMs: parsed.value } };
}

export function parseExpiresAt(text: string): Parsed<Expiry> {
  const parsed = parseSeconds(text);
  return 'problem' in parsed ? parsed : { value: { at: parsed.value } };
}

export function parseDelayExpression(text: string): Parsed<string> {
  const parsed = parseRetryDelay(text);
  return 'problem' in parsed ? parsed : { value: text };
}

export function parsePriority(text: string): Parsed<number> {
  const parsed = parseCount(text);
  return 'problem' in parsed || parsed.value > PRIORITY_MAX
    ? { problem: `must be a whole number from 0 to ${PRIORITY_MAX}` }
    : parsed;
}

export function parseOutage(text: string): Parsed<GivenOutage> {
  const outage = OUTAGES.find((each) => each === text.toLowerCase());
  return outage ? { value: outage } : { problem: `must be one of ${OUTAGES.join(', ')}` };
}

/** Returns the whole number of the percentage. */
export function parsePercentage(text: string): Parsed<number> {
  const percent = /^(\d{1,3})%$/.exec(text)?.[1];
  return percent === undefined || Number(percent) > 100
    ? { problem: 'must be a whole percentage from 0% to 100%, such as 20%' }
    : { value: Number(percent) };
}

export function parseFlowKey(text: string): Parsed<string> {
  return isFlowKey(text) ? { value: text } : { problem: `must be ${FLOW_KEY_RULE}` };
}

export function parseOrderKey(text: string): Parsed<string> {
  return text.length <= 256 ? { value: text } : { problem: 'must have at most 256 characters' };
}

export function parseDeduplicationId(text: string): Parsed<string> {
  const wrong = deduplicationIdProblem(text);
  return wrong === null ? { value: text } : { problem: wrong };
}
