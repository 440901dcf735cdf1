// From the headers of a publish (of the request itself, or of an element of a batch) to the settings of a delivery.
// Knows names and formats; defaults and limits of the tier are domain/publish.ts's.

import { parseTargetUrl } from '../domain/destination.ts';
import { parseDurationMs } from '../domain/duration.ts';
import { forwardedHeadersProblem, forwardHeaderProblem } from '../domain/headers.ts';
import { type HeaderList, METHODS, type Method } from '../domain/message.ts';
import type { CallbackRequest, DeliverySettings, PublishRequest } from '../domain/publish.ts';
import { parseRetryDelay } from '../domain/retry-delay.ts';
import { ApiError } from './errors.ts';

export interface HeaderRules {
  readonly headerPrefix: string;
  readonly forwardHeadersMax: number;
  readonly forwardHeaderBytesMax: number;
  readonly hopsMax: number;
}

export type ParsedHeaders = Pick<
  PublishRequest,
  'contentType' | 'settings' | 'notBefore' | 'callback' | 'failureCallback' | 'hops'
>;

/** Passed on when the caller traces: the delivery then belongs to the same trace. */
const TRACE_HEADERS: ReadonlySet<string> = new Set(['traceparent', 'tracestate']);

/** Throws an ApiError that names the header. Own headers it does not know are ignored, and never forwarded. */
export function parsePublishHeaders(headers: HeaderList, rules: HeaderRules): ParsedHeaders {
  const reader = new HeaderReader(headers, rules);
  const contentType = reader.only('Content-Type', 'Content-Type');
  if (contentType !== null) {
    const wrong = forwardHeaderProblem('Content-Type', contentType, rules.headerPrefix);
    if (wrong !== null) throw new ApiError('bad_header', `Content-Type: ${wrong}`);
  }
  return {
    contentType,
    settings: reader.settings(
      '',
      headers.filter(([name, value]) => TRACE_HEADERS.has(name.toLowerCase()) && value !== ''),
    ),
    notBefore: reader.notBefore(),
    callback: reader.callback('Callback'),
    failureCallback: reader.callback('Failure-Callback'),
    hops: reader.hops(),
  };
}

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

  /** The value of a header that may stand once. */
  only(name: string, shownAs: string): string | null {
    const values = this.#values.get(name.toLowerCase());
    if (!values) return null;
    if (values.length > 1) throw new ApiError('bad_header', `${shownAs}: given ${values.length} times; give it once`);
    return values[0]!;
  }

  settings(group: '' | 'Callback-' | 'Failure-Callback-', trace: HeaderList): DeliverySettings {
    return {
      method: this.#own(`${group}Method`, parseMethod),
      retries: this.#own(`${group}Retries`, parseCount),
      retryDelay: this.#own(`${group}Retry-Delay`, parseDelayExpression),
      delayMs: this.#own(`${group}Delay`, parseDuration),
      timeoutMs: this.#own(`${group}Timeout`, parseTimeout),
      forward: this.#forwarded(`${group}Forward-`, trace),
    };
  }

  callback(name: 'Callback' | 'Failure-Callback'): CallbackRequest | null {
    const target = this.#own(name, (text) => {
      const parsed = parseTargetUrl(text);
      return 'problem' in parsed ? parsed : { value: parsed };
    });
    return target && { target, settings: this.settings(`${name}-`, []) };
  }

  notBefore(): number | null {
    return this.#own('Not-Before', (text) => {
      const isTime = /^\d{1,11}(\.\d+)?$/.test(text);
      return isTime ? { value: Math.ceil(Number(text) * 1000) } : { problem: 'must be a time in seconds since 1970' };
    });
  }

  hops(): number {
    const hops = this.#own('Hops', parseCount) ?? 0;
    if (hops > this.#rules.hopsMax) {
      throw new ApiError(
        'loop_detected',
        `this message has come back to the service ${hops} times; its destination is the service itself`,
      );
    }
    return hops;
  }

  #own<T>(name: string, parse: (text: string) => { readonly value: T } | { readonly problem: string }): T | null {
    const shownAs = this.#rules.headerPrefix + name;
    const text = this.only(shownAs, shownAs);
    if (text === null) return null;
    const parsed = parse(text);
    if ('problem' in parsed) throw new ApiError('bad_header', `${shownAs}: ${parsed.problem}`);
    return parsed.value;
  }

  #forwarded(group: string, trace: HeaderList): HeaderList {
    const { headerPrefix, forwardHeadersMax, forwardHeaderBytesMax } = this.#rules;
    const start = headerPrefix + group;
    const forward: [string, string][] = [];
    for (const [name, value] of this.#headers) {
      if (name.length < start.length || name.slice(0, start.length).toLowerCase() !== start.toLowerCase()) continue;
      const bare = name.slice(start.length);
      const wrong = forwardHeaderProblem(bare, value, headerPrefix);
      if (wrong !== null) throw new ApiError('bad_forward_header', `${start}${bare}: ${wrong}`);
      forward.push([bare, value]);
    }
    const tooMuch = forwardedHeadersProblem(forward, { countMax: forwardHeadersMax, bytesMax: forwardHeaderBytesMax });
    if (tooMuch !== null) throw new ApiError('bad_forward_header', `${start}…: ${tooMuch}`);
    const isForwarded = (name: string) => forward.some(([other]) => other.toLowerCase() === name.toLowerCase());
    const passedOn = trace.filter(
      ([name, value]) => !isForwarded(name) && forwardHeaderProblem(name, value, headerPrefix) === null,
    );
    return [...forward, ...passedOn];
  }
}

function parseMethod(text: string): { value: Method } | { problem: string } {
  const method = METHODS.find((each) => each === text.toUpperCase());
  return method ? { value: method } : { problem: `must be one of ${METHODS.join(', ')}` };
}

function parseCount(text: string): { value: number } | { problem: string } {
  return /^\d{1,9}$/.test(text) ? { value: Number(text) } : { problem: 'must be a whole number, 0 or more' };
}

function parseDuration(text: string): { value: number } | { problem: string } {
  const ms = parseDurationMs(text);
  return ms === null ? { problem: 'must be a duration such as 90s, 5m, 1d12h or 250ms' } : { value: ms };
}

function parseTimeout(text: string): { value: number } | { problem: string } {
  const ms = parseDurationMs(text);
  return ms === null || ms === 0 ? { problem: 'must be a duration over 0, such as 30s or 2m' } : { value: ms };
}

function parseDelayExpression(text: string): { value: string } | { problem: string } {
  const parsed = parseRetryDelay(text);
  return 'problem' in parsed ? parsed : { value: text };
}
