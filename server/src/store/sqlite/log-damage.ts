// Whether a write-ahead log has ended where it was cut off, which is usual, or was damaged where it had been written: then
// SQLite would leave out, without a word, what was acknowledged after the damage.

import { type Frame, isSame, LogFile, type Sums } from './log-frames.ts';

export interface LogLook {
  /** False: SQLite takes nothing of this log. */
  readonly isHeaderSound: boolean;
  readonly frames: number;
  /** The first frame that is not as it was written, from 0; null where all are good. */
  readonly firstBad: number | null;
  /** Transactions that ended in the log from there on: SQLite leaves them out. */
  readonly commitsLeftOut: number;
}

export interface JudgedFrame extends Frame {
  /** False also for what a log before this one has left behind it in the file. */
  readonly isOurs: boolean;
  readonly isGood: boolean;
}

/** Each frame is judged by itself: by the sums of the frame before it, as that one tells them or as they must be. */
export function* judgedFrames(log: LogFile): Generator<JudgedFrame> {
  const { header } = log;
  const salts = header.isSound ? header.salts : saltsOfFrames(log);
  let told: Sums = header.sums;
  let expected: Sums = header.sums;
  for (const frame of log.frames()) {
    // No page has the number 0: a frame of zeros adds up, but nobody has written it.
    const isOurs = salts !== null && isSame(frame.salts, salts) && frame.page !== 0;
    const afterTold = frame.sumsAfter(told);
    const isGood = isOurs && (isSame(afterTold, frame.sums) || isSame(frame.sumsAfter(expected), frame.sums));
    yield { ...frame, isOurs, isGood };
    told = frame.sums;
    expected = isGood ? frame.sums : afterTold;
  }
}

/**
 * Of a log without its header nobody knows the salts but its frames, and the first of them may be bad as well: those of the first
 * frame that goes on from the one before it. What an older log has left lies behind. Null where no two frames fit together.
 */
function saltsOfFrames(log: LogFile): Sums | null {
  let before: Pick<Frame, 'salts' | 'sums'> | null = null;
  let first: Sums | null = null;
  for (const frame of log.frames()) {
    const { salts, sums, page } = frame;
    if (page === 0) {
      before = null;
      continue;
    }
    if (before !== null && isSame(before.salts, salts) && isSame(frame.sumsAfter(before.sums), sums)) return salts;
    first ??= salts;
    before = { salts, sums };
  }
  return first;
}

/** Null where there is no log, or an empty one. */
export function lookAtLog(path: string, databasePageBytes: number): LogLook | null {
  const log = LogFile.open(path, databasePageBytes);
  if (log === null) return null;
  let frames = 0;
  const isHeaderSound = log.header.isSound;
  let firstBad: number | null = isHeaderSound ? null : 0;
  let commitsLeftOut = 0;
  for (const { index, isOurs, isGood, commitPages } of judgedFrames(log)) {
    if (isOurs || !isHeaderSound) frames = index + 1;
    if (!isGood) firstBad ??= index;
    if (firstBad === null || commitPages === 0) continue;
    // Also a bad one that says that it ended a transaction: nearly always its page is bad, not what it says.
    if (isGood || (isOurs && index === firstBad)) commitsLeftOut += 1;
  }
  return { isHeaderSound, frames, firstBad: firstBad !== null && firstBad < frames ? firstBad : null, commitsLeftOut };
}

/**
 * Each transaction is flushed before the next one is written. So of one transaction at most, the last one, parts can be missing
 * after a power cut, and nobody was told that it was accepted. Where a second one has ended behind the bad frame, the
 * first had been flushed: what is bad was good once. The header is flushed before the first frame is written: with frames
 * behind it, it was good once too.
 */
export function isDamaged({ isHeaderSound, frames, commitsLeftOut }: LogLook): boolean {
  return commitsLeftOut >= 2 || (!isHeaderSound && frames > 0);
}
