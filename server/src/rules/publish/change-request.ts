// Turns the request to change a message into a change, by the rules of a publish: the same names, formats and limits.
// Settings that decide where a message waits or whether it is accepted cannot be changed, and are refused.

import type { ChangedCallback, MessageChange } from '../delivery/change.ts';
import { type Descent, stricterDescent } from '../delivery/descent.ts';
import type { HeaderList } from '../delivery/message.ts';
import type { Tier } from '../limits/tier.ts';
import { type Problem, problem } from '../requests/problem.ts';
import { parseSeconds } from '../time/written-time.ts';
import { parseDestination } from './destination.ts';
import { TRACE_HEADERS } from './header-meaning.ts';
import { type CallbackRequest, dueAt, limitProblem, type PlanTime, startsBefore } from './publish.ts';
import { type HeaderRules, headerLimits, type PublishSettings, parsePublishSettings } from './publish-settings.ts';
import { parseDuration } from './setting-values.ts';

/** What a caller gives to change a message. Null: not given. */
export interface ChangeRequest {
  readonly delay: string | number | null;
  readonly notBefore: string | number | null;
  readonly url: string | null;
  readonly body: Uint8Array | null;
  readonly headers: HeaderList;
}

/** How the request came. */
export interface ChangeOrigin {
  readonly versions: readonly string[] | null;
  readonly descent: Descent;
}

export interface ReadChange {
  readonly change: MessageChange;
  readonly unknownNames: readonly string[];
}

type Refused = { readonly problem: Problem };

const PLACE = 'it decides where the message waits, which cannot be changed; cancel the message and publish a new one';
const IDENTITY = 'a message is deduplicated when it is accepted, which cannot be changed';
const DEBOUNCE = 'publish a message with the same key instead: it takes the place of the one that waits';
const SCHEDULE = 'only for a schedule';

/** Headers that a change must not have, in lower case and without the prefix, and why. */
const FIXED: ReadonlyMap<string, string> = new Map([
  ['order-key', PLACE],
  ['flow-control-key', PLACE],
  ['flow-control-value', PLACE],
  ['queue-name', PLACE],
  ['deduplication-id', IDENTITY],
  ['content-based-deduplication', IDENTITY],
  ['debounce-key', DEBOUNCE],
  ['debounce', DEBOUNCE],
  ['debounce-max', DEBOUNCE],
  ['cron', SCHEDULE],
  ['schedule-id', SCHEDULE],
  ['schedule-overlap', SCHEDULE],
  ['schedule-jitter', SCHEDULE],
]);

export function readChange(
  request: ChangeRequest,
  origin: ChangeOrigin,
  tier: Tier,
  time: PlanTime,
  rules: HeaderRules,
): ReadChange | Refused {
  const { headerPrefix } = rules;
  const fixed = fixedProblem(request.headers, headerPrefix);
  if (fixed) return fixed;
  const settings = parsePublishSettings(request.headers, rules);
  if ('problem' in settings) return settings;
  const unused = unusedProblem(settings, headerPrefix);
  if (unused) return unused;
  const timing = readTiming(request, settings, headerPrefix);
  if ('problem' in timing) return timing;
  const to = readTarget(request.url);
  if ('problem' in to) return to;
  const due = {
    settings: { ...settings.settings, delayMs: timing.delayMs },
    notBefore: timing.notBefore,
    debounce: null,
  };
  const { callback, failureCallback } = settings;
  const body = request.body ?? new Uint8Array(0);
  const limited = {
    ...due,
    expiry: settings.expiry,
    callback,
    failureCallback,
    body,
    flow: null,
    orderKey: null,
    priority: null,
    queueName: null,
    awaitAckMs: settings.awaitAckMs,
  };
  const tooMuch = limitProblem(limited, tier, time, headerPrefix);
  if (tooMuch) return tooMuch;
  const isTimeGiven = timing.delayMs !== null || timing.notBefore !== null;
  const change: MessageChange = {
    ...changeOf(settings, tier),
    dueAt: isTimeGiven ? dueAt(due, time) : null,
    mustStartBefore: startsBefore(settings, time),
    ...to,
    body: request.body,
    versions: origin.versions,
    // As in a publish: the headers can only tighten the limits that follow from where the request comes from.
    descent: {
      hops: Math.max(settings.hops, origin.descent.hops),
      left: stricterDescent(settings.descendantsLeft, origin.descent.left),
    },
    headerLimits: headerLimits(rules),
  };
  return { change, unknownNames: settings.unknownNames };
}

type FromSettings = Omit<
  MessageChange,
  'dueAt' | 'mustStartBefore' | 'target' | 'body' | 'versions' | 'descent' | 'headerLimits'
>;

function changeOf({ settings, contentType, labels, redaction, ...given }: PublishSettings, tier: Tier): FromSettings {
  const isTrace = ([name]: HeaderList[number]) => TRACE_HEADERS.has(name.toLowerCase());
  const forward = settings.forward.filter((header) => !isTrace(header));
  return {
    contentType,
    forward: forward.length === 0 ? null : forward,
    trace: settings.forward.filter(isTrace),
    method: settings.method,
    retriesMax: settings.retries,
    retryDelay: settings.retryDelay,
    retryJitter: settings.retryJitter,
    timeoutMs: settings.timeoutMs,
    callback: given.callback && changedCallback(given.callback, tier),
    failureCallback: given.failureCallback && changedCallback(given.failureCallback, tier),
    labels: labels.length === 0 ? null : labels,
    priority: given.priority,
    outage: given.outage,
    awaitAckMs: given.awaitAckMs,
    redaction,
  };
}

function changedCallback({ target, settings }: CallbackRequest, tier: Tier): ChangedCallback {
  return {
    url: target.url,
    method: settings.method ?? 'POST',
    headers: settings.forward,
    retriesMax: settings.retries,
    retryDelay: settings.retryDelay,
    retryJitter: settings.retryJitter,
    delayMs: settings.delayMs ?? 0,
    timeoutMs: settings.timeoutMs ?? tier.timeoutMsDefault,
  };
}

/** A setting of a callback that the request does not have would change nothing. */
function unusedProblem({ unusedNames: [name] }: PublishSettings, headerPrefix: string): Refused | null {
  if (name === undefined) return null;
  const callback = name.startsWith('Failure-') ? 'Failure-Callback' : 'Callback';
  const why = `give ${headerPrefix}${callback} too; a callback is replaced as a whole, with its settings`;
  return problem('bad_header', `${headerPrefix}${name}: ${why}`);
}

function readTarget(text: string | null): Pick<MessageChange, 'target'> | Refused {
  if (text === null) return { target: null };
  const parsed = parseDestination(text);
  if ('problem' in parsed) return problem('bad_destination', `url: ${parsed.problem}`);
  if (parsed.kind === 'url') return { target: { url: parsed.target.url, host: parsed.target.host } };
  return problem('bad_destination', 'url: must be a URL, not a topic: a message has a single destination');
}

function fixedProblem(headers: HeaderList, headerPrefix: string): Refused | null {
  const prefix = headerPrefix.toLowerCase();
  for (const [name, value] of headers) {
    if (value.trim() === '') continue;
    const lower = name.toLowerCase();
    const why =
      lower === 'idempotency-key' ? IDENTITY : lower.startsWith(prefix) ? FIXED.get(lower.slice(prefix.length)) : null;
    if (why != null) return problem('bad_header', `${name}: ${why}`);
  }
  return null;
}

interface Timing {
  readonly delayMs: number | null;
  readonly notBefore: number | null;
}

/** The new time: from the body or from the headers, because two different times would contradict each other. */
function readTiming(
  { delay, notBefore }: ChangeRequest,
  { settings, notBefore: ofHeader }: PublishSettings,
  headerPrefix: string,
): Timing | Refused {
  const isInHeaders = settings.delayMs !== null || ofHeader !== null;
  if (delay === null && notBefore === null) return { delayMs: settings.delayMs, notBefore: ofHeader };
  if (delay !== null && notBefore !== null) return problem('bad_body', 'give delay or notBefore, not both');
  if (isInHeaders) {
    const names = `the headers ${headerPrefix}Delay and ${headerPrefix}Not-Before`;
    return problem('bad_body', `give the time once: in delay or notBefore, or in ${names}`);
  }
  const [name, parsed] =
    delay === null ? ['notBefore', parseSeconds(text(notBefore!))] : ['delay', parseDuration(text(delay))];
  if ('problem' in parsed) return problem('bad_body', `${name}: ${parsed.problem}`);
  return delay === null ? { delayMs: null, notBefore: parsed.value } : { delayMs: parsed.value, notBefore: null };
}

function text(value: string | number): string {
  return String(value).trim();
}
