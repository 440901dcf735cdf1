// The live list of messages: pages from the newest down, plus changes from the live stream, which update rows in place.
// New rows wait until they may be shown, so that nothing moves under the user's mouse. A paused list does not change.
//
// All reads from the top and all lookups happen in turns, one at a time, so that no old response replaces a newer one.
// In a burst, a turn reads the newest page instead of each new message, so its work does not grow with the rate.

import {
  type Client,
  type Message,
  type MessageFilter,
  type MessagePage,
  PostriderError,
  type StreamedEvent,
} from 'postrider-sdk';
import { streamFilter } from '../parts/filter.ts';
import { isOpen } from '../ui/state.tsx';
import { EMPTY_FEED_STATE, type FeedState } from './feed-state.ts';
import { LiveStream } from './live-stream.ts';
import { isNewer, isSameMessage, mergeRows } from './message-order.ts';
import { MessageRate } from './message-rate.ts';
import { UnshownMessages } from './unshown.ts';

const FIRST_PAGE = 200;
/** Rows of each further page. It is large, because a user who scrolls further will probably scroll far. */
const NEXT_PAGE = 1000;
/** How long events are gathered before they are looked up together. */
const GATHER_MS = 120;
/** How often the list is replaced in a burst: at most once in this time. */
const BURST_TURN_MS = 250;
const BURST_SHOWN_MS = 3000;
/** If the newest event is older than the newest row by more than this, the stream is behind, as in a burst. */
const BEHIND_MS_MAX = 1000;
const LOOK_UP_MAX = 100;
/** Limit for the look-ups in one turn. */
const LOOK_UPS_MAX = 3;
/** Limit for the messages whose events wait for a turn. If there are more, the turn reads the newest page. */
const EVENTS_MAX = 20_000;
const FRESH_MS = 1500;
/** Limit for the rows that the stream adds. Beyond it, a list of more rows than this is read again from the top. */
const LIVE_ROWS_MAX = 20_000;
const RETRY_MS = 1000;
/** How often open rows in view are read again: some changes make no event, such as a message that is made due now. */
const LOOK_AGAIN_MS = 1500;

export class MessageFeed {
  readonly #client: Client;
  readonly #filter: MessageFilter;
  /** Whether all events of the stream are about messages of the list. Otherwise each message must be looked up. */
  readonly #isExact: boolean;
  readonly #listeners = new Set<() => void>();
  readonly #stream: LiveStream;
  readonly #rate = new MessageRate();
  #isStopped = true;
  #state: FeedState = EMPTY_FEED_STATE;
  #cursor: string | null = null;
  #known = new Map<string, Message>();
  readonly #unshown = new UnshownMessages();
  /** How many rows came live since the list was last read from the top. */
  #grownLive = 0;
  /** Messages with events since the last turn, and when each was created. */
  #events = new Map<string, number>();
  /** Rows that had events and were not read again yet. */
  #changed = new Set<string>();
  /** Whether the next turn reads from the top. With `politely`, a user who is reading is not disturbed. */
  #mustRead: 'no' | 'politely' | 'yes' = 'no';
  #turn: 'none' | 'planned' | 'running' = 'none';
  #burstTimer: ReturnType<typeof setTimeout> | undefined;
  /** The time of the newest event. */
  #heardUpTo = 0;
  #isHeld = false;
  #inView: readonly string[] = [];

  constructor(client: Client, filter: MessageFilter) {
    const lasting = streamFilter(filter);
    this.#client = client;
    this.#filter = filter;
    this.#isExact = Object.keys(lasting).length === Object.keys(filter).length;
    this.#stream = new LiveStream(client, lasting, {
      onEvent: (event) => this.#note(event),
      onOpen: (isGapless) => {
        if (isGapless) this.#put({ error: null });
        else this.#readPolitely();
      },
      onChange: (live, heardAt) => this.#put({ live, heardAt }),
      onError: (error) => this.#put({ error }),
    });
  }

  get state(): FeedState {
    return this.#state;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  start(): () => void {
    this.#isStopped = false;
    this.reload();
    this.#stream.start();
    const timer = setInterval(() => void this.#lookAgain(), LOOK_AGAIN_MS);
    return () => {
      this.#isStopped = true;
      clearInterval(timer);
      clearTimeout(this.#burstTimer);
      this.#stream.stop();
    };
  }

  /** Reads from the top. Rows stay until their replacements have arrived. */
  reload(): void {
    this.#mustRead = 'yes';
    this.#plan(0);
  }

  #readPolitely(): void {
    if (this.#mustRead === 'no') this.#mustRead = 'politely';
    this.#plan(0);
  }

  async loadMore(): Promise<void> {
    if (this.#state.isLoadingMore || this.#cursor === null) return;
    const from = this.#cursor;
    this.#put({ isLoadingMore: true });
    try {
      const page = await this.#client.listMessages({ ...this.#filter, count: NEXT_PAGE, cursor: from });
      // The list was reloaded meanwhile, so this page belongs to the old list.
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

  /** While the list is held, new rows are only counted. */
  hold(isHeld: boolean): void {
    const isReleased = this.#isHeld && !isHeld;
    this.#isHeld = isHeld;
    if (isReleased && this.#state.live !== 'paused' && this.#state.newCount > 0) this.showNew();
  }

  view(ids: readonly string[]): void {
    this.#inView = ids;
  }

  showNew(): void {
    if (this.#unshown.isComplete) this.#insert(this.#unshown.take());
    else this.reload();
    this.#forgetNew();
  }

  pause(): void {
    this.#stream.stop();
    this.#events.clear();
    this.#changed.clear();
    this.#put({ live: 'paused', burst: null });
  }

  resume(): void {
    this.#forgetNew();
    this.#stream.forget();
    this.#stream.start();
    this.reload();
  }

  #put(some: Partial<FeedState>): void {
    if (this.#isStopped) return;
    this.#state = { ...this.#state, ...some };
    for (const listener of this.#listeners) listener();
  }

  get #isPaused(): boolean {
    return this.#isStopped || this.#state.live === 'paused';
  }

  #note({ event: { messageId, state, createdAt, time } }: StreamedEvent): void {
    this.#heardUpTo = Math.max(this.#heardUpTo, time);
    if (state === 'CREATED') this.#rate.note(createdAt);
    if (this.#events.size < EVENTS_MAX || this.#events.has(messageId)) this.#events.set(messageId, createdAt);
    else this.#readPolitely();
    this.#plan(GATHER_MS);
  }

  #plan(ms: number): void {
    if (this.#turn !== 'none') return;
    this.#turn = 'planned';
    setTimeout(() => void this.#takeTurn(), ms);
  }

  async #takeTurn(): Promise<void> {
    this.#turn = 'running';
    const startedAt = performance.now();
    const events = this.#events;
    const mustRead = this.#mustRead;
    let isFailed = false;
    this.#events = new Map();
    this.#mustRead = 'no';
    try {
      await this.#show(this.#newOf(events), mustRead);
      if (!this.#isPaused) await this.#update(this.#nextChanged());
      if (this.#state.error) this.#put({ error: null });
    } catch (error) {
      isFailed = true;
      this.#put({ error: error as Error });
      if (isTemporaryError(error)) {
        if (this.#mustRead === 'no') this.#mustRead = mustRead;
        this.#keep(events);
      }
    }
    this.#turn = 'none';
    if (this.#mustRead === 'no' && this.#events.size === 0 && this.#changed.size === 0) return;
    const tookMs = performance.now() - startedAt;
    // A service that responds slowly is called less often.
    this.#plan(isFailed ? RETRY_MS : this.#state.burst ? Math.max(BURST_TURN_MS, 2 * tookMs) : GATHER_MS);
  }

  /** Keeps the events for the next turn. */
  #keep(events: Iterable<readonly [id: string, createdAt: number]>): void {
    for (const [id, createdAt] of events) if (!this.#events.has(id)) this.#events.set(id, createdAt);
  }

  /** The events of messages that are new for the list. Messages that the list knows are added to `#changed` instead. */
  #newOf(events: ReadonlyMap<string, number>): [id: string, createdAt: number][] {
    const oldest = this.#cursor === null ? undefined : this.#state.rows.at(-1);
    const found: [string, number][] = [];
    for (const [id, createdAt] of events) {
      if (this.#known.has(id) || this.#unshown.hasRead(id)) this.#changed.add(id);
      // A message that is older than everything read so far will come with a later page.
      else if (!this.#unshown.has(id) && (oldest === undefined || createdAt >= oldest.createdAt))
        found.push([id, createdAt]);
    }
    return found;
  }

  async #show(
    found: readonly (readonly [id: string, createdAt: number])[],
    mustRead: 'no' | 'politely' | 'yes',
  ): Promise<void> {
    if (this.#isStopped) return;
    const ids = found.map(([id]) => id);
    const isMany = this.#isExact && ids.length > LOOK_UP_MAX;
    if (isMany) this.#markBurst();
    const isBurst = isMany || this.#state.burst !== null;
    const isHeld = () => this.#isHeld && mustRead !== 'yes' && !this.#state.isLoading;
    if (isBurst && isHeld()) {
      this.#unshown.countOnly(ids);
      this.#announce();
    } else if (isBurst || mustRead !== 'no') {
      const page = await this.#firstPage();
      if (this.#isPaused && mustRead !== 'yes') return;
      // This is checked only now, because the user may have started to read while the page was loaded.
      if (isHeld()) this.#found(page, ids, mustRead === 'no');
      else this.#begin(page);
      // If the stream has not sent the events of the newest messages yet, the burst continues.
      const newest = page.messages[0];
      if (isBurst && newest && newest.createdAt - this.#heardUpTo > BEHIND_MS_MAX) this.#markBurst();
    } else {
      // The newest messages are read first. The others come in later turns.
      const now = ids.slice(-LOOK_UP_MAX * LOOK_UPS_MAX);
      this.#keep(found.slice(0, -LOOK_UP_MAX * LOOK_UPS_MAX));
      const messages = await this.#read(now, this.#filter);
      if (!this.#isPaused) this.#add(messages);
    }
  }

  #markBurst(): void {
    this.#put({ burst: { perSecond: this.#rate.perSecond } });
    clearTimeout(this.#burstTimer);
    this.#burstTimer = setTimeout(() => this.#put({ burst: null }), BURST_SHOWN_MS);
  }

  #firstPage(): Promise<MessagePage> {
    return this.#client.listMessages({ ...this.#filter, count: FIRST_PAGE });
  }

  #begin(page: MessagePage): void {
    this.#known = new Map(page.messages.map((message) => [message.messageId, message]));
    this.#forgetNew();
    this.#grownLive = 0;
    this.#cursor = page.cursor ?? null;
    this.#put({ rows: page.messages, isLoading: false, hasMore: this.#cursor !== null });
  }

  #forgetNew(): void {
    this.#unshown.clear();
    this.#announce();
  }

  #announce(): void {
    this.#put({ newCount: this.#unshown.count, isNewCountCut: this.#unshown.isCut });
  }

  /** Counts what a read from the top has found, without showing it: the user is reading and must not be disturbed. */
  #found(page: MessagePage, ids: readonly string[], isGapless: boolean): void {
    const unknown = page.messages.filter(({ messageId }) => !this.#known.has(messageId));
    // If every message of the page is new, there may be more messages between this page and the rows.
    const isAll = unknown.length > 0 && unknown.length === page.messages.length && page.cursor !== undefined;
    if (isAll && !isGapless) this.#unshown.cut();
    this.#unshown.add(this.#notOlder(unknown));
    if (this.#isExact) this.#unshown.countOnly(ids);
    this.#announce();
  }

  /** The next changed rows to read again. Rows in view come first. */
  #nextChanged(): string[] {
    const isShown = (id: string) => this.#known.has(id) || this.#unshown.hasRead(id);
    for (const id of this.#changed) if (!isShown(id)) this.#changed.delete(id);
    const inView = this.#inView.filter((id) => this.#changed.has(id));
    const next = [...new Set([...inView, ...this.#changed])].slice(0, LOOK_UP_MAX);
    for (const id of next) this.#changed.delete(id);
    return next;
  }

  async #lookAgain(): Promise<void> {
    if (this.#isPaused || document.hidden) return;
    const open = this.#inView.filter((id) => {
      const message = this.#known.get(id);
      return message && isOpen(message);
    });
    await this.#update(open).catch(() => {});
  }

  async #read(ids: readonly string[], filter: MessageFilter): Promise<Message[]> {
    const wanted = filter.messageIds ? ids.filter((id) => filter.messageIds!.includes(id)) : ids;
    const found: Message[] = [];
    for (let at = 0; at < wanted.length; at += LOOK_UP_MAX) {
      const messageIds = wanted.slice(at, at + LOOK_UP_MAX);
      found.push(...(await this.#client.listMessages({ ...filter, messageIds, count: LOOK_UP_MAX })).messages);
    }
    return found;
  }

  /** Reads these rows again. The rows keep their places, even if they no longer match the filter. */
  async #update(ids: readonly string[]): Promise<void> {
    const changed = new Map<string, Message>();
    for (const message of await this.#read(ids, {})) {
      const before = this.#known.get(message.messageId);
      if (before && !isSameMessage(before, message)) changed.set(message.messageId, message);
      this.#unshown.update(message);
    }
    if (changed.size === 0 || this.#isPaused) return;
    for (const [id, message] of changed) this.#known.set(id, message);
    this.#put({ rows: this.#state.rows.map((row) => changed.get(row.messageId) ?? row) });
  }

  /** Leaves out messages that are older than everything read so far, because they will come with a later page. */
  #notOlder(found: readonly Message[]): readonly Message[] {
    const oldest = this.#cursor === null ? undefined : this.#state.rows.at(-1);
    return oldest === undefined ? found : found.filter((message) => !isNewer(oldest, message));
  }

  #add(found: readonly Message[]): void {
    this.#unshown.add(this.#notOlder(found));
    if (this.#isHeld) this.#announce();
    else this.showNew();
  }

  #insert(added: readonly Message[]): void {
    if (added.length === 0) return;
    for (const message of added) this.#known.set(message.messageId, message);
    const isTooLong = added.length + this.#state.rows.length > LIVE_ROWS_MAX && this.#grownLive > LIVE_ROWS_MAX;
    this.#grownLive += added.length;
    if (isTooLong) {
      this.reload();
      return;
    }
    this.#put({
      rows: mergeRows(this.#state.rows, added),
      fresh: new Set(added.map(({ messageId }) => messageId)),
    });
    setTimeout(() => this.#put({ fresh: new Set() }), FRESH_MS);
  }
}

/** Whether the service is unavailable or busy, and may respond later. */
function isTemporaryError(error: unknown): boolean {
  return !(error instanceof PostriderError) || error.status >= 500 || error.status === 429;
}
