// Changes of queues and flow keys by people, on a store that gives each its own connection: of one account they come one
// after the other. Each waits for the row of its queue or key, and all at once would hold every connection.

import type { Store } from './store.ts';

export class OwnLines {
  /** Of each account what was asked last. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Begins when all that the account asked before has ended, whichever way. */
  run<T>(accountId: string, change: () => Promise<T>): Promise<T> {
    const before = this.#last.get(accountId) ?? Promise.resolve();
    const own = before.then(change, change);
    this.#last.set(accountId, own);
    const forget = () => {
      if (this.#last.get(accountId) === own) this.#last.delete(accountId);
    };
    own.then(forget, forget);
    return own;
  }
}

export function changingInTurn(store: Store): Store {
  const lines = new OwnLines();
  const own =
    <A extends readonly unknown[], T>(change: (accountId: string, ...rest: A) => Promise<T>) =>
    (accountId: string, ...rest: A) =>
      lines.run(accountId, () => change(accountId, ...rest));
  return {
    ...store,
    saveQueue: own(store.saveQueue),
    deleteQueue: own(store.deleteQueue),
    pauseFlowKey: own(store.pauseFlowKey),
    pinFlowKey: own(store.pinFlowKey),
    resetFlowRate: own(store.resetFlowRate),
  };
}
