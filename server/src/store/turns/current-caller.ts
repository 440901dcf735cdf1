// The caller that waits for a read of the store. A read of the API is dropped once its caller has disconnected: a piece
// of it that has not begun never begins.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Store } from '../ports/store.ts';

/** Whether the caller has disconnected. */
export type IsGone = () => boolean;

const STAYS: IsGone = () => false;

/** Around a whole API call, and everything it starts. */
const calling = new AsyncLocalStorage<IsGone>();
/** Around one read of that caller, down to the line where it waits for its turn. */
const reading = new AsyncLocalStorage<IsGone>();

/** Runs a call of the API. `isGone` is null if its reads continue without its caller, because it changes something. */
export function runForCaller<T>(isGone: IsGone | null, call: () => Promise<T>): Promise<T> {
  return calling.run(isGone ?? STAYS, call);
}

/**
 * The store for calls of the API. Nothing else may use it: only a call itself is certain to run for its own caller, and
 * not for one whose request happened to start the same loop or timer.
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
