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
  /** Headers that stand in for those a publish to the topic does not bring. */
  readonly defaults: HeaderList;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Grows with every change; 0 for one that is not stored yet. */
  readonly version: number;
}

/** Picks an endpoint by its name or, for one without, by its URL. */
export type EndpointSelector = { readonly name: string } | { readonly url: string };

/**
 * Adds endpoints at the end, in the order given. One that is there already, under the same name or, unnamed, the
 * same URL, is changed in place, so that adding twice is the same as adding once.
 */
export function withEndpoints(existing: readonly Endpoint[], added: readonly Endpoint[]): Endpoint[] {
  // Names that are there move first, so that the place of an unnamed one does not depend on what stands behind it.
  const result = existing.map((old) => added.findLast(({ name }) => name !== null && name === old.name) ?? old);
  for (const endpoint of added) {
    const at = placeOf(endpoint, result);
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

/** By its name first: an unnamed one that happens to have the URL must not take the name a second time. */
function placeOf(endpoint: Endpoint, list: readonly Endpoint[]): number {
  const named = endpoint.name === null ? -1 : list.findIndex(({ name }) => name === endpoint.name);
  if (named >= 0) return named;
  return list.findIndex(({ name, url }) => (name === null || endpoint.name === null) && url === endpoint.url);
}
