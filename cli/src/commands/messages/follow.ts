// Events of messages as they happen: what has happened already is read first, then the live stream goes on from there.
// When the connection breaks, it is opened again after the last event, so that none is lost or shown twice.

import { type Client, type MessageEvent, type MessageFilter, PostriderError, UnreachableError } from 'postrider-sdk';
import type { Clock } from '../../../../server/src/runtime/world.ts';

export interface FollowOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Also what happened since then. Without it, only what happens from now on. */
  readonly from?: number;
  /** Once for each loss, however long it lasts. */
  readonly onLost: (why: string) => void;
  readonly onBack?: () => void;
  readonly onOpen?: () => void;
}

const AGAIN_AFTER_MS = 1000;
const PAGE = 1000;

export async function* follow(
  client: Client,
  filter: MessageFilter,
  { signal, clock, from, onLost, onBack, onOpen }: FollowOptions,
): AsyncGenerator<MessageEvent> {
  const seen = new Set<string>();
  let lastEventId: string | null = null;
  // By the service's clock. Until an event has come, it is where a broken connection is taken up again.
  const beganAt = from ?? (await client.overview()).now;
  let isFirst = true;
  let isLost = false;
  const lose = (why: string) => {
    if (!isLost) onLost(why);
    isLost = true;
  };
  for (;;) {
    let stream: ReturnType<Client['stream']> | null = null;
    try {
      const opened = Promise.withResolvers<void>();
      stream = client.stream(filter, { signal, lastEventId, onOpen: opened.resolve });
      const first = stream.next();
      // Nobody may be waiting for it when it fails: its reader can leave before.
      first.catch(() => {});
      // Whichever comes first: open, or an error.
      await Promise.race([opened.promise, first]);
      if (isLost) onBack?.();
      isLost = false;
      if (isFirst) onOpen?.();
      const isHistoryShown = lastEventId === null && (!isFirst || from !== undefined);
      isFirst = false;
      if (isHistoryShown) {
        for await (const event of history(client, { ...filter, fromDate: beganAt })) {
          const key = keyOf(event);
          if (seen.has(key)) continue;
          seen.add(key);
          yield event;
        }
      }
      for (let next = await first; !next.done; next = await stream.next()) {
        lastEventId = next.value.id;
        if (!seen.has(keyOf(next.value.event))) yield next.value.event;
      }
      lose('the service ended the stream');
    } catch (error) {
      if (signal.aborted) return;
      const isPassing =
        error instanceof UnreachableError || (error instanceof PostriderError && error.status >= 500) || isCut(error);
      if (isFirst || !isPassing) throw error;
      lose((error as Error).message);
    } finally {
      // Whoever reads may leave at any event. The stream has timers, which would keep the process alive.
      stream?.return(undefined).catch(() => {});
    }
    if (signal.aborted) return;
    await pause(clock, AGAIN_AFTER_MS, signal);
  }
}

async function* history(client: Client, filter: MessageFilter): AsyncGenerator<MessageEvent> {
  let cursor: string | undefined;
  do {
    const page = await client.listEvents({ ...filter, order: 'oldestFirst', count: PAGE, ...(cursor && { cursor }) });
    yield* page.events;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** A message never reaches the same state of the same attempt twice in one millisecond. */
function keyOf({ messageId, time, state, attempt }: MessageEvent): string {
  return `${messageId} ${time} ${state} ${attempt ?? ''}`;
}

/** The runtime reports a stream that broke in the middle as a TypeError. */
function isCut(error: unknown): boolean {
  return error instanceof TypeError && /terminated|network|closed/i.test(error.message);
}

/** Ends early when the signal aborts. */
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
