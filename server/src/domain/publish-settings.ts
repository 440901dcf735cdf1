// From the headers of a publish (of the request itself, of an element of a batch, of a schedule) to the settings of a
// delivery. Knows names and formats; defaults and limits of the tier are publish.ts's.

import { deduplicationIdProblem } from './deduplication.ts';
import { parseTargetUrl } from './destination.ts';
import { parseDurationMs } from './duration.ts';
import { FLOW_KEY_RULE, isFlowKey, parseFlowControl } from './flow-control.ts';
import { forwardedHeadersProblem, forwardHeaderProblem } from './headers.ts';
import { parseLabels } from './labels.ts';
import { type HeaderList, METHODS, type Method, type NewMessage } from './message.ts';
import { type Problem, type ProblemCode, problem } from './problem.ts';
import type { CallbackRequest, DeliverySettings, PublishRequest } from './publish.ts';
import { parseRedaction } from './redact.ts';
import { parseRetryDelay } from './retry-delay.ts';

export interface HeaderRules {
  readonly headerPrefix: string;
  readonly forwardHeadersMax: number;
  readonly forwardHeaderBytesMax: number;
  readonly hopsMax: number;
}

export type PublishSettings = Omit<PublishRequest, 'destination' | 'queueName' | 'body' | 'callerIp' | 'scheduleId'>;

const DELIVERY = ['Method', 'Retries', 'Retry-Delay', 'Delay', 'Timeout', 'Forward-'];
const CALLBACKS = ['Callback', 'Failure-Callback'];

/** Without the prefix; a name that ends in "-" stands for a family. These may also come as query parameters. */
export const SETTING_NAMES: ReadonlySet<string> = new Set(
  [
    ...DELIVERY,
    ...CALLBACKS.flatMap((callback) => [callback, ...DELIVERY.map((name) => `${callback}-${name}`)]),
    'Not-Before',
    'Header-Forward',
    'Label',
    'Flow-Control-Key',
    'Flow-Control-Value',
    'Order-Key',
    'Deduplication-Id',
    'Content-Based-Deduplication',
    'Redact-Fields',
    'Cron',
    'Schedule-Id',
    'Queue-Name',
  ].map((name) => name.toLowerCase()),
);

/** Passed on when the caller traces: the delivery then belongs to the same trace. */
const TRACE_HEADERS: ReadonlySet<string> = new Set(['traceparent', 'tracestate']);

/** What `Header-Forward` leaves behind besides what no message can forward: secrets, and what frames this request. */
const NOT_FORWARDED_WHOLESALE: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'content-type',
  'content-encoding',
  'idempotency-key',
]);

/** Own headers it does not know are ignored, and never forwarded. */
export function parsePublishSettings(
  headers: HeaderList,
  rules: HeaderRules,
): PublishSettings | { readonly problem: Problem } {
  try {
    const reader = new HeaderReader(headers, rules);
    const settings = reader.settings('');
    return {
      contentType: reader.contentType(),
      settings: { ...settings, forward: reader.withPassedOn(settings.forward) },
      notBefore: reader.notBefore(),
      callback: reader.callback('Callback'),
      failureCallback: reader.callback('Failure-Callback'),
      labels: reader.labels(),
      flow: reader.flow(),
      orderKey: reader.orderKey(),
      deduplication: reader.deduplication(),
      redaction: reader.own('Redact-Fields', valued(parseRedaction)),
      hops: reader.hops(),
    };
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    throw error;
  }
}

/** One own header on its own, such as the `Cron` of a schedule; null when absent or empty. */
export function ownHeader(headers: HeaderList, name: string, headerPrefix: string): string | null {
  const wanted = (headerPrefix + name).toLowerCase();
  const value = headers.find(([each, text]) => each.toLowerCase() === wanted && text.trim() !== '')?.[1];
  return value?.trim() ?? null;
}

/** Never leaves this file. */
class Refused extends Error {
  readonly refusal: { readonly problem: Problem };
  constructor(code: ProblemCode, message: string) {
    super(message);
    this.refusal = problem(code, message);
  }
}

type Parsed<T> = { readonly value: T } | { readonly problem: string };

class HeaderReader {
  readonly #rules: HeaderRules;
  readonly #headers: HeaderList;
  readonly #values = new Map<string, string[]>();

  constructor(headers: HeaderList, rules: HeaderRules) {
    this.#rules = rules;
    // Spec 4.1: a header that is left empty counts as absent.
    this.#headers = headers.filter(([, value]) => value.trim() !== '');
    for (const [name, value] of this.#headers) {
      const key = name.toLowerCase();
      const values = this.#values.get(key);
      if (values) values.push(value.trim());
      else this.#values.set(key, [value.trim()]);
    }
  }

  own<T>(name: string, parse: (text: string) => Parsed<T>): T | null {
    const shownAs = this.#rules.headerPrefix + name;
    const text = this.#only(shownAs);
    if (text === null) return null;
    const parsed = parse(text);
    if ('problem' in parsed) throw new Refused('bad_header', `${shownAs}: ${parsed.problem}`);
    return parsed.value;
  }

  contentType(): string | null {
    const contentType = this.#only('Content-Type');
    if (contentType === null) return null;
    const wrong = forwardHeaderProblem('Content-Type', contentType, this.#rules.headerPrefix);
    if (wrong !== null) throw new Refused('bad_header', `Content-Type: ${wrong}`);
    return contentType;
  }

  settings(group: '' | 'Callback-' | 'Failure-Callback-'): DeliverySettings {
    return {
      method: this.own(`${group}Method`, parseMethod),
      retries: this.own(`${group}Retries`, parseCount),
      retryDelay: this.own(`${group}Retry-Delay`, parseDelayExpression),
      delayMs: this.own(`${group}Delay`, parseDuration),
      timeoutMs: this.own(`${group}Timeout`, parseTimeout),
      forward: this.#forwarded(`${group}Forward-`),
    };
  }

  callback(name: 'Callback' | 'Failure-Callback'): CallbackRequest | null {
    const target = this.own(name, valued(parseTargetUrl));
    return target && { target, settings: this.settings(`${name}-`) };
  }

  notBefore(): number | null {
    return this.own('Not-Before', (text) => {
      const isTime = /^\d{1,11}(\.\d+)?$/.test(text);
      return isTime ? { value: Math.ceil(Number(text) * 1000) } : { problem: 'must be a time in seconds since 1970' };
    });
  }

  labels(): readonly string[] {
    return this.own('Label', valued(parseLabels)) ?? [];
  }

  flow(): NewMessage['flow'] {
    const { headerPrefix } = this.#rules;
    const key = this.own('Flow-Control-Key', (text) =>
      isFlowKey(text) ? { value: text } : { problem: `must be ${FLOW_KEY_RULE}` },
    );
    const limits = this.own('Flow-Control-Value', valued(parseFlowControl));
    if (key !== null && limits) return { key, limits };
    if (key === null && !limits) return null;
    const missing = key === null ? 'Flow-Control-Key' : 'Flow-Control-Value';
    throw new Refused('bad_header', `${headerPrefix}${missing}: missing; key and value belong together`);
  }

  orderKey(): string | null {
    return this.own('Order-Key', (text) =>
      text.length <= 256 ? { value: text } : { problem: 'must have at most 256 characters' },
    );
  }

  deduplication(): PublishRequest['deduplication'] {
    const parse = (text: string): Parsed<string> => {
      const wrong = deduplicationIdProblem(text);
      return wrong === null ? { value: text } : { problem: wrong };
    };
    const id = this.own('Deduplication-Id', parse);
    if (id !== null) return { id };
    const key = this.#only('Idempotency-Key');
    if (key !== null) {
      const parsed = parse(key);
      if ('problem' in parsed) throw new Refused('bad_header', `Idempotency-Key: ${parsed.problem}`);
      return { id: parsed.value };
    }
    return this.own('Content-Based-Deduplication', parseFlag) ? 'byContent' : null;
  }

  hops(): number {
    const hops = this.own('Hops', parseCount) ?? 0;
    if (hops > this.#rules.hopsMax) {
      throw new Refused(
        'loop_detected',
        `this message has come back to the service ${hops} times; its destination is the service itself`,
      );
    }
    return hops;
  }

  /** The trace and, where asked for, all headers of the request that may go on; what was forwarded by name wins. */
  withPassedOn(forward: HeaderList): HeaderList {
    const { headerPrefix } = this.#rules;
    const isWholesale = this.own('Header-Forward', parseFlag) ?? false;
    const named = new Set(forward.map(([name]) => name.toLowerCase()));
    const passedOn = this.#headers.filter(([name, value]) => {
      const lower = name.toLowerCase();
      const isWanted = TRACE_HEADERS.has(lower) || (isWholesale && !NOT_FORWARDED_WHOLESALE.has(lower));
      return isWanted && !named.has(lower) && forwardHeaderProblem(name, value, headerPrefix) === null;
    });
    return passedOn.length === 0 ? forward : [...forward, ...passedOn];
  }

  #forwarded(group: string): HeaderList {
    const { headerPrefix, forwardHeadersMax, forwardHeaderBytesMax } = this.#rules;
    const start = headerPrefix + group;
    const forward: [string, string][] = [];
    for (const [name, value] of this.#headers) {
      if (name.slice(0, start.length).toLowerCase() !== start.toLowerCase()) continue;
      const bare = name.slice(start.length);
      const wrong = forwardHeaderProblem(bare, value, headerPrefix);
      if (wrong !== null) throw new Refused('bad_forward_header', `${start}${bare}: ${wrong}`);
      forward.push([bare, value]);
    }
    const tooMuch = forwardedHeadersProblem(forward, { countMax: forwardHeadersMax, bytesMax: forwardHeaderBytesMax });
    if (tooMuch !== null) throw new Refused('bad_forward_header', `${start}…: ${tooMuch}`);
    return forward;
  }

  /** The value of a header that may stand once. */
  #only(name: string): string | null {
    const values = this.#values.get(name.toLowerCase());
    if (!values) return null;
    if (values.length > 1) throw new Refused('bad_header', `${name}: given ${values.length} times; give it once`);
    return values[0]!;
  }
}

/** From a parser that answers the thing itself. */
function valued<T extends object>(
  parse: (text: string) => T | { readonly problem: string },
): (text: string) => Parsed<T> {
  return (text) => {
    const parsed = parse(text);
    return 'problem' in parsed ? parsed : { value: parsed };
  };
}

function parseMethod(text: string): Parsed<Method> {
  const method = METHODS.find((each) => each === text.toUpperCase());
  return method ? { value: method } : { problem: `must be one of ${METHODS.join(', ')}` };
}

function parseCount(text: string): Parsed<number> {
  return /^\d{1,9}$/.test(text) ? { value: Number(text) } : { problem: 'must be a whole number, 0 or more' };
}

function parseFlag(text: string): Parsed<boolean> {
  const lower = text.toLowerCase();
  return lower === 'true' || lower === 'false' ? { value: lower === 'true' } : { problem: 'must be true or false' };
}

function parseDuration(text: string): Parsed<number> {
  const ms = parseDurationMs(text);
  return ms === null ? { problem: 'must be a duration such as 90s, 5m, 1d12h or 250ms' } : { value: ms };
}

function parseTimeout(text: string): Parsed<number> {
  const ms = parseDurationMs(text);
  return ms === null || ms === 0 ? { problem: 'must be a duration over 0, such as 30s or 2m' } : { value: ms };
}

function parseDelayExpression(text: string): Parsed<string> {
  const parsed = parseRetryDelay(text);
  return 'problem' in parsed ? parsed : { value: text };
}
