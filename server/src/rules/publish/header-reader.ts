// Reads the headers of a publish: each setting by its name and format, what is forwarded, and what has no effect.

import { withEntry, withPair } from '../../runtime/collections/short-list.ts';
import { stricterDescent } from '../delivery/descent.ts';
import type { Expiry } from '../delivery/expiry.ts';
import type { HeaderList, NewMessage } from '../delivery/message.ts';
import { eachMax } from '../limits/budgets.ts';
import { type Problem, type ProblemCode, problem } from '../requests/problem.ts';
import { isForQstashClients } from '../requests/qstash.ts';
import { meaningOf, TRACE_HEADERS } from './header-meaning.ts';
import {
  deliveredHeadersProblem,
  forwardedHeadersProblem,
  forwardHeaderProblem,
  type HeaderLimits,
  isServiceHeader,
} from './headers.ts';
import type { CallbackRequest, DeliverySettings, PublishRequest } from './publish.ts';
import { CALLBACK_NAMES, SETTING_NAMES } from './setting-table.ts';
import {
  type Parsed,
  parseCallbackUrl,
  parseCount,
  parseDeduplicationId,
  parseDelayExpression,
  parseDuration,
  parseExpires,
  parseExpiresAt,
  parseFlag,
  parseFlowKey,
  parseFlowLimits,
  parseMethod,
  parsePercentage,
  parseTimeout,
} from './setting-values.ts';
import { unsupportedProblem } from './unsupported-headers.ts';

export interface HeaderRules {
  readonly headerPrefix: string;
  readonly forwardHeadersMax: number;
  readonly forwardHeaderBytesMax: number;
  readonly hopsMax: number;
}

/**
 * The names of all settings, without the prefix, in lower case. A name that ends in "-" is a family: the caller chooses
 * the rest of the name. All settings may also come as query parameters.
 */
export const KNOWN_SETTINGS: ReadonlySet<string> = new Set(SETTING_NAMES.map((name) => name.toLowerCase()));

const FORWARD_FAMILIES: ReadonlyMap<string, string> = new Map(
  CALLBACK_NAMES.map((name) => [name, `${name}-Forward-`.toLowerCase()]),
);
const FAMILIES = [...KNOWN_SETTINGS].filter((name) => name.endsWith('-'));

/**
 * Headers that `Header-Forward` does not forward: secrets, and headers that describe the publish itself. Headers that
 * can never be forwarded are not in this set.
 */
const NOT_FORWARDED_WHOLESALE: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'content-type',
  'content-encoding',
  'idempotency-key',
]);

const VALUE_LENGTH_MAX = eachMax('settingLength');

const NO_HEADERS: HeaderList = [];
const NO_NAMES: readonly string[] = [];

export function headerLimits({ forwardHeadersMax, forwardHeaderBytesMax }: HeaderRules): HeaderLimits {
  return { countMax: forwardHeadersMax, bytesMax: forwardHeaderBytesMax };
}

/** Thrown by the reader when a header is refused; its callers catch it. */
export class HeaderRefused extends Error {
  readonly refusal: { readonly problem: Problem };
  constructor(code: ProblemCode, message: string) {
    super(message);
    this.refusal = problem(code, message);
  }
}

/** A header with our prefix whose name is not that of a setting: it belongs to a family, or is unknown. */
interface Other {
  /** The name without the prefix. */
  readonly lowerName: string;
  readonly name: string;
  readonly value: string;
}

const NO_OTHERS: readonly Other[] = [];
const FORWARD = 'forward-';

function isOfFamily(lowerName: string): boolean {
  for (const family of FAMILIES) if (lowerName.startsWith(family)) return true;
  return false;
}

/**
 * Reads the headers once and stores only headers with a meaning. Most settings are absent from most messages, and
 * finding that a setting is absent then costs almost nothing.
 */
export class HeaderReader {
  readonly #rules: HeaderRules;
  readonly #headers: HeaderList;
  /** A flat list: a name, its value, the next name, … It is short, so a map would cost more than it saves. */
  #stored: string[] | null = null;
  #others: Other[] | null = null;
  #foreign: string[] | null = null;
  #hasTrace = false;

  constructor(headers: HeaderList, rules: HeaderRules) {
    this.#rules = rules;
    this.#headers = headers;
    for (const header of headers) {
      const name = header[0];
      const value = header[1];
      const trimmed = value.trim();
      // Spec 4.1: a header that is left empty counts as absent.
      if (trimmed === '') continue;
      const meaning = meaningOf(name, rules.headerPrefix);
      if (meaning.storedAs === null) this.#noteOther(meaning, name, value);
      else this.#stored = withPair(this.#stored, meaning.storedAs, trimmed);
    }
  }

  #noteOther({ isTrace, isForeign, otherName }: ReturnType<typeof meaningOf>, name: string, value: string): void {
    if (isTrace) this.#hasTrace = true;
    else if (isForeign) this.#foreign = withEntry(this.#foreign, name);
    else if (otherName !== null) this.#others = withEntry(this.#others, { lowerName: otherName, name, value });
  }

  /** The parsed value of the header with our prefix and this name, or null when it is absent. */
  own<T>(name: string, parse: (text: string) => Parsed<T>): T | null {
    const at = this.#find(name, 0);
    if (at === -1) return null;
    const shownAs = this.#rules.headerPrefix + name;
    const value = this.#only(at, shownAs);
    // The length is checked before the value is parsed: in a batch, a value may be as long as the whole request.
    if (value.length > VALUE_LENGTH_MAX) {
      throw new HeaderRefused(
        'bad_header',
        `${shownAs}: has ${value.length} characters; the limit is ${VALUE_LENGTH_MAX}`,
      );
    }
    const parsed = parse(value);
    if ('problem' in parsed) throw new HeaderRefused('bad_header', `${shownAs}: ${parsed.problem}`);
    return parsed.value;
  }

  contentType(): string | null {
    const contentType = this.#plain('Content-Type');
    if (contentType === null) return null;
    const wrong = forwardHeaderProblem('Content-Type', contentType, this.#rules.headerPrefix);
    if (wrong !== null) throw new HeaderRefused('bad_header', `Content-Type: ${wrong}`);
    return contentType;
  }

  settings(group: '' | 'Callback-' | 'Failure-Callback-'): DeliverySettings {
    return {
      method: this.own(`${group}Method`, parseMethod),
      retries: this.own(`${group}Retries`, parseCount),
      retryDelay: this.own(`${group}Retry-Delay`, parseDelayExpression),
      retryJitter: this.own(`${group}Retry-Jitter`, parsePercentage),
      delayMs: this.own(`${group}Delay`, parseDuration),
      timeoutMs: this.own(`${group}Timeout`, parseTimeout),
      forward: this.#forwarded(`${group}Forward-`),
    };
  }

  callback(name: 'Callback' | 'Failure-Callback'): CallbackRequest | null {
    const target = this.own(name, parseCallbackUrl);
    return target && { target, settings: this.settings(`${name}-`) };
  }

  expiry(): Expiry | null {
    const after = this.own('Expires', parseExpires);
    const at = this.own('Expires-At', parseExpiresAt);
    if (after === null || at === null) return after ?? at;
    const { headerPrefix } = this.#rules;
    throw new HeaderRefused('bad_header', `${headerPrefix}Expires: give it or ${headerPrefix}Expires-At, not both`);
  }

  debounce(): PublishRequest['debounce'] {
    const { headerPrefix } = this.#rules;
    const key = this.own('Debounce-Key', parseFlowKey);
    const windowMs = this.own('Debounce', parseTimeout);
    const maxMs = this.own('Debounce-Max', parseTimeout);
    if (key !== null && windowMs !== null) {
      if (maxMs === null || maxMs >= windowMs) return { key, windowMs, maxMs };
      const wrong = `must be at least as long as ${headerPrefix}Debounce`;
      throw new HeaderRefused('bad_header', `${headerPrefix}Debounce-Max: ${wrong}`);
    }
    if (key === null && windowMs === null && maxMs === null) return null;
    const missing = key === null ? 'Debounce-Key' : 'Debounce';
    throw new HeaderRefused(
      'bad_header',
      `${headerPrefix}${missing}: missing; give Debounce-Key and Debounce together`,
    );
  }

  flow(): NewMessage['flow'] {
    const { headerPrefix } = this.#rules;
    const key = this.own('Flow-Control-Key', parseFlowKey);
    const limits = this.own('Flow-Control-Value', parseFlowLimits);
    if (key !== null && limits) return { key, limits };
    if (key === null && !limits) return null;
    const missing = key === null ? 'Flow-Control-Key' : 'Flow-Control-Value';
    throw new HeaderRefused(
      'bad_header',
      `${headerPrefix}${missing}: missing; give Flow-Control-Key and Flow-Control-Value together`,
    );
  }

  deduplication(): PublishRequest['deduplication'] {
    const id = this.own('Deduplication-Id', parseDeduplicationId);
    if (id !== null) return { id };
    const key = this.#plain('Idempotency-Key');
    if (key !== null) {
      const parsed = parseDeduplicationId(key);
      if ('problem' in parsed) throw new HeaderRefused('bad_header', `Idempotency-Key: ${parsed.problem}`);
      return { id: parsed.value };
    }
    return this.own('Content-Based-Deduplication', parseFlag) ? 'byContent' : null;
  }

  /** How many messages may descend from this request. Our deliveries have this number in a header. Null: no limit. */
  descendantsLeft(): number | null {
    return stricterDescent(this.own('Descendants-Left', parseCount), this.#sentBack('Descendants-Left', Math.min));
  }

  hops(): number {
    const hops = Math.max(this.own('Hops', parseCount) ?? 0, this.#sentBack('Hops', Math.max) ?? 0);
    if (hops > this.#rules.hopsMax) {
      throw new HeaderRefused(
        'loop_detected',
        `loop: this message came back to the service ${hops} times; its destination is the service itself`,
      );
    }
    return hops;
  }

  /**
   * The value of a header of our deliveries that a receiver forwards in its own publish, or null. The header is not
   * delivered again, but its value counts: otherwise a loop through such a receiver would never end.
   */
  #sentBack(name: 'Hops' | 'Descendants-Left', strictest: (one: number, other: number) => number): number | null {
    const { headerPrefix } = this.#rules;
    let found: number | null = null;
    for (const other of this.#others ?? NO_OTHERS) {
      // The lengths are compared first, which is fast: most messages forward some header, but few have come back to us.
      if (other.lowerName.length !== FORWARD.length + headerPrefix.length + name.length) continue;
      if (other.lowerName !== `${FORWARD}${headerPrefix}${name}`.toLowerCase()) continue;
      const parsed = parseCount(other.value.trim());
      if ('problem' in parsed) throw new HeaderRefused('bad_header', `${other.name}: ${parsed.problem}`);
      found = found === null ? parsed.value : strictest(found, parsed.value);
    }
    return found;
  }

  requireSupported(): void {
    for (const { lowerName, name } of this.#others ?? []) {
      const wrong = unsupportedProblem(lowerName, this.#rules.headerPrefix);
      if (wrong !== null) throw new HeaderRefused('not_supported', `${name}: ${wrong}`);
    }
  }

  /**
   * Adds to `forward` the trace headers and, with `Header-Forward`, all headers of the request that may be forwarded. A
   * header that `forward` already has takes precedence.
   */
  withPassedOnHeaders(forward: HeaderList): HeaderList {
    const { headerPrefix } = this.#rules;
    const isWholesale = this.own('Header-Forward', parseFlag) ?? false;
    if (!isWholesale && !this.#hasTrace) return forward;
    const named = new Set(forward.map(([name]) => name.toLowerCase()));
    const passedOn = this.#headers.filter(([name, value]) => {
      if (value.trim() === '') return false;
      const lower = name.toLowerCase();
      const isWanted = TRACE_HEADERS.has(lower) || (isWholesale && !NOT_FORWARDED_WHOLESALE.has(lower));
      return isWanted && !named.has(lower) && forwardHeaderProblem(name, value, headerPrefix) === null;
    });
    return passedOn.length === 0 ? forward : [...forward, ...passedOn];
  }

  /** Checks the final headers of the delivery, wherever they came from. */
  requireDeliverable(contentType: string | null, forward: HeaderList): void {
    if (contentType === null && forward.length === 0) return;
    const wrong = deliveredHeadersProblem(contentType, forward, headerLimits(this.#rules));
    if (wrong !== null) throw new HeaderRefused('bad_forward_header', wrong);
  }

  unknownNames(): readonly string[] {
    let unknown: string[] | null = null;
    for (const { lowerName, name } of this.#others ?? NO_OTHERS) {
      if (!isOfFamily(lowerName)) unknown = withEntry(unknown, name.slice(this.#rules.headerPrefix.length));
    }
    return this.#withForeign(unknown ?? NO_NAMES);
  }

  /**
   * Adds the settings with the prefix of another service, which have no effect. With `Header-Forward` they do have one,
   * because they reach the destination, and are not added.
   */
  #withForeign(names: readonly string[]): readonly string[] {
    if (this.#foreign === null || this.own('Header-Forward', parseFlag) === true) return names;
    return [...names, ...this.#foreign];
  }

  /** The names of settings for a callback that the publish does not have. Such settings have no effect. */
  unusedNames(): readonly string[] {
    if (this.#stored === null && this.#others === null) return NO_NAMES;
    let unused: string[] | null = null;
    for (const callback of CALLBACK_NAMES) {
      if (this.#find(callback, 0) === -1) unused = this.#withSettingsOf(callback, unused);
    }
    return unused ?? NO_NAMES;
  }

  #withSettingsOf(callback: string, names: string[] | null): string[] | null {
    let found = names;
    const group = `${callback}-`;
    const stored = this.#stored ?? NO_NAMES;
    for (let at = 0; at < stored.length; at += 2) {
      if (stored[at]!.startsWith(group)) found = withEntry(found, stored[at]!);
    }
    const family = FORWARD_FAMILIES.get(callback)!;
    for (const { lowerName } of this.#others ?? NO_OTHERS) {
      if (lowerName.startsWith(family)) found = withEntry(found, `${group}Forward-${lowerName.slice(family.length)}`);
    }
    return found;
  }

  /** The value of a header without our prefix. Null when it is absent. */
  #plain(name: 'Content-Type' | 'Idempotency-Key'): string | null {
    const at = this.#find(name, 0);
    return at === -1 ? null : this.#only(at, name);
  }

  /** The index of the name in `stored`, searched from `from` on; -1 when it is absent. */
  #find(name: string, from: number): number {
    const stored = this.#stored ?? NO_NAMES;
    for (let at = from; at < stored.length; at += 2) if (stored[at] === name) return at;
    return -1;
  }

  /** The value of a name that may occur only once. `first` is the index of its first occurrence. */
  #only(first: number, shownAs: string): string {
    const stored = this.#stored ?? NO_NAMES;
    const name = stored[first]!;
    let times = 0;
    for (let at = first; at !== -1; at = this.#find(name, at + 2)) times += 1;
    if (times > 1) throw new HeaderRefused('bad_header', `${shownAs}: given ${times} times; give it once`);
    return stored[first + 1]!;
  }

  #forwarded(group: 'Forward-' | 'Callback-Forward-' | 'Failure-Callback-Forward-'): HeaderList {
    if (this.#others === null) return NO_HEADERS;
    const { headerPrefix } = this.#rules;
    const lowerGroup = group.toLowerCase();
    let forward: [string, string][] | null = null;
    for (const { lowerName, name, value } of this.#others) {
      if (!lowerName.startsWith(lowerGroup)) continue;
      const bare = name.slice(headerPrefix.length + group.length);
      const wrong = forwardHeaderProblem(bare, value, headerPrefix);
      if (wrong !== null) {
        if (isForQstashClients(headerPrefix) && isServiceHeader(bare, headerPrefix)) continue;
        throw new HeaderRefused('bad_forward_header', `${headerPrefix}${group}${bare}: ${wrong}`);
      }
      forward = withEntry(forward, [bare, value]);
    }
    if (forward === null) return NO_HEADERS;
    const tooMuch = forwardedHeadersProblem(forward, headerLimits(this.#rules));
    if (tooMuch !== null) throw new HeaderRefused('bad_forward_header', `${headerPrefix}${group}…: ${tooMuch}`);
    return forward;
  }
}
