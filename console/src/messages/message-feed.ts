// The live list of messages: pages from the newest down, plus changes from the live stream, which update rows in place.
// New rows wait until they may be shown: nothing moves under the user's mouse. Paused, it changes nothing at all.

import {
  type Client,
  type Message,
  type MessageFilter,
  type MessagePage,
  PostriderError,
  type StreamedEvent,
} from 'postrider-sdk';
import { lastingPart } from '../parts/filter.ts';
import { isOpen } from '../ui/state.tsx';

export interface FeedState {
  readonly rows: readonly Message[];
  /** Ids of rows that just came in live, for a moment. */
  readonly fresh: ReadonlySet<string>;
  /** How many new messages wait to be shown. */
  readonly newCount: number;
  readonly isLoading: boolean;
  readonly isLoadingMore: boolean;
  readonly hasMore: boolean;
  readonly error: Error | null;
  readonly live: 'connecting' | 'live' | 'paused' | 'offline';
}

const FIRST_PAGE = 200;
/** A user who scrolls further will probably scroll far. */
const NEXT_PAGE = 1000;
/** Events within this time are looked up together. */
const GATHER_MS = 120;
const LOOK_UP_MAX = 100;
/** New messages read at once. More than that are only counted. */
const NEW_MAX = 300;
const FRESH_MS = 1500;
/** A list that has grown this long without scrolling is started again. */
const LIVE_ROWS_MAX = 20_000;
const RECONNECT_MS = 1000;
/** The start of an attempt makes no event, so open rows in view are read again. */
const LOOK_AGAIN_MS = 1500;

export class MessageFeed {
  readonly #client: Client;
  readonly #filter: MessageFilter;
  readonly #listeners = new Set<() => void>();
  readonly #stopped = new AbortController();
  #stream: AbortController | null = null;
  #state: FeedState = {
    rows: [],
    fresh: new Set(),
    newCount: 0,
    isLoading: true,
    isLoadingMore: false,
    hasMore: false,
    error: null,
    live: 'connecting',
  };
  #cursor: string | null = null;
  #known = new Map<string, Message>();
  #waiting = new Map<string, Message>();
  #uncounted = 0;
  /** Rows that came live since the list was last read from the top. */
  #grownLive = 0;
  #events = new Set<string>();
  #isGathering = false;
  #isHeld = false;
  #inView: readonly string[] = [];
  #lastEventId: string | null = null;
  /** Counts the loops that follow the stream, so that a paused loop does not continue beside its successor. */
  #followed = 0;

  constructor(client: Client, filter: MessageFilter) {
    this.#client = client;
    this.#filter = filter;
  }

  get state(): FeedState {
    return this.#state;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  start(): () => void {
    void this.reload();
    void this.#follow();
    const timer = setInterval(() => void this.#lookAgain(), LOOK_AGAIN_MS);
    // A hidden page gives up its connection, and later continues after the last event it saw.
    const onVisible = () => {
      if (document.hidden) this.#stream?.abort();
    };
    document.addEventListener('visibilitychange', onVisible);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', onVisible);
      this.#stopped.abort();
      this.#stream?.abort();
    };
  }

  /** Reads from the top. Rows stay until their replacements have arrived. */
  async reload(): Promise<void> {
    try {
      this.#begin(await this.#firstPage());
    } catch (error) {
      this.#put({ isLoading: false, error: error as Error });
    }
  }

  async loadMore(): Promise<void> {
    if (this.#state.isLoadingMore || this.#cursor === null) return;
    const from = this.#cursor;
    this.#put({ isLoadingMore: true });
    try {
      const page = await this.#client.listMessages({ ...this.#filter, count: NEXT_PAGE, cursor: from });
      // The list was reloaded meanwhile: this page belongs to the old list.
      if (this.#cursor !== from) return;
      const more = page.messages.filter(({ messageId }) => !this.#known.has(messageId));
      for (const message of more) this.#known.set(message.messageId, message);
      this.#cursor = page.cursor ?? null;
      this.#put({ rows: [...this.#state.rows, ...more], hasMore: this.#cursor !== null, error: null });
    } catch (error) {
      this.#put({ error: error as Error });
    } finally {
      this.#put({ isLoadingMore: false });
    }
  }

  /** While held, new rows are only announced. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
  }

  view(ids: readonly string[]): void {
    this.#inView = ids;
  }

  showNew(): void {
    if (this.#uncounted > 0) void this.reload();
    else this.#insertWaiting();
  }

  pause(): void {
    this.#put({ live: 'paused' });
    this.#stream?.abort();
    this.#events.clear();
  }

  resume(): void {
    this.#put({ live: 'connecting' });
    this.#lastEventId = null;
    void this.reload();
    void this.#follow();
  }

  #put(some: Partial<FeedState>): void {
    if (this.#stopped.signal.aborted) return;
    this.#state = { ...this.#state, ...some };
    for (const listener of this.#listeners) listener();
  }

  get #isFollowing(): boolean {
    return !this.#stopped.signal.aborted && this.#state.live !== 'paused';
  }

  async #follow(): Promise<void> {
    this.#followed += 1;
    const own = this.#followed;
    while (this.#isFollowing && own === this.#followed) {
      if (!document.hidden) await this.#followOnce();
      if (this.#isFollowing) await pause(RECONNECT_MS);
    }
  }

  async #followOnce(): Promise<void> {
    const stream = new AbortController();
    this.#stream = stream;
    try {
      const options = {
        signal: stream.signal,
        lastEventId: this.#lastEventId,
        onOpen: () => this.#opened(),
      };
      for await (const event of this.#client.stream(lastingPart(this.#filter), options)) this.#note(event);
    } catch (error) {
      if (error instanceof PostriderError) this.#put({ error });
    }
    if (this.#isFollowing) this.#put({ live: stream.signal.aborted ? 'connecting' : 'offline' });
  }

  #opened(): void {
    this.#put({ live: 'live', error: null });
    if (this.#lastEventId === null) void this.#catchUp();
  }

  /**
   * Reads what happened between the reading of the list and the start of the stream. A user who is reading is not
   * disturbed.
   */
  async #catchUp(): Promise<void> {
    try {
      const page = await this.#firstPage();
      // Checked only now: the user may have started to read while the page was loaded.
      if (!this.#isHeld) return this.#begin(page);
      this.#add(page.messages.filter(({ messageId }) => !this.#known.has(messageId) && !this.#waiting.has(messageId)));
    } catch (error) {
      this.#put({ error: error as Error });
    }
  }

  #firstPage(): Promise<MessagePage> {
    return this.#client.listMessages({ ...this.#filter, count: FIRST_PAGE });
  }

  #begin(page: MessagePage): void {
    this.#known = new Map(page.messages.map((message) => [message.messageId, message]));
    this.#waiting.clear();
    this.#uncounted = 0;
    this.#grownLive = 0;
    this.#cursor = page.cursor ?? null;
    this.#put({ rows: page.messages, isLoading: false, hasMore: this.#cursor !== null, error: null, newCount: 0 });
  }

  #note({ id, event }: StreamedEvent): void {
    this.#lastEventId = id;
    if (this.#state.live === 'paused') return;
    this.#events.add(event.messageId);
    if (this.#isGathering) return;
    this.#isGathering = true;
    setTimeout(() => {
      void this.#lookUp();
    }, GATHER_MS);
  }

  async #lookUp(): Promise<void> {
    const named = [...this.#events];
    this.#events.clear();
    const known = named.filter((id) => this.#known.has(id) || this.#waiting.has(id));
    const others = named.filter((id) => !this.#known.has(id) && !this.#waiting.has(id));
    if (others.length > NEW_MAX) this.#uncounted += others.length - NEW_MAX;
    try {
      await this.#update(known);
      const found = await this.#read(others.slice(-NEW_MAX), this.#filter);
      if (this.#state.live === 'paused') return;
      this.#add(found);
    } catch (error) {
      this.#put({ error: error as Error });
    } finally {
      this.#isGathering = false;
      const more = this.#events.size > 0 && this.#isFollowing;
      if (more) {
        this.#isGathering = true;
        setTimeout(() => void this.#lookUp(), GATHER_MS);
      }
    }
  }

  async #lookAgain(): Promise<void> {
    if (this.#state.live === 'paused' || document.hidden) return;
    const open = this.#inView.filter((id) => {
      const message = this.#known.get(id);
      return message && isOpen(message);
    });
    if (open.length > 0) await this.#update(open).catch(() => {});
  }

  async #read(ids: readonly string[], filter: MessageFilter): Promise<Message[]> {
    const found: Message[] = [];
    for (let at = 0; at < ids.length; at += LOOK_UP_MAX) {
      const messageIds = ids.slice(at, at + LOOK_UP_MAX);
      const wanted = filter.messageIds ? messageIds.filter((id) => filter.messageIds!.includes(id)) : messageIds;
      if (wanted.length === 0) continue;
      const page = await this.#client.listMessages({ ...filter, messageIds: wanted, count: LOOK_UP_MAX });
      found.push(...page.messages);
    }
    return found;
  }

  /** Rows keep their places, even if they no longer match the filter. */
  async #update(ids: readonly string[]): Promise<void> {
    const changed = new Map<string, Message>();
    for (const message of await this.#read(ids, {})) {
      const before = this.#known.get(message.messageId);
      if (before && !isSame(before, message)) changed.set(message.messageId, message);
      if (this.#waiting.has(message.messageId)) this.#waiting.set(message.messageId, message);
    }
    if (changed.size === 0 || this.#state.live === 'paused') return;
    for (const [id, message] of changed) this.#known.set(id, message);
    this.#put({ rows: this.#state.rows.map((row) => changed.get(row.messageId) ?? row) });
  }

  #add(found: readonly Message[]): void {
    const oldest = this.#state.rows.at(-1);
    for (const message of found) {
      // It is older than everything read so far: it comes with its page.
      if (this.#cursor !== null && oldest && isNewer(oldest, message)) continue;
      this.#waiting.set(message.messageId, message);
    }
    if (this.#isHeld || this.#uncounted > 0) this.#put({ newCount: this.#waiting.size + this.#uncounted });
    else this.#insertWaiting();
  }

  #insertWaiting(): void {
    if (this.#waiting.size === 0) return;
    const added = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const message of added) this.#known.set(message.messageId, message);
    const isTooLong = added.length + this.#state.rows.length > LIVE_ROWS_MAX && this.#grownLive > LIVE_ROWS_MAX;
    this.#grownLive += added.length;
    if (isTooLong) {
      void this.reload();
      return;
    }
    this.#put({
      rows: merged(this.#state.rows, added),
      newCount: 0,
      fresh: new Set(added.map(({ messageId }) => messageId)),
    });
    setTimeout(() => this.#put({ fresh: new Set() }), FRESH_MS);
  }
}

/** Both are sorted newest first. Added rows belong near the top, so little of a long list is searched. */
function merged(rows: readonly Message[], added: readonly Message[]): Message[] {
  const fresh = [...added].sort((a, b) => (isNewer(a, b) ? -1 : 1));
  const top: Message[] = [];
  let at = 0;
  for (const each of fresh) {
    while (at < rows.length && isNewer(rows[at]!, each)) {
      top.push(rows[at]!);
      at += 1;
    }
    top.push(each);
  }
  return [...top, ...rows.slice(at)];
}

function isNewer(a: Message, b: Message): boolean {
  return a.createdAt === b.createdAt ? a.messageId > b.messageId : a.createdAt > b.createdAt;
}

function isSame(a: Message, b: Message): boolean {
  return (
    a.state === b.state &&
    a.retried === b.retried &&
    a.responseStatus === b.responseStatus &&
    a.retriedAs === b.retriedAs &&
    a.nextDeliveryTime === b.nextDeliveryTime
  );
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
