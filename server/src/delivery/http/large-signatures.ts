// Signs large bodies on threads beside the event loop, because signing 1 MB takes 6 ms. It signs one body at a time,
// because DNS look-ups need the same threads; accounts take turns.

export interface LargeSignature {
  readonly accountId: string;
  readonly sign: () => Promise<string[]>;
  readonly done: (signature: string[]) => void;
}

export class LargeSignatures {
  readonly #lines = new Map<string, Set<LargeSignature>>();
  #current: LargeSignature | null = null;
  /** Whether the current signature was cancelled. */
  #isTakenBack = false;

  /** Signs later, then calls `done`. Returns a function that cancels the signature. */
  add(asked: LargeSignature): () => void {
    const line = this.#lines.get(asked.accountId);
    if (line) line.add(asked);
    else this.#lines.set(asked.accountId, new Set([asked]));
    if (this.#current === null) void this.#signAll();
    return () => this.#takeBack(asked);
  }

  async #signAll(): Promise<void> {
    for (let next = this.#takeNext(); next !== null; next = this.#takeNext()) {
      this.#current = next;
      const signature = await next.sign();
      if (this.#isTakenBack) this.#isTakenBack = false;
      else next.done(signature);
    }
    this.#current = null;
  }

  #takeNext(): LargeSignature | null {
    for (const [accountId, line] of this.#lines) {
      const [first] = line;
      line.delete(first!);
      this.#lines.delete(accountId);
      // The account's next body waits behind the other accounts.
      if (line.size > 0) this.#lines.set(accountId, line);
      return first!;
    }
    return null;
  }

  #takeBack(asked: LargeSignature): void {
    if (asked === this.#current) this.#isTakenBack = true;
    const line = this.#lines.get(asked.accountId);
    if (line?.delete(asked) && line.size === 0) this.#lines.delete(asked.accountId);
  }
}
