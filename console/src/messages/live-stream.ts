// Follows the live stream of a list of messages: connects, continues after the last event when the connection is lost,
// and notices when a connection that is still open has gone silent.

import { type Client, type MessageFilter, PostriderError, type StreamedEvent } from 'postrider-sdk';

/**
 * `stale`: the connection is open, but nothing has arrived for too long; the service may hang, or the network may drop
 * all packets. `offline`: the connection was lost or refused, and a new one is tried.
 */
export type Liveness = 'connecting' | 'live' | 'stale' | 'offline';

export interface LiveStreamEvents {
  readonly onEvent: (event: StreamedEvent) => void;
  /** `isGapless` means that no event was missed since the last connection. */
  readonly onOpen: (isGapless: boolean) => void;
  /** `since` is the time when something last arrived from the service. */
  readonly onChange: (live: Liveness, since: number) => void;
  readonly onError: (error: Error) => void;
}

const RECONNECT_MS = 1000;
/** How long to wait after an error that will probably occur again. */
const RECONNECT_LATER_MS = 10_000;
/**
 * How long a connection may be silent before it counts as lost. The service sends something at least every 5 seconds.
 */
const SILENCE_MS_MAX = 12_000;
/** How long to wait for the first response. A service that hangs accepts a connection and sends no response. */
const OPENING_MS_MAX = 20_000;
const CHECK_EVERY_MS = 1000;

export class LiveStream {
  readonly #client: Client;
  readonly #filter: MessageFilter;
  readonly #events: LiveStreamEvents;
  /** Aborted by `stop`. Null before `start` and after `stop`. */
  #following: AbortController | null = null;
  #connection: AbortController | null = null;
  #live: Liveness = 'connecting';
  #position: string | null = null;
  #heardAt = 0;
  #heardOn = 0;

  constructor(client: Client, filter: MessageFilter, events: LiveStreamEvents) {
    this.#client = client;
    this.#filter = filter;
    this.#events = events;
  }

  start(): void {
    this.stop();
    const following = new AbortController();
    this.#following = following;
    this.#heard();
    void this.#follow(following.signal);
    const timer = setInterval(() => this.#check(), CHECK_EVERY_MS);
    // A hidden page closes its connection. When it is shown again, it continues after the last event that it saw.
    const onVisible = () => {
      if (document.hidden) this.#connection?.abort();
    };
    document.addEventListener('visibilitychange', onVisible);
    following.signal.addEventListener('abort', () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', onVisible);
      this.#connection?.abort();
    });
  }

  stop(): void {
    this.#following?.abort();
    this.#following = null;
  }

  /** Lets the next connection start with new events only. */
  forget(): void {
    this.#position = null;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    this.#become('connecting');
    while (!signal.aborted) {
      const waitMs = document.hidden ? RECONNECT_MS : await this.#followOnce(signal);
      if (!signal.aborted) await pause(waitMs, signal);
    }
  }

  /** Follows one connection until it ends. Returns how long to wait before the next one. */
  async #followOnce(signal: AbortSignal): Promise<number> {
    const connection = new AbortController();
    this.#connection = connection;
    const opening = setTimeout(() => connection.abort(), OPENING_MS_MAX);
    let waitMs = RECONNECT_MS;
    try {
      const options = {
        signal: connection.signal,
        lastEventId: this.#position,
        onOpen: () => {
          clearTimeout(opening);
          this.#heard();
          this.#become('live');
          this.#events.onOpen(this.#position !== null);
        },
        onPosition: (id: string) => {
          this.#position = id;
          this.#heard();
        },
      };
      for await (const event of this.#client.stream(this.#filter, options)) {
        if (signal.aborted) return 0;
        this.#heard();
        this.#events.onEvent(event);
      }
    } catch (error) {
      if (error instanceof PostriderError && !signal.aborted) {
        this.#events.onError(error);
        if (error.status < 500 && error.status !== 429) waitMs = RECONNECT_LATER_MS;
      }
    } finally {
      clearTimeout(opening);
    }
    if (signal.aborted) return 0;
    // If the signal is aborted, we ended the connection: the page was hidden, or the service was silent.
    if (!connection.signal.aborted) this.#become('offline');
    else if (this.#live === 'live') this.#become('connecting');
    return waitMs;
  }

  #heard(): void {
    this.#heardAt = performance.now();
    this.#heardOn = Date.now();
  }

  #check(): void {
    if (document.hidden || this.#live === 'offline' || this.#live === 'stale') return;
    if (performance.now() - this.#heardAt < SILENCE_MS_MAX) return;
    this.#become('stale');
    // If only this connection is broken, a new one helps.
    this.#connection?.abort();
  }

  #become(live: Liveness): void {
    this.#live = live;
    this.#events.onChange(live, this.#heardOn);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
