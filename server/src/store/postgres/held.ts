// A message that has not ended, and the queue and keys it belongs to. For code that ends or releases it.

import { earlier } from '../../domain/instant.ts';
import type { QueueAtHost } from '../succession.ts';
import type { Database } from './database.ts';
import { admitWaiting, type LockedKeys, lockKeys } from './flow-keys.ts';
import { keyOf, Pairs } from './lines.ts';
import { type Heads, type LockedQueues, lockQueues, OrderKeys, type SuccessorLeases, startHeads } from './queues.ts';

/** A message that has not ended, and what waits for its end. */
export interface Held extends QueueAtHost {
  readonly seq: number;
  readonly id: string;
  readonly lease: string | null;
  readonly claimed_at: number | null;
  readonly order_key: string | null;
  readonly flow_key: string | null;
  readonly deduplication_key: string | null;
  readonly interrupted: number;
}

export const HELD =
  'm.account_id, m.seq, m.id, m.lease, m.claimed_at, m.host, m.queue_name, m.order_key, m.flow_key, m.deduplication_key, m.interrupted';

/** The queues and flow keys of these messages, locked before anything in them is changed. */
export class Lines {
  readonly queues: LockedQueues;
  readonly keys: LockedKeys;

  private constructor(queues: LockedQueues, keys: LockedKeys) {
    this.queues = queues;
    this.keys = keys;
  }

  static async lock(database: Database, held: readonly Held[]): Promise<Lines> {
    const queues = new Pairs();
    const keys = new Pairs();
    for (const { account_id, queue_name, flow_key } of held) {
      if (queue_name !== null) queues.add(account_id, queue_name);
      if (flow_key !== null) keys.add(account_id, flow_key);
    }
    return new Lines(await lockQueues(database, queues), await lockKeys(database, keys));
  }

  isPaused({ account_id, queue_name }: Held): boolean {
    return queue_name !== null && Boolean(this.queues.get(keyOf(account_id, queue_name))?.is_paused);
  }

  /** Starts the messages that waited for these places: in their queues, for their order keys, under their flow keys. */
  async letOthersStart(
    database: Database,
    held: readonly Held[],
    now: number,
    successors: SuccessorLeases | null = null,
  ): Promise<Heads> {
    const orderKeys = new OrderKeys();
    for (const { account_id, queue_name, order_key } of held) {
      if (queue_name !== null && order_key !== null) orderKeys.add(account_id, queue_name, order_key);
    }
    await orderKeys.correct(database);
    const heads = await startHeads(database, this.queues, now, successors);
    return { ...heads, dueAt: earlier(heads.dueAt, await admitWaiting(database, this.keys, now)) };
  }
}
