// The clock of a node: its times, and how they relate to the time that the store keeps. In a running service it is a
// ServiceClock; in `dev --clock manual` a ManualTime.

import type { KeeperState, KeptTime } from '../rules/time/clock.ts';
import type { Clock } from '../runtime/world.ts';
import type { DeliveryStore, LastKeptTime } from '../store/ports/delivery-store.ts';

export interface NodeClock extends Clock {
  /** Continues from the time kept in the store. Call this before any time is read from the store or written to it. */
  begin(store: Pick<DeliveryStore, 'storedTime'>): Promise<void>;
  /**
   * Call this every few seconds, with the heartbeat. `keep` gives the time to the store and returns what the store
   * knows.
   */
  keep(keep: (time: KeptTime) => Promise<LastKeptTime>): Promise<void>;
  /** The state for a further lane of the process. Null for a clock of a process that has no further lanes. */
  readonly state: KeeperState | null;
  readonly isBelieved: boolean;
  /** How far this clock was ahead of the store's clock at the last heartbeat, which corrected it. Negative: behind. */
  readonly offMs: number;
  /**
   * Whether this clock runs unevenly compared with the store's clock: between two heartbeats it is unknown how far it
   * is off.
   */
  readonly isOff: boolean;
  /** Whether the time is certain enough to decide what has expired. */
  readonly isProven: boolean;
  /** How far the wall clock is ahead of the trusted time. */
  readonly aheadMs: number;
  /** How often the trusted wall clock was set back. */
  readonly timesSetBack: number;
}
