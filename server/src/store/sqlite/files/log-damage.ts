// Distinguishes a write-ahead log that was cut off at its end, which is normal, from a log that was damaged after it
// had been written. SQLite would silently drop the acknowledged transactions after the damage.

import { type Frame, isSamePair, LogFile, type Sums } from './log-frames.ts';

export interface LogState {
  /** If false, SQLite ignores the whole log. */
  readonly isHeaderSound: boolean;
  readonly frames: number;
  /** The first frame that is damaged, counted from 0; null if all are good. */
  readonly firstBad: number | null;
  /** How many transactions end at or after the bad frame. SQLite drops them. */
  readonly commitsLeftOut: number;
}

export interface CheckedFrame extends Frame {
  /** False for a frame that an earlier log left in the file. */
  readonly isOurs: boolean;
  readonly isGood: boolean;
}

/**
 * Checks each frame so that a damaged one does not make those after it look damaged: a frame is good if its checksums
 * continue those of the frame before it, either as stored there or as computed.
 */
export function* checkedFrames(log: LogFile): Generator<CheckedFrame> {
  const { header } = log;
  const salts = header.isSound ? header.salts : saltsOfFrames(log);
  let stored: Sums = header.sums;
  let expected: Sums = header.sums;
  for (const frame of log.frames()) {
    // A frame of zeros has a correct checksum, but SQLite did not write it, because no page has the number 0.
    const isOurs = salts !== null && isSamePair(frame.salts, salts) && frame.page !== 0;
    const afterStored = frame.sumsAfter(stored);
    const isGood = isOurs && (isSamePair(afterStored, frame.sums) || isSamePair(frame.sumsAfter(expected), frame.sums));
    yield { ...frame, isOurs, isGood };
    stored = frame.sums;
    expected = isGood ? frame.sums : afterStored;
  }
}

/**
 * Finds the salts (two numbers that all frames of one log share) if the log header is bad; the first frame may be bad
 * too. Returns the salts of the first frame that continues the frame before it, because frames of an older log come
 * later in the file. If no two frames fit together, returns the salts of the first frame; null if there is no frame.
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
    if (before !== null && isSamePair(before.salts, salts) && isSamePair(frame.sumsAfter(before.sums), sums))
      return salts;
    first ??= salts;
    before = { salts, sums };
  }
  return first;
}

/** Null if the log is missing or empty. */
export function readLogState(path: string, databasePageBytes: number): LogState | null {
  const log = LogFile.open(path, databasePageBytes);
  if (log === null) return null;
  let frames = 0;
  const isHeaderSound = log.header.isSound;
  let firstBad: number | null = isHeaderSound ? null : 0;
  let commitsLeftOut = 0;
  for (const { index, isOurs, isGood, commitPages } of checkedFrames(log)) {
    if (isOurs || !isHeaderSound) frames = index + 1;
    if (!isGood) firstBad ??= index;
    if (firstBad === null || commitPages === 0) continue;
    // This also counts a bad frame that is marked as the end of a transaction: nearly always its page is bad, and its
    // mark is right.
    if (isGood || (isOurs && index === firstBad)) commitsLeftOut += 1;
  }
  return { isHeaderSound, frames, firstBad: firstBad !== null && firstBad < frames ? firstBad : null, commitsLeftOut };
}

/**
 * Each transaction is flushed before the next one is written. So after a power cut, at most the last transaction is
 * incomplete, and it was never acknowledged. If two transactions end at or after the bad frame, the first of them had
 * been flushed, so the frame was good once and was damaged later. The header is flushed before the first frame, so a
 * bad header with frames after it was damaged later, too.
 */
export function isDamaged({ isHeaderSound, frames, commitsLeftOut }: LogState): boolean {
  return commitsLeftOut >= 2 || (!isHeaderSound && frames > 0);
}
