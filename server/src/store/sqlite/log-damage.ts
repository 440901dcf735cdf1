// Whether a write-ahead log has ended where it was cut off, which is usual, or was damaged where it had been written: then
// SQLite would leave out, without a word, what was acknowledged after the damage.

import { type Frame, isSame, LogFile, type Sums } from './log-frames.ts';

export interface LogLook {
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
  let salts: Sums | null = header.isSound ? header.salts : null;
  let told: Sums = header.sums;
  let expected: Sums = header.sums;
  for (const frame of log.frames()) {
    // Of a log without its header nobody knows the salts but its frames.
    salts ??= frame.salts;
    const isOurs = isSame(frame.salts, salts);
    const afterTold = frame.sumsAfter(told);
    const isGood = isOurs && (isSame(afterTold, frame.sums) || isSame(frame.sumsAfter(expected), frame.sums));
    yield { ...frame, isOurs, isGood };
    told = frame.sums;
    expected = isGood ? frame.sums : afterTold;
  }
}

/** Null where there is no log, or an empty one. */
export function lookAtLog(path: string, databasePageBytes: number): LogLook | null {
  const log = LogFile.open(path, databasePageBytes);
  if (log === null) return null;
  let frames = 0;
  let firstBad: number | null = log.header.isSound ? null : 0;
  let commitsLeftOut = 0;
  for (const { index, isOurs, isGood, commitPages } of judgedFrames(log)) {
    if (isOurs) frames = index + 1;
    if (!isGood) firstBad ??= index;
    if (firstBad === null || commitPages === 0) continue;
    // Also a bad one that says that it ended a transaction: nearly always its page is bad, not what it says.
    if (isGood || (isOurs && index === firstBad)) commitsLeftOut += 1;
  }
  return { frames, firstBad: firstBad !== null && firstBad < frames ? firstBad : null, commitsLeftOut };
}

/**
 * Each transaction is flushed before the next one is written. So of one transaction at most, the last one, parts can be missing
 * after a power cut, and nobody was told that it was accepted. Where a second one has ended behind the bad frame, the
 * first had been flushed: what is bad was good once.
 */
export function isDamaged({ commitsLeftOut }: LogLook): boolean {
  return commitsLeftOut >= 2;
}
