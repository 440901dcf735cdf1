// What a program gives to publish a message, and the call that is made from it. The name of each header is computed
// from the name of its option. A table of all options would make a bundle with one call larger.

import { type Call, type PublishSettings, part } from './call.ts';
import type { MessageOptions, ScheduleOptions } from './setting-options.ts';

/** The content of a message: JSON, or a body that is sent unchanged. */
export type Content =
  | {
      /** The content, which is sent as JSON. */
      readonly json: unknown;
      readonly body?: undefined;
      readonly contentType?: string | undefined;
    }
  | {
      readonly json?: undefined;
      readonly body?: string | Uint8Array | undefined;
      readonly contentType?: string | undefined;
    };

/** Options by the names of their headers, for programs that know only these names. They override the other options. */
export interface RawSettings {
  /** For example `{ Retries: '3', 'Forward-X-Tenant': 'acme' }`. */
  readonly settings?: PublishSettings | undefined;
}

export interface ToUrl {
  readonly url: string;
  readonly topic?: undefined;
  readonly destination?: undefined;
}

export interface ToTopic {
  /** The name or the id of the topic. */
  readonly topic: string;
  readonly url?: undefined;
  readonly destination?: undefined;
}

/** A destination that is a URL or a topic. */
export interface ToEither {
  /** A URL, or the name or id of a topic. */
  readonly destination: string;
  readonly url?: undefined;
  readonly topic?: undefined;
}

export type Destination = ToUrl | ToTopic | ToEither;
type Request<D, O> = D & Content & RawSettings & O;
export type UrlRequest = Request<ToUrl, MessageOptions>;
export type TopicRequest = Request<ToTopic, MessageOptions>;
export type EitherRequest = Request<ToEither, MessageOptions>;
export type PublishRequest = Request<Destination, MessageOptions>;
/** A request for a schedule. If it has `settings`, the cron expression may be one of them. */
export type ScheduleRequest =
  | Request<Destination, ScheduleOptions>
  | (Request<Destination, Partial<ScheduleOptions>> & { readonly settings: PublishSettings });

interface AnyRequest extends RawSettings {
  readonly url?: string | undefined;
  readonly topic?: string | undefined;
  readonly destination?: string | undefined;
  readonly json?: unknown;
  readonly body?: string | Uint8Array | undefined;
  readonly contentType?: string | undefined;
}

/** The parts that a publish, a schedule and an element of a batch have in common. */
export function partsOf({ url, topic, destination, json, body, contentType, settings, ...options }: AnyRequest) {
  const isJson = json !== undefined;
  // A program without types may give an object, which would become the text "[object Object]".
  if ((body ?? '') !== '' && typeof body !== 'string' && !ArrayBuffer.isView(body)) {
    throw new TypeError('body must be a string or a Uint8Array; pass an object as json');
  }
  return {
    destination: destination ?? url ?? topic ?? '',
    body: isJson ? JSON.stringify(json) : body,
    contentType: contentType ?? (isJson ? 'application/json' : undefined),
    settings: given({ ...settingsOf(options), ...settings }) as PublishSettings,
  };
}

/** The call to publish. The whole destination is encoded, so that no runtime normalises its dots, slashes or query. */
export function publication<T>(path: string, request: AnyRequest): Call<T> {
  const { destination, body, contentType, settings } = partsOf(request);
  return {
    method: 'POST',
    path: `${path}/${part(destination)}`,
    settings,
    headers: contentType ? { 'Content-Type': contentType } : {},
    ...(body !== undefined && { body }),
    repeat: repeatOf(settings),
  };
}

/** Leaves out settings without a value: such a setting would become a header with the text `undefined`. */
function given(settings: object): object {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => (value ?? null) !== null));
}

/**
 * Whether a publish with these settings can be sent again. `yes`: the service detects a second one by its deduplication
 * id or its content; an empty id or `false` does not count. `no`: the message may take the place of another, which may
 * be a newer one by then. `key`: with a deduplication id.
 */
export function repeatOf(settings: object): 'yes' | 'no' | 'key' {
  const has = (name: RegExp) => Object.entries(settings).some((pair) => name.test(`${pair}`));
  if (has(/^(dedup.*,\s*\S|content-based.*,\s*true)/i)) return 'yes';
  return has(/^debounce-k.*,\s*\S/i) ? 'no' : 'key';
}

/** `{ retryDelay: '1000', headers: { 'X-A': 'b' } }` becomes `{ 'Retry-Delay': '1000', 'Forward-X-A': 'b' }`. */
export function settingsOf(options: object, start = ''): Record<string, string> {
  const settings: Record<string, string> = Object.create(null);
  for (const [key, value] of Object.entries(options) as [string, unknown][]) {
    const name = start + key.replace(/^[a-z]/, (first) => first.toUpperCase()).replace(/\B[A-Z]/g, '-$&');
    if (value === undefined || value === null) continue;
    if (value instanceof Date) settings[name] = `${value.getTime() / 1000}`;
    else if (typeof value !== 'object' || Array.isArray(value)) settings[name] = `${value}`;
    else if (key === 'headers') {
      for (const [header, text] of Object.entries(value)) settings[`${start}Forward-${header}`] = text;
    } else if ('url' in value) {
      const { url, ...own } = value;
      Object.assign(settings, { [name]: url }, settingsOf(own, `${name}-`));
    } else {
      // `{ rate: 10, period: '1m' }` becomes `rate=10,period=1m`.
      const limits = Object.entries(value).filter(([, limit]) => limit !== undefined);
      settings[name] = `${limits.map((pair) => pair.join('='))}`;
    }
  }
  return settings;
}
