// Live events for the console and for `tail`. Each reader is fed from the journal at its own place, so little is kept
// in memory for it; one that does not keep up is let go and may come back with the last event's id.

import type { ServerResponse } from 'node:http';
import type { EventFilter, Store } from '../store/store.ts';
import type { Clock } from '../world.ts';
import { ANSWER_HEADERS, ApiError } from './errors.ts';
import { eventView } from './message-view.ts';

const READERS_MAX = 1000;
const PAGE = 100;
/** How long a reader may leave its socket full. */
const PATIENCE_MS = 30_000;
/** News within this time are read together. */
const GATHER_MS = 100;
/** A sign of life, so that proxies keep the connection open. */
const PING_EVERY_MS = 15_000;

/** How far a reader is: behind this place of the journal, and so many events of the step that follows. */
export interface ReaderPlace {
  readonly at: number;
  readonly seen: number;
}

interface Reader {
  readonly response: ServerResponse;
  readonly accountId: string;
  readonly filter: EventFilter;
  place: ReaderPlace;
  isReading: boolean;
  hasNews: boolean;
}

export class EventStreams {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #readers = new Set<Reader>();
  #isClosed = false;
  #cancelGather: (() => void) | null = null;
  #cancelPing: (() => void) | null = null;
  #stopListening: (() => void) | null = null;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Where a reader starts: behind the event it saw last, else with what happens from now on. Refuses one too many. */
  async placeFor(accountId: string, lastSeen: unknown): Promise<ReaderPlace> {
    if (this.#isClosed) throw new ApiError('draining', 'this node is shutting down');
    if (this.#readers.size >= READERS_MAX) throw new ApiError('overloaded', 'too many live readers; try again later');
    const [, step, index] = /^(\d{1,16})\.(\d{1,2})$/.exec(String(lastSeen)) ?? [];
    if (step === undefined) return { at: await this.#store.journalEnd(accountId), seen: 0 };
    return { at: Number(step) - 1, seen: Number(index) };
  }

  open(response: ServerResponse, accountId: string, filter: EventFilter, place: ReaderPlace): void {
    if (this.#isClosed || response.destroyed) {
      response.destroy();
      return;
    }
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      ...ANSWER_HEADERS,
      'X-Accel-Buffering': 'no',
    });
    response.write(': connected\n\n');
    const reader = { response, accountId, filter, place, isReading: false, hasNews: false };
    this.#readers.add(reader);
    response.on('close', () => this.#remove(reader));
    this.#stopListening ??= this.#store.onJournal(() => this.#gather());
    this.#cancelPing ??= this.#clock.after(PING_EVERY_MS, () => this.#ping());
    // Also for what happened between the reading of its place and the listening.
    this.#gather();
  }

  close(): void {
    this.#isClosed = true;
    for (const reader of this.#readers) reader.response.end();
    this.#readers.clear();
    this.#rest();
  }

  #remove(reader: Reader): void {
    this.#readers.delete(reader);
    if (this.#readers.size === 0) this.#rest();
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
      for (const reader of this.#readers) void this.#feed(reader);
    });
  }

  #ping(): void {
    for (const { response } of this.#readers) response.write(': ping\n\n');
    this.#cancelPing = this.#clock.after(PING_EVERY_MS, () => this.#ping());
  }

  async #feed(reader: Reader): Promise<void> {
    reader.hasNews = true;
    if (reader.isReading) return;
    reader.isReading = true;
    try {
      while (reader.hasNews && this.#readers.has(reader)) {
        reader.hasNews = false;
        if (!(await this.#sendPage(reader))) reader.response.destroy();
      }
    } catch {
      // The store is away: the reader comes back when it sees the connection end.
      reader.response.destroy();
    } finally {
      reader.isReading = false;
    }
  }

  /** False when the reader does not take what it is sent. */
  async #sendPage(reader: Reader): Promise<boolean> {
    const page = { limit: PAGE, cursor: reader.place.at, order: 'oldestFirst', withBodies: false } as const;
    const { events, cursor, endedAt } = await this.#store.listEvents(reader.accountId, reader.filter, page);
    const { at, seen } = reader.place;
    for (const [index, event] of events.entries()) {
      // The events of a step share its place; a reader that was cut off between them has seen only the first ones.
      const inStep = index - events.findIndex(({ place }) => place === event.place) + 1;
      if (event.place === at + 1 && inStep <= seen) continue;
      const data = JSON.stringify(eventView(event));
      const hasRoom = reader.response.write(`id: ${event.place}.${inStep}\nevent: ${event.state}\ndata: ${data}\n\n`);
      if (!hasRoom && !(await this.#isDrained(reader.response))) return false;
      if (!this.#readers.has(reader)) return true;
    }
    reader.place = { at: Math.max(at, endedAt), seen: 0 };
    reader.hasNews ||= cursor !== null;
    return true;
  }

  /** Resolves when there is room again (true), or when the reader is gone or took too long (false). */
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
