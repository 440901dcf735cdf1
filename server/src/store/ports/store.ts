// The store: the eight ports through which the program reads and changes durable state. Each verb is one transaction;
// when its promise resolves, its writes are on disk. Each caller takes only the port it needs.

import type { AccessStore } from './access-store.ts';
import type { AccountStore } from './account-store.ts';
import type { AckStore } from './ack-store.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { HostStore } from './host-store.ts';
import type { LineStore } from './line-store.ts';
import type { MessageStore } from './message-store.ts';
import type { ResourceStore } from './resource-store.ts';
import type { UpkeepStore } from './upkeep-store.ts';

/** All ports, for the code that opens the store. */
export interface Store
  extends DeliveryStore,
    UpkeepStore,
    MessageStore,
    LineStore,
    HostStore,
    AckStore,
    ResourceStore,
    AccountStore,
    AccessStore {
  /**
   * Finishes all calls, then closes the file or the connections. `onLeft` is called at the end, but not if the database
   * could not be notified that this node leaves. In that case the other nodes notice it later.
   */
  close(onLeft?: () => void): Promise<void>;
}

/** Called after each group of calls that shared a transaction: how long it took until it was on disk, and how many calls. */
export type OnCommit = (tookMs: number, calls: number) => void;

/**
 * Thrown in place of the result of a read that was dropped because its caller has disconnected. Nobody sees this error.
 */
export class CallerGone extends Error {
  override readonly name = 'CallerGone';
}

/**
 * The store cannot handle this call now. The call changed nothing, unless the error is `doubtful`: then the connection
 * was lost before the commit was confirmed, and the outcome is unknown. `share`: the account has used up its share of
 * the store. `full`: the disk is full. `gone`: the tables that this node opened do not exist any more.
 */
export class StoreUnavailable extends Error {
  readonly reason: 'overloaded' | 'share' | 'full' | 'unavailable' | 'gone' | 'doubtful';
  constructor(reason: StoreUnavailable['reason'], message: string) {
    super(message);
    this.name = 'StoreUnavailable';
    this.reason = reason;
  }
}
