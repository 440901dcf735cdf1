// Follows messages until each of them has ended, and prints every step.

import type { Client, MessageEvent } from 'postrider-sdk';
import { EXIT, interruptedExit } from '../../frame/exit-codes.ts';
import type { Output } from '../../frame/output.ts';
import type { Io } from '../../frame/terminal.ts';
import { eventText } from './event-text.ts';
import { follow } from './follow.ts';

/**
 * Limit for the ids in the filter of the stream. More ids would make its URL too long: then all events are read and
 * filtered here.
 */
const FILTER_IDS_MAX = 100;
/** How far the clock of this machine may be ahead of the service's clock. */
const CLOCKS_APART_MS = 86_400_000;

export interface WaitOptions {
  readonly out: Output;
  readonly io: Io;
  readonly startedAt: number;
  /** How long to wait at most. Null means without a limit. */
  readonly maxMs: number | null;
}

export async function waitForEnd(client: Client, ids: readonly string[], options: WaitOptions): Promise<number> {
  const { out, io, maxMs, startedAt } = options;
  const waiting = new Waiting(ids);
  const over = new AbortController();
  const cancel = maxMs === null ? () => {} : io.world.clock.after(maxMs, () => over.abort());
  const signal = AbortSignal.any([io.interrupted, over.signal]);
  try {
    const isNamed = ids.length <= FILTER_IDS_MAX;
    const filter = isNamed ? { messageIds: ids } : {};
    const events = follow(client, filter, {
      signal,
      clock: io.world.clock,
      from: isNamed ? 0 : startedAt - CLOCKS_APART_MS,
      onLost: (why) => out.note(`The connection is lost (${why}). Trying again.`),
      onBack: () => out.note('The connection is back.'),
    });
    for await (const event of events) {
      if (!waiting.isAsked(event)) continue;
      await show(event, out, ids.length === 1);
      waiting.note(event);
      if (waiting.open.size === 0) break;
    }
  } finally {
    cancel();
    over.abort();
  }
  return outcomeOf(waiting, options);
}

function outcomeOf({ open, failed }: Waiting, { out, io }: WaitOptions): number {
  if (open.size === 0) return failed === 0 ? EXIT.done : EXIT.notDelivered;
  const left = [...open].slice(0, 3).join(', ') + (open.size > 3 ? ` and ${open.size - 3} more` : '');
  out.note(`Stopped waiting. The service continues with ${left}: postrider why ${[...open][0]}`);
  return io.interrupted.aborted ? interruptedExit(io.interrupted) : EXIT.notDelivered;
}

async function show(event: MessageEvent, out: Output, isOnlyOne: boolean): Promise<void> {
  if (out.isJson) await out.record(event);
  else await out.streamed(eventText(event, out, isOnlyOne));
  if (event.state === 'HELD')
    out.note(`It is held until somebody releases or cancels it: postrider messages release ${event.messageId}`);
}

/** Which messages have not ended yet, and how many were not delivered. */
class Waiting {
  readonly open: Set<string>;
  failed = 0;
  readonly #asked: ReadonlySet<string>;
  readonly #cancelled = new Set<string>();

  constructor(ids: readonly string[]) {
    this.open = new Set(ids);
    this.#asked = new Set(ids);
  }

  isAsked({ messageId }: MessageEvent): boolean {
    return this.#asked.has(messageId);
  }

  note({ messageId, state }: MessageEvent): void {
    if (state === 'CANCEL_REQUESTED') this.#cancelled.add(messageId);
    // A message whose cancel was requested may still report an attempt as delivered before it ends.
    const isDelivered = state === 'DELIVERED' && !this.#cancelled.has(messageId);
    const hasEnded = state === 'FAILED' || state === 'CANCELLED' || isDelivered;
    if (hasEnded && this.open.delete(messageId) && !isDelivered) this.failed += 1;
  }
}
