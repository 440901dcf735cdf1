// Linux gives each thread its own share of the processors. A thread that works for one account at a time gets less of
// it while all processors are busy, so that the event loops and the writer, which everybody waits for, run first.

import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/** A thread calls this for itself. On other systems, or where it is not allowed, the priority stays as it is. */
export function setOwnPriority(priority: number): void {
  try {
    // The link leads to `<process>/task/<thread>`.
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), priority);
  } catch {
    // Only the shares of the threads are different then.
  }
}
