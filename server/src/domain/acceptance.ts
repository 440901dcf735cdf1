// Whether a node accepts anything now. The one rule behind every refusal of a publish or a change, /readyz, schedules,
// bulk operations and the metric: who refuses says why in the same words everywhere.

import type { NodeRole } from './node.ts';
import type { Problem } from './problem.ts';

export interface NodeFacts {
  /** False from the signal to stop on. */
  readonly isServing: boolean;
  readonly role: NodeRole;
  /** The files of the store are no longer those that were opened. */
  readonly areFilesGone: boolean;
  /** Less is free than is kept free. */
  readonly isDiskLow: boolean;
  /** The last thing to be written found no space. What comes next is tried all the same: there may be some by then. */
  readonly wasDiskFull: boolean;
  /** Its time does not run evenly with the clock that all nodes share. */
  readonly isClockOff: boolean;
}

/** Why nothing may be accepted at all, or null. What is too much for one account or one moment is refused elsewhere. */
export function whyNothingIsAccepted({ isServing, role, areFilesGone, isDiskLow }: NodeFacts): Problem | null {
  if (!isServing) return { code: 'draining', message: 'this node is shutting down; nothing was accepted' };
  if (role === 'deliver') return { code: 'deliver_only', message: 'this node only delivers; publish to another' };
  if (areFilesGone) return storeGone('accepted');
  if (isDiskLow) return { code: 'disk_full', message: 'the disk of the server is nearly full; nothing was accepted' };
  return null;
}

/** Why nothing may be changed, what makes no message included, or null: it would be lost. On a full disk deleting helps. */
export function whyNothingIsChanged({ areFilesGone }: NodeFacts): Problem | null {
  return areFilesGone ? storeGone('changed') : null;
}

function storeGone(what: 'accepted' | 'changed'): Problem {
  const message = `the files of the store were removed or replaced under the running server; nothing was ${what}`;
  return { code: 'store_gone', message };
}

/** Why the node makes no messages by itself (ticks of schedules, retries in bulk), or null: also one that only delivers does. */
export function whyNothingIsMade(facts: NodeFacts): Problem | null {
  return whyNothingIsAccepted({ ...facts, isServing: true, role: 'all' });
}

/**
 * Why a node should get no traffic, or null. A node that only delivers does what it is there for: whoever starts it waits
 * until it is ready.
 */
export function whyNotReady(facts: NodeFacts, isStoreThere: boolean): Problem | null {
  const refusal = whyNothingIsAccepted({ ...facts, role: 'all' });
  if (refusal) return refusal;
  if (facts.wasDiskFull) return { code: 'disk_full', message: 'the disk of the server is full' };
  if (facts.isClockOff)
    return { code: 'clock_off', message: 'the clock of this node does not run evenly; it sends nothing' };
  return isStoreThere ? null : { code: 'store_unavailable', message: 'the store does not answer' };
}
