// A topic: a name and an ordered list of endpoints. Edits are pure functions from one list to the next.

import type { HeaderList } from './message.ts';

export interface Endpoint {
  readonly name: string | null;
  readonly url: string;
}

export interface Topic {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  /** Headers for a publish to the topic that does not bring them itself. */
  readonly defaults: HeaderList;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Grows with every change. 0 for a topic that is not stored yet. */
  readonly version: number;
}

/** Selects an endpoint by its name or, for one without a name, by its URL. */
export type EndpointSelector = { readonly name: string } | { readonly url: string };

/**
 * Adds endpoints at the end, in the order given. An existing one, with the same name or (if unnamed) the same URL, is
 * changed in place, so that adding twice is the same as adding once.
 */
export function withEndpoints(existing: readonly Endpoint[], added: readonly Endpoint[]): Endpoint[] {
  // Existing names are replaced first, so that the position of an unnamed endpoint does not depend on those after it.
  const result = existing.map((old) => added.findLast(({ name }) => name !== null && name === old.name) ?? old);
  for (const endpoint of added) {
    const at = indexIn(endpoint, result);
    if (at < 0) result.push(endpoint);
    else result[at] = { name: endpoint.name ?? result[at]!.name, url: endpoint.url };
  }
  return result;
}

export function withoutEndpoints(existing: readonly Endpoint[], removed: readonly EndpointSelector[]): Endpoint[] {
  const names = new Set<string | null>(removed.flatMap((selector) => ('name' in selector ? [selector.name] : [])));
  const urls = new Set(removed.flatMap((selector) => ('name' in selector ? [] : [selector.url])));
  return existing.filter(({ name, url }) => !names.has(name) && !urls.has(url));
}

/** By name first: an unnamed endpoint with the same URL must not take the name a second time. */
function indexIn(endpoint: Endpoint, list: readonly Endpoint[]): number {
  const named = endpoint.name === null ? -1 : list.findIndex(({ name }) => name === endpoint.name);
  if (named >= 0) return named;
  return list.findIndex(({ name, url }) => (name === null || endpoint.name === null) && url === endpoint.url);
}
