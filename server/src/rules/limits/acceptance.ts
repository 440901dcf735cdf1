// Whether a node accepts messages and changes now. Publishing, the API, /readyz, schedules, bulk operations and the
// metrics all ask here, so that the reason has the same text everywhere.

import type { NodeRole } from '../nodes/node.ts';
import type { Problem } from '../requests/problem.ts';
import type { DiskMark } from './disk-marks.ts';

export interface NodeFacts {
  /** False once the node is stopping. */
  readonly isServing: boolean;
  readonly role: NodeRole;
  /** The files of the store were removed or replaced since they were opened. */
  readonly areFilesGone: boolean;
  /** What may still be stored on the disk. */
  readonly diskMark: DiskMark;
  /** The last write found no space. Messages are still accepted, because the next write may find some. */
  readonly wasDiskFull: boolean;
  /** The time of the node differs too much from the clock that all nodes share. */
  readonly isClockOff: boolean;
}

/** Why a store cannot be written to, as the store reports it. */
export interface StoreTrouble {
  /** The store is no longer the one that this node opened. */
  readonly isGone: boolean;
  readonly text: string;
}

export const STORE_SILENT: StoreTrouble = { isGone: false, text: 'the store does not respond' };

/** Why nothing may be accepted at all, or null. Limits of one account or of the current load are checked elsewhere. */
export function whyNothingIsAccepted({ isServing, role, areFilesGone, diskMark }: NodeFacts): Problem | null {
  if (!isServing) return { code: 'draining', message: 'this node is shutting down; nothing was accepted' };
  if (role === 'deliver') return { code: 'deliver_only', message: 'this node only delivers; publish to another node' };
  if (areFilesGone) return storeGone('accepted');
  return diskMark === 'all' ? diskFull('accepted') : null;
}

/**
 * Why the API may change nothing, or null. If the files are gone, a change would be lost. On a full disk, only changes
 * that store more are refused: deleting makes room.
 */
export function whyNothingIsChanged({ areFilesGone, diskMark }: NodeFacts, storesMore: boolean): Problem | null {
  if (areFilesGone) return storeGone('changed');
  return diskMark === 'all' && storesMore ? diskFull('changed') : null;
}

function diskFull(what: 'accepted' | 'changed'): Problem {
  return { code: 'disk_full', message: `the disk of the server is nearly full; nothing was ${what}` };
}

function storeGone(what: 'accepted' | 'changed'): Problem {
  const message = `the files of the store were removed or replaced while the server was running; nothing was ${what}`;
  return { code: 'store_gone', message };
}

/**
 * Why the node makes no messages of its own (schedule ticks, bulk retries), or null. A node that only delivers or that
 * is shutting down makes them too.
 */
export function whyNothingIsMade(facts: NodeFacts): Problem | null {
  return whyNothingIsAccepted({ ...facts, isServing: true, role: 'all' });
}

/** Why a node should get no traffic, or null. A node that only delivers can be ready: its supervisor waits for that. */
export function whyNotReady(facts: NodeFacts, trouble: StoreTrouble | null): Problem | null {
  const refusal = whyNothingIsAccepted({ ...facts, role: 'all' });
  if (refusal) return refusal;
  if (facts.wasDiskFull) return { code: 'disk_full', message: 'the disk of the server is full' };
  if (facts.isClockOff)
    return {
      code: 'clock_off',
      message: 'the clock of this node is not reliable at the moment, so the node sends nothing',
    };
  return trouble && { code: trouble.isGone ? 'store_gone' : 'store_unavailable', message: trouble.text };
}
