// Bounds how much of an account's batches is worked on at once. More would finish no sooner: its messages would only be
// held for longer, and the collection of garbage, which stops everybody, would have to walk through them.

import { accountMax } from '../domain/budgets.ts';

/** Elements of one account's batches, from the first message that is made until all are stored. A larger batch goes alone. */
const ELEMENTS_AT_ONCE_MAX = accountMax('batchElements');

interface Account {
  elements: number;
  readonly line: { readonly elements: number; readonly start: () => void }[];
}

export class BatchesUnderWay {
  readonly #accounts = new Map<string, Account>();

  /** How many accounts have a batch under way. */
  get accounts(): number {
    return this.#accounts.size;
  }

  /** `elements` is at least one. Null if the batch can begin at once; else resolves when it can. `end` must follow. */
  begin(accountId: string, elements: number): Promise<void> | null {
    const account = this.#accounts.get(accountId);
    if (!account) {
      this.#accounts.set(accountId, { elements, line: [] });
      return null;
    }
    if (account.line.length === 0 && account.elements + elements <= ELEMENTS_AT_ONCE_MAX) {
      account.elements += elements;
      return null;
    }
    return new Promise((start) => account.line.push({ elements, start }));
  }

  end(accountId: string, elements: number): void {
    const account = this.#accounts.get(accountId)!;
    account.elements -= elements;
    for (let next = account.line[0]; next !== undefined; next = account.line[0]) {
      if (account.elements > 0 && account.elements + next.elements > ELEMENTS_AT_ONCE_MAX) return;
      account.line.shift();
      account.elements += next.elements;
      next.start();
    }
    if (account.elements === 0) this.#accounts.delete(accountId);
  }
}
