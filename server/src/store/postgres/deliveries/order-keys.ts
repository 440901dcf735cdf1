// Order keys of queues: of the open messages with one key, only the first can be a head.

import { wrongFirstMarks } from '../../../rules/lines/queue.ts';
import { keyOf } from '../groups/lines.ts';
import type { Database } from '../sessions/database.ts';

/** An order key of a queue, and how many of its messages were added or have ended together. */
export interface OrderKey {
  readonly accountId: string;
  readonly queueName: string;
  readonly orderKey: string;
  count: number;
}

export class OrderKeys {
  readonly #keys = new Map<string, OrderKey>();

  add(accountId: string, queueName: string, orderKey: string): void {
    const key = `${keyOf(accountId, queueName)}\n${orderKey}`;
    const known = this.#keys.get(key);
    if (known) known.count += 1;
    else this.#keys.set(key, { accountId, queueName, orderKey, count: 1 });
  }

  /**
   * Marks the first open message of each order key: only it can be a head. Call this under the lock of the queue, after
   * messages came or ended. The previous first message has moved back by at most the number of messages that came.
   */
  async correct(database: Database): Promise<void> {
    const keys = [...this.#keys.values()];
    if (keys.length === 0) return;
    const rows = await database.all<{ at: number; account_id: string; seq: number; isFirstOfKey: boolean }>(
      `SELECT g.at, g.account_id, m.seq, m.is_first_of_key AS "isFirstOfKey"
         FROM unnest($1::text[], $2::text[], $3::text[], $4::int[])
           WITH ORDINALITY AS g (account_id, queue_name, order_key, looked_at, at)
         CROSS JOIN LATERAL
           (SELECT seq, is_first_of_key, first_due_at FROM messages
              WHERE order_key IS NOT NULL AND ended_at IS NULL AND account_id = g.account_id
                AND queue_name = g.queue_name AND order_key = g.order_key
              ORDER BY first_due_at, seq LIMIT g.looked_at) AS m
         WHERE NOT EXISTS
           (SELECT 1 FROM messages h WHERE h.holds_place AND h.queue_name IS NOT NULL AND h.account_id = g.account_id
              AND h.queue_name = g.queue_name AND h.order_key = g.order_key)
         ORDER BY g.at, m.first_due_at, m.seq`,
      keys.map((key) => key.accountId),
      keys.map((key) => key.queueName),
      keys.map((key) => key.orderKey),
      keys.map((key) => key.count + 1),
    );
    const wrong = [...Map.groupBy(rows, ({ at }) => at).values()].flatMap(wrongFirstMarks);
    if (wrong.length === 0) return;
    await database.run(
      `UPDATE messages m SET is_first_of_key = g.is_first
         FROM unnest($1::text[], $2::bigint[], $3::boolean[]) AS g (account_id, seq, is_first)
         WHERE m.account_id = g.account_id AND m.seq = g.seq`,
      wrong.map(({ message }) => message.account_id),
      wrong.map(({ message }) => message.seq),
      wrong.map(({ isFirst }) => isFirst),
    );
  }
}
