// Live events: parses Server-Sent Events from a body, however the body is cut into chunks. When a connection breaks, a
// new one continues after the last event.

import { query } from './call.ts';
import { PostriderError, UnreachableError } from './errors.ts';
import type { MessageQuery } from './message-query.ts';
import { backoffMs, pause } from './retry.ts';
import type { Exchange } from './send.ts';
import type { MessageEvent } from './shapes.ts';

export interface StreamedEvent {
  /** The id of the event. As `lastEventId`, it continues the stream after this event when the connection has broken. */
  readonly id: string;
  readonly event: MessageEvent;
}

export interface StreamOptions {
  readonly signal: AbortSignal;
  /** The stream continues after the event with this id. Without it, the stream begins with the next event. */
  readonly lastEventId?: string | null;
  /** Called when the connection is open. The stream contains every event that happens after this. */
  readonly onOpen?: () => void;
  /** Called with each position in the stream, including positions without an event. */
  readonly onPosition?: (id: string) => void;
}

export interface TailOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * The `eventId` of the last event that the caller has seen. The stream first sends the events after it, then live
   * events. Without it, the stream sends live events only.
   */
  readonly after?: string | undefined;
  readonly onOpen?: (() => void) | undefined;
  /** Called when the connection is lost and will be opened again. */
  readonly onLost?: ((error: unknown) => void) | undefined;
}

export type TailedEvent = MessageEvent & { readonly eventId: string };

/** How long a connection may be silent before it counts as lost. The service sends something every 5 seconds. */
const SILENCE_MS_MAX = 45_000;
const LINE_LENGTH_MAX = 64 * 1024 * 1024;

/** Live events until `signal` aborts or the connection ends. */
export async function* stream(
  exchange: Exchange,
  filter: MessageQuery,
  { signal, lastEventId, onOpen, onPosition }: StreamOptions,
): AsyncGenerator<StreamedEvent> {
  const call = {
    method: 'GET' as const,
    path: `/v2/events/stream${query(filter)}`,
    headers: { Accept: 'text/event-stream', ...(lastEventId && { 'Last-Event-ID': lastEventId }) },
  };
  const body = await exchange(call, async (response) => response.body, { signal, hasNoDeadline: true });
  onOpen?.();
  if (body) yield* readEventStream(body, onPosition);
}

/**
 * Live events. When a connection breaks, a new one continues after the last event, so no event is lost or sent twice.
 */
export async function* tail(
  exchange: Exchange,
  filter: MessageQuery,
  { signal = new AbortController().signal, after, onOpen, onLost }: TailOptions = {},
): AsyncGenerator<TailedEvent> {
  let position = after ?? null;
  let wasOpen = false;
  let tries = 0;
  const onPosition = (id: string) => {
    position = id;
  };
  while (!signal.aborted) {
    try {
      const opened = () => {
        if (!wasOpen) onOpen?.();
        wasOpen = true;
        tries = 0;
      };
      const options = { signal, lastEventId: position, onOpen: opened, onPosition };
      for await (const { id, event } of stream(exchange, filter, options)) yield { ...event, eventId: id };
      onLost?.(new UnreachableError('the service ended the stream'));
    } catch (error) {
      if (signal.aborted) return;
      if (!wasOpen || !isTemporaryError(error)) throw error;
      onLost?.(error);
    }
    await pause(backoffMs(tries), signal).catch(() => {});
    tries += 1;
  }
}

/** Whether the service is unavailable or busy, and may respond later. */
export function isTemporaryError(error: unknown): boolean {
  return !(error instanceof PostriderError) || error.status >= 500 || error.status === 429;
}

async function* readEventStream(
  body: ReadableStream<Uint8Array>,
  onPosition: ((id: string) => void) | undefined,
): AsyncGenerator<StreamedEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let waiting = '';
  const silence = { timer: setTimeout(() => {}, 0) };
  try {
    for (;;) {
      clearTimeout(silence.timer);
      silence.timer = setTimeout(() => reader.cancel().catch(() => {}), SILENCE_MS_MAX);
      const { done, value } = await reader.read();
      if (done) return;
      waiting += decoder.decode(value, { stream: true });
      const blocks = waiting.split('\n\n');
      waiting = blocks.pop()!;
      if (waiting.length > LINE_LENGTH_MAX) throw new PostriderError(200, '', 'the response is not a stream of events');
      for (const block of blocks) {
        const { id, data } = parseBlock(block);
        const event = data === '' ? null : eventOf(data);
        // The position moves only after the caller has taken the event, so that no event is skipped later.
        if (event) yield { id, event };
        if (id !== '') onPosition?.(id);
      }
    }
  } finally {
    clearTimeout(silence.timer);
    // When the caller stops reading, the connection is released as well.
    await reader.cancel().catch(() => {});
  }
}

function parseBlock(block: string): { readonly id: string; readonly data: string } {
  let id = '';
  let data = '';
  for (const line of block.split('\n')) {
    if (line.startsWith('id: ')) id = line.slice(4);
    else if (line.startsWith('data: ')) data += line.slice(6);
  }
  return { id, data };
}

function eventOf(data: string): MessageEvent {
  try {
    return JSON.parse(data) as MessageEvent;
  } catch {
    throw new PostriderError(200, '', 'the response is not a stream of events');
  }
}
