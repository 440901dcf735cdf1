// Follows messages until each of them has ended, and prints every step.

import type { Client } from 'postrider-sdk';
import { interruptedExit } from '../../frame/command-line.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import type { Output } from '../../frame/output.ts';
import type { Io } from '../../frame/terminal.ts';
import { eventText } from './event-text.ts';
import { follow } from './follow.ts';

/** More ids would make the address of the stream too long: then all events are read, and the others left out here. */
const FILTER_IDS_MAX = 100;
/** The clock of this machine may be ahead of the service's. */
const CLOCKS_APART_MS = 86_400_000;

export interface WaitOptions {
  readonly out: Output;
  readonly io: Io;
  readonly startedAt: number;
  /** Null waits as long as it takes. */
  readonly maxMs: number | null;
}

export async function waitForEnd(client: Client, ids: readonly string[], options: WaitOptions): Promise<number> {
  const { out, io, maxMs, startedAt } = options;
  const open = new Set(ids);
  const asked = new Set(ids);
  const cancelled = new Set<string>();
  let failed = 0;
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
      if (!asked.has(event.messageId)) continue;
      if (out.isJson) await out.record(event);
      else await out.streamed(eventText(event, out, ids.length === 1));
      if (event.state === 'HELD')
        out.note(`It is held until somebody releases or cancels it: postrider messages release ${event.messageId}`);
      if (event.state === 'CANCEL_REQUESTED') cancelled.add(event.messageId);
      // A message that is to be cancelled may still report an attempt as delivered before it ends.
      const isDelivered = event.state === 'DELIVERED' && !cancelled.has(event.messageId);
      const hasEnded = event.state === 'FAILED' || event.state === 'CANCELLED' || isDelivered;
      if (!hasEnded || !open.delete(event.messageId)) continue;
      if (event.state !== 'DELIVERED') failed += 1;
      if (open.size === 0) break;
    }
  } finally {
    cancel();
    over.abort();
  }
  if (open.size === 0) return failed === 0 ? EXIT.done : EXIT.notDelivered;
  const left = [...open].slice(0, 3).join(', ') + (open.size > 3 ? ` and ${open.size - 3} more` : '');
  out.note(`Stopped waiting. The service goes on with ${left}: postrider why ${[...open][0]}`);
  return io.interrupted.aborted ? interruptedExit(io.interrupted) : EXIT.notDelivered;
}
