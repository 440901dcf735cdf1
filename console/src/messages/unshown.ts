// New messages that are not in the list yet: messages that were read, and the ids of further messages that were only
// counted. Each message is in it once, and its size is limited.

import type { Message } from 'postrider-sdk';

/** Limit for the messages that are kept whole. Beyond it, only the ids are kept. */
const READ_MAX = 1000;
const COUNTED_MAX = 20_000;

export class UnshownMessages {
  readonly #read = new Map<string, Message>();
  readonly #counted = new Set<string>();
  #isCut = false;

  get count(): number {
    return this.#read.size + this.#counted.size;
  }

  /** True if there are more messages than could be counted. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** True if all these messages were read, and none was only counted. */
  get isComplete(): boolean {
    return this.#counted.size === 0 && !this.#isCut;
  }

  has(id: string): boolean {
    return this.#read.has(id) || this.#counted.has(id);
  }

  hasRead(id: string): boolean {
    return this.#read.has(id);
  }

  add(messages: readonly Message[]): void {
    for (const message of messages)
      if (!this.#counted.has(message.messageId)) this.#read.set(message.messageId, message);
    if (this.#read.size <= READ_MAX) return;
    const ids = [...this.#read.keys()];
    this.#read.clear();
    this.countOnly(ids);
  }

  countOnly(ids: readonly string[]): void {
    for (const id of ids) {
      if (this.has(id)) continue;
      if (this.#counted.size < COUNTED_MAX) this.#counted.add(id);
      else this.#isCut = true;
    }
  }

  update(message: Message): void {
    if (this.#read.has(message.messageId)) this.#read.set(message.messageId, message);
  }

  cut(): void {
    this.#isCut = true;
  }

  take(): Message[] {
    const all = [...this.#read.values()];
    this.clear();
    return all;
  }

  clear(): void {
    this.#read.clear();
    this.#counted.clear();
    this.#isCut = false;
  }
}
