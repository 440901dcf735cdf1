// A message that has not ended, and the queue and keys it belongs to. For code that ends or releases it.

import { earlier } from '../../../rules/time/instant.ts';
import type { QueueAtHost } from '../../shared/succession.ts';
import { keyOf, Pairs } from '../groups/lines.ts';
import type { Database } from '../sessions/database.ts';
import { admitWaiting, type LockedKeys, lockKeys } from './flow-keys.ts';
import { OrderKeys } from './order-keys.ts';
import { type FreedPlaces, type LockedQueues, lockQueues, type StartedHeads, startHeads } from './queues.ts';

/** A message that has not ended, and what waits for its end. */
export interface OpenMessage extends QueueAtHost {
  readonly seq: number;
  readonly id: string;
  readonly lease: string | null;
  readonly claimed_at: number | null;
  readonly order_key: string | null;
  readonly flow_key: string | null;
  readonly deduplication_key: string | null;
  readonly interrupted: number;
}

export const OPEN_MESSAGE_COLUMNS =
  'm.account_id, m.seq, m.id, m.lease, m.claimed_at, m.host, m.queue_name, m.order_key, m.flow_key, m.deduplication_key, m.interrupted';

/** The queues and flow keys of these messages, locked before anything in them is changed. */
export class LockedLines {
  readonly queues: LockedQueues;
  readonly keys: LockedKeys;

  private constructor(queues: LockedQueues, keys: LockedKeys) {
    this.queues = queues;
    this.keys = keys;
  }

  static async lock(database: Database, held: readonly OpenMessage[]): Promise<LockedLines> {
    const queues = new Pairs();
    const keys = new Pairs();
    for (const { account_id, queue_name, flow_key } of held) {
      if (queue_name !== null) queues.add(account_id, queue_name);
      if (flow_key !== null) keys.add(account_id, flow_key);
    }
    return new LockedLines(await lockQueues(database, queues), await lockKeys(database, keys));
  }

  isPaused({ account_id, queue_name }: OpenMessage): boolean {
    return queue_name !== null && Boolean(this.queues.get(keyOf(account_id, queue_name))?.is_paused);
  }

  /** Starts the messages that waited for those in `held`: in the same queue, or for the same order key or flow key. */
  async startWaitingMessages(
    database: Database,
    held: readonly OpenMessage[],
    now: number,
    successors: FreedPlaces | null = null,
  ): Promise<StartedHeads> {
    const orderKeys = new OrderKeys();
    for (const { account_id, queue_name, order_key } of held) {
      if (queue_name !== null && order_key !== null) orderKeys.add(account_id, queue_name, order_key);
    }
    await orderKeys.correct(database);
    const heads = await startHeads(database, this.queues, now, { successors });
    return { ...heads, dueAt: earlier(heads.dueAt, await admitWaiting(database, this.keys, now)) };
  }
}

/**
 * Call it when attempts have ended but their messages have not, under the lock of their queues. A message releases its
 * place if an earlier message of the queue lost its own when the parallelism was lowered; `startHeads` then gives the
 * place to the first. An earlier message that never had a place (`ready_at` is null) does not count: it arrived after
 * this one had started.
 */
export async function releasePlaceIfOvertaken(database: Database, held: readonly OpenMessage[]): Promise<void> {
  const queued = held.filter(({ queue_name }) => queue_name !== null);
  if (queued.length === 0) return;
  await database.run(
    `UPDATE messages m SET state = 'queued', holds_place = false
       FROM unnest($1::text[], $2::bigint[]) AS g (account_id, seq)
       WHERE m.account_id = g.account_id AND m.seq = g.seq AND m.holds_place AND EXISTS
         (SELECT 1 FROM messages w
            WHERE w.state = 'queued' AND NOT w.holds_place AND w.is_first_of_key AND w.queue_name IS NOT NULL
              AND w.account_id = m.account_id AND w.queue_name = m.queue_name
              AND w.ready_at IS NOT NULL AND (w.first_due_at, w.seq) < (m.first_due_at, m.seq))`,
    queued.map(({ account_id }) => account_id),
    queued.map(({ seq }) => seq),
  );
}

/** Deletes the deduplication keys of these messages, so that later messages with these keys are no duplicates. */
export async function forgetDeduplication(database: Database, ended: readonly OpenMessage[]): Promise<void> {
  const keyed = ended.filter(({ deduplication_key }) => deduplication_key !== null);
  if (keyed.length === 0) return;
  await database.run(
    `DELETE FROM deduplication d USING unnest($1::text[], $2::text[], $3::text[]) AS g (account_id, key, message_id)
       WHERE d.account_id = g.account_id AND d.key = g.key AND d.message_id = g.message_id`,
    keyed.map(({ account_id }) => account_id),
    keyed.map(({ deduplication_key }) => deduplication_key),
    keyed.map(({ id }) => id),
  );
}
