// A call of the API as data: what is sent, and the type of the response. calls.ts defines all calls.

import type { SettingName } from './setting-names.ts';

/** Settings by the names of their headers, without the prefix. A misspelt name is a type error. */
export type PublishSettings = Readonly<Partial<Record<SettingName, string>>>;

declare const ANSWER: unique symbol;

export interface Call<T> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** The path from the root of the API, with its query. */
  readonly path: string;
  /** Settings of a publish, without the prefix. The client adds the prefix. */
  readonly settings?: PublishSettings;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /**
   * The name of the list in the response, or null when the response is the list. Set for a list that has pages: the
   * client requests all pages and returns the whole list.
   */
  readonly list?: string | null;
  /**
   * Whether the call may be sent again when it is unknown whether the service has done it. `key`: yes, with a
   * deduplication id that the sender makes. Default: `yes` for GET, else `no`.
   */
  readonly repeat?: 'yes' | 'key' | 'no';
  readonly [ANSWER]?: T;
}

type Method = Call<unknown>['method'];

export function call<T>(method: Method, path: string, body?: unknown): Call<T> {
  if (body === undefined) return { method, path };
  return { method, path, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
}

/** Marks a call that has the same effect however often it is sent. */
export function repeatable<T>(made: Call<T>): Call<T> {
  return { ...made, repeat: 'yes' };
}

/** A call for a list that has pages. */
export function listCall<T>(path: string, list: string | null = null): Call<T> {
  return { method: 'GET', path, list };
}

/** Encodes a name or an id as one segment of a path. */
export const part = encodeURIComponent;

/**
 * The query string, with the parameters in the given order. A list becomes one parameter for each of its values. Null,
 * undefined and empty values are left out.
 */
export function query(values: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values) as [string, unknown][]) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== '')
        parameters.append(name, String(each instanceof Date ? each.getTime() : each));
    }
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}
