// Ends attempts whose acks have not come in time. Any node ends them, whichever has sent the request.

import type { Acks, DueEnds } from './acks.ts';

/** How often a node looks: an attempt that was answered since the last look, or a cancelled message, may be the next. */
const LOOK_EVERY_MS = 1000;
/** The pause between two pieces while more acks are due. */
const PIECE_EVERY_MS = 5;
const PIECE_MAX = 100;
/**
 * The pause after a piece of which nothing ended: other nodes have ended it, or it cannot be written. Each further one
 * doubles it, so that attempts that cannot be ended do not fill the log.
 */
const LEFT_MS = 20;
const LEFT_MS_MAX = 5000;
/** The acks of cancelled messages are due whatever the time is. */
const CANCELLED_ONLY = 0;
const NEVER = Number.POSITIVE_INFINITY;

export interface AckKeeperOptions {
  readonly acks: Pick<Acks, 'endDue'>;
  /** Whether the time of this node is accurate enough. */
  readonly isTimeRight: () => boolean;
  /** Whether the clock is moved by hand. Then the loop is woken by every change, and looks at no interval. */
  readonly isByHand: boolean;
}

function untilNext({ nextAt }: DueEnds, now: number, isByHand: boolean): number {
  return Math.min(isByHand ? NEVER : LOOK_EVERY_MS, nextAt === null ? NEVER : Math.max(1, nextAt - now));
}

export function ackKeeper({ acks, isTimeRight, isByHand }: AckKeeperOptions) {
  let leftMs = LEFT_MS;
  const afterPiece = (ended: number) => {
    const pause = leftMs;
    leftMs = ended > 0 ? LEFT_MS : Math.min(2 * leftMs, LEFT_MS_MAX);
    if (ended === 0) return pause;
    return isByHand ? 0 : PIECE_EVERY_MS;
  };
  return {
    name: 'acks',
    /** Acks are due by the time of the service. */
    dueBelowMs: NEVER,
    async run(now: number): Promise<number> {
      const dueBy = isTimeRight() ? now : CANCELLED_ONLY;
      const ends = await acks.endDue(now, PIECE_MAX, dueBy);
      if (ends.found > 0) return afterPiece(ends.ended);
      return dueBy === now ? untilNext(ends, now, isByHand) : LOOK_EVERY_MS;
    },
  };
}
