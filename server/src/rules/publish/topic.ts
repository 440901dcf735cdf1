// A topic: a name and an ordered list of endpoints. An edit returns a new list.

import type { HeaderList } from '../delivery/message.ts';

export interface Endpoint {
  readonly name: string | null;
  readonly url: string;
}

export interface Topic {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  /** Headers that a publish to the topic gets if it does not have them itself. */
  readonly defaults: HeaderList;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Grows with every change. 0 for a topic that is not stored yet. */
  readonly version: number;
}

/** Selects an endpoint by its name or by its URL. */
export type EndpointSelector = { readonly name: string } | { readonly url: string };

/**
 * Adds endpoints at the end, in the order given. An existing endpoint is changed in place if it has the same name, or
 * the same URL while one of the two has no name. So adding an endpoint twice is the same as adding it once.
 */
export function withEndpoints(existing: readonly Endpoint[], added: readonly Endpoint[]): Endpoint[] {
  // Endpoints with an existing name are replaced first, so that the position of an unnamed endpoint does not depend on
  // the endpoints after it in `added`.
  const lastOfName = new Map(added.filter(({ name }) => name !== null).map((each) => [each.name, each]));
  const list = new EndpointList();
  for (const old of existing) list.push(lastOfName.get(old.name) ?? old);
  for (const endpoint of added) {
    const at = list.indexOf(endpoint);
    if (at === null) list.push(endpoint);
    else list.change(at, endpoint);
  }
  return list.endpoints;
}

export function withoutEndpoints(existing: readonly Endpoint[], removed: readonly EndpointSelector[]): Endpoint[] {
  const names = new Set<string | null>();
  const urls = new Set<string>();
  for (const selector of removed) {
    if ('name' in selector) names.add(selector.name);
    else urls.add(selector.url);
  }
  return existing.filter(({ name, url }) => !names.has(name) && !urls.has(url));
}

/** A list in which an endpoint is found by name or URL without a scan: one edit may look up thousands of endpoints. */
class EndpointList {
  readonly endpoints: Endpoint[] = [];
  readonly #byName = new Map<string, number>();
  readonly #byUrl = new Positions();
  readonly #unnamedByUrl = new Positions();

  /** The index of the endpoint to change, or null. The name counts before the URL, so that no name is used twice. */
  indexOf({ name, url }: Endpoint): number | null {
    if (name === null) return this.#byUrl.first(url);
    return this.#byName.get(name) ?? this.#unnamedByUrl.first(url);
  }

  push(endpoint: Endpoint): void {
    this.endpoints.push(endpoint);
    this.#note(this.endpoints.length - 1, endpoint);
  }

  /** Changes the endpoint at this index. It keeps its name, unless a new name is given. */
  change(at: number, { name, url }: Endpoint): void {
    const old = this.endpoints[at]!;
    this.#byUrl.remove(old.url, at);
    if (old.name === null) this.#unnamedByUrl.remove(old.url, at);
    const changed = { name: name ?? old.name, url };
    this.endpoints[at] = changed;
    this.#note(at, changed);
  }

  #note(at: number, { name, url }: Endpoint): void {
    this.#byUrl.add(url, at);
    if (name === null) this.#unnamedByUrl.add(url, at);
    else if (!this.#byName.has(name)) this.#byName.set(name, at);
  }
}

/** The indexes at which each URL is in a list, in ascending order. */
class Positions {
  readonly #of = new Map<string, number[]>();

  first(url: string): number | null {
    return this.#of.get(url)?.[0] ?? null;
  }

  add(url: string, at: number): void {
    const own = this.#of.get(url);
    if (!own) this.#of.set(url, [at]);
    else own.splice(own.findLastIndex((each) => each < at) + 1, 0, at);
  }

  remove(url: string, at: number): void {
    const own = this.#of.get(url)!;
    own.splice(own.indexOf(at), 1);
  }
}
