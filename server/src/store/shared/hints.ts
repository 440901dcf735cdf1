// Notifies the other nodes that there may be work or new events, or that somebody lost access, and receives their
// notifications. They are only hints. Hints within a short time are sent as one: a notification in every transaction
// would make all commits of a database wait for each other.

import { hintEveryMs, newsEveryMs, nodesToNotify } from '../../rules/nodes/hint-pace.ts';
import type { Clock } from '../../runtime/world.ts';

/**
 * News means new rows of the journal. It is sent for this long after another node has reported a reader, and that node
 * repeats its report every 5 s. A notification costs every node a transaction, so news without a reader waits for one.
 */
const AWAITED_MS = 15_000;

/** The nodes that are alive. */
export interface LiveNodes {
  readonly count: number;
  /** The other nodes that deliver. */
  readonly deliverers: readonly string[];
}

/** The content of a hint from another node. */
export interface ReceivedHint {
  readonly isWork: boolean;
  readonly isNews: boolean;
  readonly isAccess: boolean;
  /** The reserve of disk space was released. */
  readonly isReserveGone: boolean;
}

export class Hints {
  readonly #node: string;
  readonly #timers: Clock;
  readonly #say: (payload: string) => void;
  #isWork = false;
  #isNews = false;
  #isAccess = false;
  /** Cancels the timer of the next hint. Null: a hint may be sent at once. Hints with only news use `#cancelNews`. */
  #cancel: (() => void) | null = null;
  #cancelNews: (() => void) | null = null;
  #nodes = 1;
  #deliverers: readonly string[] = [];
  /** Counts how many nodes were notified to look for work, so that the nodes take turns. */
  #turn = 0;
  /** Whether this node has a reader of the news. The next field says until when another node has one. */
  #isFollowed = false;
  #awaitedUntilMs: number;

  /** `isNewsFree` means that news costs nothing, so that it is always sent. */
  constructor(node: string, timers: Clock, say: (payload: string) => void, isNewsFree = false) {
    this.#node = node;
    this.#timers = timers;
    this.#say = say;
    this.#awaitedUntilMs = isNewsFree ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  }

  /** Notes the nodes that were alive at the last heartbeat. With more nodes, each of them sends hints less often. */
  noteNodes({ count, deliverers }: LiveNodes): void {
    this.#nodes = count;
    this.#deliverers = deliverers;
    // Repeats that this node has a reader, because another node may have missed it, or may be new.
    if (this.#isFollowed) this.#sayFollowed();
  }

  /** Notes whether this node has a reader of the news from now on, and reports a new reader to the other nodes. */
  follow(isFollowed: boolean): void {
    if (isFollowed && !this.#isFollowed) this.#sayFollowed();
    this.#isFollowed = isFollowed;
  }

  /** Notifies other nodes that there is something to claim, which this node may not be able to take. */
  work(): void {
    this.#isWork = true;
    this.#gather();
  }

  /** Notifies other nodes that the journal has new rows. */
  news(): void {
    this.#isNews = true;
    this.#gatherNews();
  }

  /**
   * Notifies other nodes that a token, a session or an account has changed, so that the copies in their caches may be
   * outdated.
   */
  access(): void {
    this.#isAccess = true;
    this.#gather();
  }

  /**
   * Notifies other nodes at once that the reserve of the disk was released: no node may use its space for new messages.
   */
  reserveGone(): void {
    this.#say(`${this.#node} r`);
  }

  /** The content of another node's hint. Null for a hint that this node has sent. */
  hear(payload: string): ReceivedHint | null {
    const [node, words = '', asked] = payload.split(' ');
    if (node === this.#node) return null;
    if (words.includes('f')) this.#await();
    const isAsked = asked === undefined || asked.split(',').includes(this.#node);
    return {
      isWork: isAsked && words.includes('w'),
      isNews: words.includes('n'),
      isAccess: words.includes('a'),
      isReserveGone: words.includes('r'),
    };
  }

  close(): void {
    this.#cancel?.();
    this.#cancelNews?.();
    this.#cancel = null;
    this.#cancelNews = null;
  }

  /** Sends the first hint at once. Hints that follow soon are sent together. */
  #gather(): void {
    if (this.#cancel !== null) return;
    this.#speak();
    const rest = () => {
      this.#cancel = this.#isUrgent ? this.#timers.after(hintEveryMs(this.#nodes), rest) : null;
      if (this.#isUrgent) this.#speak();
    };
    this.#cancel = this.#timers.after(hintEveryMs(this.#nodes), rest);
  }

  #await(): void {
    this.#awaitedUntilMs = Math.max(this.#awaitedUntilMs, this.#nowMs + AWAITED_MS);
    if (this.#isNews) this.#gatherNews();
  }

  #gatherNews(): void {
    if (this.#cancelNews !== null || !this.#isAwaited) return;
    this.#speak();
    const rest = () => {
      this.#cancelNews = null;
      if (this.#isNews) this.#gatherNews();
    };
    this.#cancelNews = this.#timers.after(newsEveryMs(this.#nodes), rest);
  }

  #speak(): void {
    const words = `${this.#isWork ? 'w' : ''}${this.#isNews ? 'n' : ''}${this.#isAccess ? 'a' : ''}`;
    this.#say(`${this.#node} ${words}${this.#isWork ? this.#askedNow() : ''}`);
    this.#isWork = false;
    this.#isNews = false;
    this.#isAccess = false;
  }

  #askedNow(): string {
    const asked = nodesToNotify(this.#deliverers, this.#turn);
    if (asked === null) return '';
    this.#turn += asked.length;
    return ` ${asked.join(',')}`;
  }

  #sayFollowed(): void {
    this.#say(`${this.#node} f`);
  }

  get #nowMs(): number {
    return this.#timers.monotonicMs();
  }

  get #isAwaited(): boolean {
    return this.#nowMs < this.#awaitedUntilMs;
  }

  get #isUrgent(): boolean {
    return this.#isWork || this.#isAccess;
  }
}
