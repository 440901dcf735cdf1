// Live events for the console and for `tail`. Each reader reads the journal from its own position, so little memory is
// needed for it. A reader that is too slow is disconnected, and may reconnect with the id of the last event.

import type { ServerResponse } from 'node:http';
import type { EventFilter } from '../../rules/delivery/event.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import { pieceReadMax } from '../../rules/reads/read-amount.ts';
import { Pool } from '../../runtime/collections/pool.ts';
import { laneMax } from '../../runtime/lane-part.ts';
import type { Clock } from '../../runtime/world.ts';
import type { EventPage, MessageStore } from '../../store/ports/message-store.ts';
import { ApiError, poolError, RESPONSE_HEADERS } from '../api/errors.ts';
import { eventView } from '../api/shapes/message-view.ts';
import { AccountTurns } from '../api/turns.ts';

const PAGE = 100;
/** How long a reader may leave its socket full. */
const PATIENCE_MS = 30_000;
/** How long the rest of a page is kept for readers whose sockets are full. A reader that keeps up is faster. */
const MOMENT_MS = 100;
/** How long changes of the journal are collected before they are read together. */
const GATHER_MS = 100;
/** How often a ping is sent, so that proxies keep the connection open and a reader notices when the service hangs. */
const PING_EVERY_MS = 5000;

/** The position of a reader. It has received the events up to step `at` of the journal, and `seen` of the next step. */
interface ReaderPosition {
  readonly at: number;
  readonly seen: number;
}

interface Reader {
  readonly response: ServerResponse;
  readonly filter: EventFilter;
  /** A text that is equal for readers with the same filter. */
  readonly filterKey: string;
  position: ReaderPosition;
  /** How many events the reader is likely to take at once. */
  limit: number;
  hasNews: boolean;
  /** Whether the socket of the reader is full. */
  isFull: boolean;
}

interface Audience {
  /** The readers of an account. The most recently served one comes last. */
  readonly readers: Set<Reader>;
  /** The last known end of the journal. Null when it may have grown. */
  journalEnd: number | null;
}

export interface StreamRequest {
  readonly accountId: string;
  readonly filter: EventFilter;
  /** The id of the last event that the reader has seen, if any. */
  readonly lastSeen: unknown;
  /** Called when the stream can start. From then on the stream owns the response. */
  readonly takeOver: () => ServerResponse;
}

export class EventStreams {
  readonly pool = new Pool(laneMax('streams'));
  readonly #store: MessageStore;
  readonly #clock: Clock;
  readonly #audiences = new Map<string, Audience>();
  readonly #turns = new AccountTurns(laneMax('streamReads'), (accountId) => this.#feed(accountId));
  #isClosed = false;
  #cancelGather: (() => void) | null = null;
  #cancelPing: (() => void) | null = null;
  #stopListening: (() => void) | null = null;

  constructor(store: MessageStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Opens a stream. It starts after the last event that the reader has seen, or else with new events only. */
  async open({ accountId, filter, lastSeen, takeOver }: StreamRequest): Promise<void> {
    this.#refuseIfClosed();
    const why = this.pool.take(accountId, 1);
    if (why !== null) throw poolError(why, 'live streams');
    let response: ServerResponse;
    let position: ReaderPosition;
    try {
      position = await this.#positionFor(accountId, lastSeen);
      this.#refuseIfClosed();
      response = takeOver();
    } catch (error) {
      this.pool.give(accountId, 1);
      throw error;
    }
    // The caller has disconnected meanwhile, so no `close` event will come.
    if (response.destroyed) return this.pool.give(accountId, 1);
    const { socket } = response.req;
    // When a caller has closed its side, we cannot know whether it still reads. So the stream ends.
    const end = () => response.end();
    socket.once('end', end);
    response.on('close', () => {
      socket.off('end', end);
      this.pool.give(accountId, 1);
      this.#remove(accountId, reader);
    });
    const filterKey = JSON.stringify(filter);
    const reader = { response, filter, filterKey, position, limit: PAGE, hasNews: false, isFull: false };
    response.writeHead(200, {
      ...RESPONSE_HEADERS,
      'Content-Type': 'text/event-stream',
      'X-Accel-Buffering': 'no',
    });
    response.write(`: connected\n${idOf(position)}`);
    if (socket.readableEnded) return void response.end();
    this.#audienceOf(accountId).readers.add(reader);
    this.#stopListening ??= this.#store.onJournal(() => this.#gather());
    this.#cancelPing ??= this.#clock.after(PING_EVERY_MS, () => this.#ping());
    // Reads events that were written after the position was read and before the stream listened.
    this.#gather();
  }

  close(): void {
    this.#isClosed = true;
    for (const { readers } of this.#audiences.values()) {
      for (const { response } of readers) response.end();
      readers.clear();
    }
    this.#audiences.clear();
    this.#rest();
  }

  #refuseIfClosed(): void {
    if (this.#isClosed) throw new ApiError('draining', 'this node is shutting down');
  }

  async #positionFor(accountId: string, lastSeen: unknown): Promise<ReaderPosition> {
    const [, step, index] = /^(\d{1,16})\.(\d{1,2})$/.exec(String(lastSeen)) ?? [];
    if (step === undefined) return { at: await this.#store.journalEnd(accountId), seen: 0 };
    return { at: Number(step) - 1, seen: Number(index) };
  }

  #audienceOf(accountId: string): Audience {
    let audience = this.#audiences.get(accountId);
    if (audience === undefined) {
      audience = { readers: new Set(), journalEnd: null };
      this.#audiences.set(accountId, audience);
    }
    return audience;
  }

  #remove(accountId: string, reader: Reader): void {
    const audience = this.#audiences.get(accountId);
    audience?.readers.delete(reader);
    if (audience?.readers.size === 0) this.#audiences.delete(accountId);
    if (this.#audiences.size === 0) this.#rest();
  }

  #rest(): void {
    this.#stopListening?.();
    this.#cancelGather?.();
    this.#cancelPing?.();
    this.#stopListening = null;
    this.#cancelGather = null;
    this.#cancelPing = null;
  }

  #gather(): void {
    this.#cancelGather ??= this.#clock.after(GATHER_MS, () => {
      this.#cancelGather = null;
      for (const [accountId, audience] of this.#audiences) {
        audience.journalEnd = null;
        for (const reader of audience.readers) reader.hasNews = true;
        this.#turns.want(accountId);
      }
    });
  }

  #ping(): void {
    for (const { readers } of this.#audiences.values()) {
      for (const { response, position } of readers) response.write(`: ping\n${idOf(position)}`);
    }
    this.#cancelPing = this.#clock.after(PING_EVERY_MS, () => this.#ping());
  }

  /** Does one read for an account. Returns whether another is needed. */
  async #feed(accountId: string): Promise<boolean> {
    const audience = this.#audiences.get(accountId);
    if (audience === undefined) return false;
    let served: Reader[] = [...audience.readers];
    try {
      audience.journalEnd ??= await this.#store.journalEnd(accountId);
      for (const reader of served) if (reader.position.at >= audience.journalEnd) reader.hasNews = false;
      const first = served.find(isWaiting);
      if (first === undefined) return false;
      served = served.filter((reader) => isWaiting(reader) && wantsTheSame(reader, first));
      for (const reader of served) reader.hasNews = false;
      const from = { limit: first.limit, cursor: first.position.at } as const;
      // One call reads one piece. Before the next piece, other accounts are served, and readers may disconnect.
      const page = { ...from, order: 'oldestFirst', withBodies: false, isLive: true, look: pieceReadMax() } as const;
      const events = await this.#store.listEvents(accountId, first.filter, page);
      for (const piece of piecesOf(events, first.position))
        served = await this.#send(accountId, audience, served, piece);
    } catch {
      // The store is unavailable. The readers reconnect when they see the connection end. They are removed now, and not
      // on their `close` event: if the store fails at once, we would read for them again and again before that event
      // could run.
      for (const reader of served) {
        reader.response.destroy();
        this.#remove(accountId, reader);
      }
    }
    return [...audience.readers].some(isWaiting);
  }

  /** Sends a piece. Returns the readers that can take the next one. The others read again from their position. */
  async #send(
    accountId: string,
    audience: Audience,
    readers: readonly Reader[],
    { text, count, position, hasMore, isLast }: Piece,
  ): Promise<Reader[]> {
    const emptying: Promise<void>[] = [];
    const sent = readers.filter((reader) => audience.readers.delete(reader));
    for (const reader of sent) {
      audience.readers.add(reader);
      reader.position = position;
      reader.limit = isLast ? Math.min(PAGE, reader.limit * 2) : Math.max(1, count);
      reader.hasNews ||= hasMore;
      if (text !== '' && !reader.response.write(text)) emptying.push(this.#whenEmpty(accountId, reader));
    }
    if (emptying.length > 0) await this.#within(MOMENT_MS, Promise.all(emptying));
    if (!isLast) for (const reader of sent) reader.hasNews ||= reader.isFull;
    return sent.filter(({ isFull }) => !isFull);
  }

  async #whenEmpty(accountId: string, reader: Reader): Promise<void> {
    reader.isFull = true;
    const isDrained = await this.#isDrained(reader.response);
    reader.isFull = false;
    if (!isDrained) reader.response.destroy();
    else if (reader.hasNews) this.#turns.want(accountId);
  }

  /** Waits for `work`, but at most for `ms`. */
  #within(ms: number, work: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(ms, resolve);
      void work.then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** Resolves to true when the socket has room, or to false when the reader has disconnected or took too long. */
  #isDrained(response: ServerResponse): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (isDrained: boolean) => {
        cancel();
        response.off('drain', onDrain);
        response.off('close', onClose);
        resolve(isDrained);
      };
      const onDrain = () => done(true);
      const onClose = () => done(false);
      const cancel = this.#clock.after(PATIENCE_MS, onClose);
      response.on('drain', onDrain);
      response.on('close', onClose);
      if (response.destroyed) onClose();
    });
  }
}

/** An id that is sent without an event, so that a reader that gets no event can still reconnect from this position. */
function idOf({ at, seen }: ReaderPosition): string {
  return `id: ${at + 1}.${seen}\n\n`;
}

function isWaiting({ hasNews, isFull }: Reader): boolean {
  return hasNews && !isFull;
}

function wantsTheSame(a: Reader, b: Reader): boolean {
  return a.filterKey === b.filterKey && a.position.at === b.position.at && a.position.seen === b.position.seen;
}

/** What is written to a reader at once, and the position of the reader after that. */
interface Piece {
  readonly text: string;
  /** How many events of the page come up to the end of this piece. */
  readonly count: number;
  readonly position: ReaderPosition;
  /** There are more events after the page. */
  readonly hasMore: boolean;
  readonly isLast: boolean;
}

/** Splits a page into pieces. Each has about the size that may wait in memory for a reader. */
function* piecesOf({ events, cursor, endedAt }: EventPage, { at, seen }: ReaderPosition): Generator<Piece> {
  let text = '';
  for (const [index, event] of events.entries()) {
    // The events of a step share its position. A reader that was disconnected within a step has seen only its first
    // events.
    const inStep = index - events.findIndex(({ position }) => position === event.position) + 1;
    if (event.position === at + 1 && inStep <= seen) continue;
    text += `id: ${event.position}.${inStep}\nevent: ${event.state}\ndata: ${JSON.stringify(eventView(event))}\n\n`;
    if (index < events.length - 1 && text.length >= eachMax('streamBytes')) {
      const position = { at: event.position! - 1, seen: inStep };
      yield { text, count: index + 1, position, hasMore: false, isLast: false };
      text = '';
    }
  }
  const position = { at: Math.max(at, endedAt), seen: 0 };
  yield { text, count: events.length, position, hasMore: cursor !== null, isLast: true };
}
