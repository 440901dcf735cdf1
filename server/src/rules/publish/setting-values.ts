// Parses the values of publish headers: each text becomes a value, or a reason why it is invalid. header-reader.ts and
// publish-settings.ts say which header takes which value.

import { METHODS, type Method } from '../delivery/message.ts';
import { parseRetryDelay } from '../delivery/retry-delay.ts';
import { FLOW_KEY_RULE, isFlowKey, parseFlowControl } from '../lines/flow-control.ts';
import { parseAnyDurationMs } from '../time/duration.ts';
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

export function asText(text: string): Parsed<string> {
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

export function parseDelayExpression(text: string): Parsed<string> {
  const parsed = parseRetryDelay(text);
  return 'problem' in parsed ? parsed : { value: text };
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
