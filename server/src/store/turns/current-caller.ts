// The caller that waits for a read of the store. Once a caller of the API has disconnected, its read is dropped: pieces
// of the read that have not begun never begin.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Store } from '../ports/store.ts';

/** Whether the caller has disconnected. */
export type IsGone = () => boolean;

const STAYS: IsGone = () => false;

/** Set during a whole API call, and during everything that the call starts. */
const calling = new AsyncLocalStorage<IsGone>();
/** Set during one read of that caller, down to the line in which the read waits for its turn. */
const reading = new AsyncLocalStorage<IsGone>();

/**
 * Runs a call of the API. `isGone` is null for a call that changes something: its reads continue without the caller.
 */
export function runForCaller<T>(isGone: IsGone | null, call: () => Promise<T>): Promise<T> {
  return calling.run(isGone ?? STAYS, call);
}

/**
 * The store for calls of the API. No other code may use it: only the code of a call is certain to run for its own
 * caller, and not for a caller whose request happened to start the same loop or timer.
 */
export function forCallers(store: Store, reads: readonly (keyof Store)[]): Store {
  const ofCaller = reads.map((verb) => [
    verb,
    (...args: unknown[]) =>
      reading.run(calling.getStore() ?? STAYS, () => (store[verb] as (...args: unknown[]) => unknown)(...args)),
  ]);
  return Object.assign(Object.create(store) as Store, Object.fromEntries(ofCaller) as Partial<Store>);
}

/** The caller of the current read. */
export function currentCaller(): IsGone {
  return reading.getStore() ?? STAYS;
}

/** Runs work that may start something shared by several callers. */
export function runForAllCallers<T>(work: () => T): T {
  return reading.exit(work);
}
