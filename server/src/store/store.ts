// The store: the four ports by which the rest of the program changes or reads durable state. Each verb is one transaction; when
// its promise resolves, what it wrote is on disk. Whoever uses the store takes the port it needs, not all of it.

import type { JobStep } from '../domain/job.ts';
import type { Message } from '../domain/message.ts';
import type { AccountStore } from './account-store.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { MessageStore } from './message-store.ts';
import type { ResourceStore } from './resource-store.ts';

/** How many messages stand where. Exact, but reads every row: for tests and `postrider` commands, not for requests. */
export type Counts = Readonly<Record<Message['state'], number>>;

/** All four ports, as whoever opens the store has them. */
export interface Store extends DeliveryStore, MessageStore, ResourceStore, AccountStore {
  counts(): Promise<Counts>;

  /** Notes a piece of its work. One that was stopped meanwhile stays so, but what was done is counted. */
  advanceJob(accountId: string, id: string, step: JobStep): Promise<void>;

  /**
   * Finishes what was asked, then lets go of the file or the connections. `onLeft` is called at the end, unless a database could
   * not be told that this node leaves: then it is missed after a while.
   */
  close(onLeft?: () => void): Promise<void>;
}

/**
 * The store cannot take this now. The caller's request changed nothing; but for `doubtful`, where the store went away
 * before it confirmed, and nobody can tell.
 */
export class StoreUnavailable extends Error {
  readonly reason: 'overloaded' | 'share' | 'full' | 'unavailable' | 'doubtful';
  constructor(reason: StoreUnavailable['reason'], message: string) {
    super(message);
    this.name = 'StoreUnavailable';
    this.reason = reason;
  }
}
