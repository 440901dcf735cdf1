// A page of a list while it is built: its entries, their size, and whether there is room for more. Each adapter finds
// the rows in its own way.

import type { MessageEvent } from '../../rules/delivery/event.ts';
import type { Attempt, Message } from '../../rules/delivery/message.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import { attemptWeight, eventWeight, messageWeight } from '../../rules/reads/page-weight.ts';
import type { ReadCounter } from '../../rules/reads/read-amount.ts';
import type { EventPage, MessagePage, PageRequest } from '../ports/message-store.ts';
import { CountedBodies } from './shared-bodies.ts';

/** Where a message has its body, and how large it is. */
interface BodyOfRow {
  readonly body_id: number | null;
  readonly body_bytes: number;
}

export class PageOfMessages {
  readonly #page: PageRequest;
  readonly #looking: ReadCounter;
  readonly #messages: Message[] = [];
  readonly #lastAttempts: (Attempt | null)[] = [];
  readonly #bodies = new CountedBodies();
  #weight = 0;

  constructor(page: PageRequest, looking: ReadCounter) {
    this.#page = page;
    this.#looking = looking;
  }

  /** How many more messages the page may hold. */
  get left(): number {
    return this.#page.limit - this.#messages.length;
  }

  get isFull(): boolean {
    return this.left <= 0 || this.#weight >= bytesMaxOf(this.#page);
  }

  add(message: Message, lastAttempt: Attempt | null, body: BodyOfRow): void {
    this.#messages.push(message);
    this.#lastAttempts.push(lastAttempt);
    this.#weight += messageWeight(message) + (lastAttempt ? attemptWeight(lastAttempt) : 0);
    if (this.#page.isForChange) this.#weight += this.#bodies.add(body.body_id, body.body_bytes);
  }

  upTo(cursor: number | null): MessagePage {
    const { looked } = this.#looking;
    return { messages: this.#messages, lastAttempts: this.#lastAttempts, cursor, looked, weight: this.#weight };
  }
}

/** A page of events. The events of one position are never split between pages. */
export class PageOfEvents {
  readonly #page: PageRequest;
  readonly #looking: ReadCounter;
  readonly #events: MessageEvent[] = [];
  #weight = 0;
  /** The last position that was read. */
  at: number;
  isBegun = false;

  constructor(page: PageRequest, looking: ReadCounter) {
    this.#page = page;
    this.#looking = looking;
    this.at = page.cursor ?? (page.order === 'newestFirst' ? Number.MAX_SAFE_INTEGER : 0);
  }

  get isFull(): boolean {
    return this.#events.length >= this.#page.limit;
  }

  /**
   * Adds the events of a position. Returns false if these events do not fit any more. A page with a single position may
   * exceed the limit.
   */
  add(position: number, events: readonly MessageEvent[]): boolean {
    const isTooMany = this.#events.length + events.length > this.#page.limit || this.#weight >= bytesMaxOf(this.#page);
    if (this.#events.length > 0 && events.length > 0 && isTooMany) return false;
    this.#events.push(...events);
    this.#weight = events.reduce((sum, event) => sum + eventWeight(event), this.#weight);
    this.at = position;
    this.isBegun = true;
    return true;
  }

  upTo(cursor: number | null): EventPage {
    return { events: this.#events, cursor, endedAt: this.at, looked: this.#looking.looked, weight: this.#weight };
  }
}

function bytesMaxOf({ bytesMax = eachMax('pageBytes') }: PageRequest): number {
  return bytesMax;
}
