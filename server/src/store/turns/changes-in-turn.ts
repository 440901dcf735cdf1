// Runs the changes that people make to queues and flow keys one at a time for each account. For a store that gives each
// change its own connection: each change waits for a row lock, and many at once would hold all connections.

import type { Store } from '../ports/store.ts';

export class OwnLines {
  /** The last change of each account. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Starts when all earlier changes of the account have ended, failed ones included. */
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
