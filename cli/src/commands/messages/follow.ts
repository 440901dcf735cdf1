// Events of messages as they happen: past events first, then the live stream. A broken connection is opened again after
// the last event, so that no event is lost or shown twice.

import { type Client, type MessageEvent, type MessageFilter, PostriderError, UnreachableError } from 'postrider-sdk';
import type { Clock } from '../../../../server/src/runtime/world.ts';

export interface FollowOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** The time at which the past events begin. Without it, only new events are read. */
  readonly from?: number;
  /** Called once for each lost connection, however long the connection stays lost. */
  readonly onLost: (why: string) => void;
  readonly onBack?: () => void;
  readonly onOpen?: () => void;
}

const AGAIN_AFTER_MS = 1000;
const PAGE = 1000;

export async function* follow(
  client: Client,
  filter: MessageFilter,
  options: FollowOptions,
): AsyncGenerator<MessageEvent> {
  const { signal, clock, from } = options;
  // This time is by the service's clock. Until the first event has come, a broken connection continues from this time.
  const beganAt = from ?? (await client.overview()).now;
  const follower = new Follower(client, filter, beganAt, options);
  while (!signal.aborted) {
    yield* follower.events();
    await pause(clock, AGAIN_AFTER_MS, signal);
  }
}

type Stream = ReturnType<Client['stream']>;

class Follower {
  readonly #client: Client;
  readonly #filter: MessageFilter;
  readonly #beganAt: number;
  readonly #options: FollowOptions;
  /** The keys of the past events that were read. The live stream may send these events again. */
  readonly #seen = new Set<string>();
  #lastEventId: string | null = null;
  #isFirst = true;
  #isLost = false;

  constructor(client: Client, filter: MessageFilter, beganAt: number, options: FollowOptions) {
    this.#client = client;
    this.#filter = filter;
    this.#beganAt = beganAt;
    this.#options = options;
  }

  /**
   * The events of one connection, until it breaks. Throws if no connection has ever been open, or if another connection
   * would not help.
   */
  async *events(): AsyncGenerator<MessageEvent> {
    const { signal } = this.#options;
    const opened = Promise.withResolvers<void>();
    const lastEventId = this.#lastEventId;
    const stream = this.#client.stream(this.#filter, { signal, lastEventId, onOpen: opened.resolve });
    try {
      yield* this.#eventsOf(stream, opened.promise);
      this.#lose('the service ended the stream');
    } catch (error) {
      if (signal.aborted) return;
      if (this.#isFirst || !isTemporaryError(error)) throw error;
      this.#lose((error as Error).message);
    } finally {
      // The reader may stop at any event. The timers of the stream would then keep the process alive.
      stream.return(undefined).catch(() => {});
    }
  }

  async *#eventsOf(stream: Stream, opened: Promise<void>): AsyncGenerator<MessageEvent> {
    const first = stream.next();
    // When this promise rejects, its reader may have left. Then nobody else would handle the error.
    first.catch(() => {});
    // Waits until the connection is open or has failed.
    await Promise.race([opened, first]);
    const hasHistory = this.#lastEventId === null && (!this.#isFirst || this.#options.from !== undefined);
    this.#open();
    if (hasHistory) yield* this.#unseen(history(this.#client, { ...this.#filter, fromDate: this.#beganAt }));
    for (let next = await first; !next.done; next = await stream.next()) {
      this.#lastEventId = next.value.id;
      if (!this.#seen.has(keyOf(next.value.event))) yield next.value.event;
    }
  }

  async *#unseen(events: AsyncIterable<MessageEvent>): AsyncGenerator<MessageEvent> {
    for await (const event of events) {
      const key = keyOf(event);
      if (this.#seen.has(key)) continue;
      this.#seen.add(key);
      yield event;
    }
  }

  #open(): void {
    const { onBack, onOpen } = this.#options;
    if (this.#isLost) onBack?.();
    if (this.#isFirst) onOpen?.();
    this.#isLost = false;
    this.#isFirst = false;
  }

  #lose(why: string): void {
    if (!this.#isLost) this.#options.onLost(why);
    this.#isLost = true;
  }
}

/** Whether another try may succeed. */
export function isTemporaryError(error: unknown): boolean {
  const isOfService = error instanceof PostriderError && error.status >= 500;
  return error instanceof UnreachableError || isOfService || isCut(error);
}

async function* history(client: Client, filter: MessageFilter): AsyncGenerator<MessageEvent> {
  let cursor: string | undefined;
  do {
    const page = await client.listEvents({ ...filter, order: 'oldestFirst', count: PAGE, ...(cursor && { cursor }) });
    yield* page.events;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Identifies an event: a message never reaches the same state of the same attempt twice in one millisecond. */
function keyOf({ messageId, time, state, attempt }: MessageEvent): string {
  return `${messageId} ${time} ${state} ${attempt ?? ''}`;
}

/** Whether the error means that a stream broke in the middle: the runtime reports that as a TypeError. */
function isCut(error: unknown): boolean {
  return error instanceof TypeError && /terminated|network|closed/i.test(error.message);
}

/** Waits for a time. The wait ends early when the signal aborts. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}
