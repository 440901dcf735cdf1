// The caller that waits for a read of the store. Once a caller of the API has disconnected, its read is dropped: pieces
// of the read that have not begun never begin.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Store } from '../ports/store.ts';

/** Whether the caller has disconnected. */
export type IsGone = () => boolean;

const STAYS: IsGone = () => false;

/** Says whether the caller of an API call has disconnected. Set in the whole call, and in everything that it starts. */
const calling = new AsyncLocalStorage<IsGone>();
/** Says whether the caller of a read has disconnected. Set in the read, down to the line where it waits for a turn. */
const reading = new AsyncLocalStorage<IsGone>();

/** Runs a call of the API. `isGone` is null for a call that changes something: its reads are never dropped. */
export function runForCaller<T>(isGone: IsGone | null, call: () => Promise<T>): Promise<T> {
  return calling.run(isGone ?? STAYS, call);
}

/**
 * The store for calls of the API: its reads are dropped when the caller has disconnected. No other code may use it: a
 * loop or timer that a request happened to start would lose its reads with the caller of that request.
 */
export function dropReadsOfGoneCallers(store: Store, reads: readonly (keyof Store)[]): Store {
  const ofCaller = reads.map((verb) => [
    verb,
    (...args: unknown[]) =>
      reading.run(calling.getStore() ?? STAYS, () => (store[verb] as (...args: unknown[]) => unknown)(...args)),
  ]);
  return Object.assign(Object.create(store) as Store, Object.fromEntries(ofCaller) as Partial<Store>);
}

/** Whether the caller of the current read has disconnected. */
export function currentCaller(): IsGone {
  return reading.getStore() ?? STAYS;
}

/** Runs work that may start something shared by several callers, so that none of them can drop it. */
export function runForAllCallers<T>(work: () => T): T {
  return reading.exit(work);
}
