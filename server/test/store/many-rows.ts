// A data directory with so many rows that moving them takes a while and several batches of most tables.

import { AT_NEXT_START } from '../../src/rules/lines/flow-control.ts';
import { openDirectory } from '../../src/store/sqlite/files/open.ts';

export function fillWithRows(directory: string, messages: number): void {
  const { database, close } = openDirectory(directory);
  const numbers = (to: number) => `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${to}) `;
  database.transaction(() => {
    database.exec(`
      ${numbers(3)} INSERT INTO accounts (id, name, tier, current_key, next_key, created_at)
        SELECT 'acc_' || i, 'name ' || i, 'free', 'a', 'b', i FROM n;
      ${numbers(2500)} INSERT INTO tokens (id, account_id, name, scopes, hash, created_at, revoked_at)
        SELECT 'tok_' || i, 'acc_' || (1 + i % 3), 'one', 'read', randomblob(32), i, CASE WHEN i % 2 THEN i END FROM n;
      ${numbers(30)} INSERT INTO usage SELECT 'acc_1', '2026-01-' || i, 'message', i FROM n;
      INSERT INTO topics (id, account_id, name, endpoints, defaults, created_at, updated_at, version)
        VALUES ('tpc_1', 'acc_1', 'news', '[]', '[]', 1, 1, 1);
      ${numbers(20)} INSERT INTO queues (account_id, name, parallelism, is_paused, next_start_at, created_at, updated_at)
        SELECT 'acc_1', 'q' || i, i, i % 2, NULL, i, i FROM n;
      ${numbers(2)} INSERT INTO flow_keys (account_id, key, period_ms, window_start_at, window_count, next_start_at)
        SELECT 'acc_1', 'k' || i, 1000, 1, 1, ${AT_NEXT_START} FROM n;
      INSERT INTO schedules (id, account_id, cron, destination, headers, is_paused, next_at, last_message_ids, created_at, body)
        VALUES ('scd_1', 'acc_1', '@daily', 'http://a.b', '[]', 0, 5, '[]', 1, x'00ff');
      ${numbers(1500)} INSERT INTO deduplication SELECT 'acc_1', 'é ' || i, 'msg_' || i, i FROM n;
      INSERT INTO jobs (id, account_id, action, filter, per_second, state, matched, done, created_at, updated_at, stored_bytes)
        VALUES ('job_1', 'acc_1', 'cancel', '{}', 1, 'stopped', 1, 1, 1, 1, 1026);
      ${numbers(messages)} INSERT INTO messages (id, account_id, kind, state, due_at, first_due_at, lease, node, claimed_at, url,
          host, method, headers, retries_max, timeout_ms, queue_name, hops, created_at, ended_at, expires_at, failure, body)
        SELECT 'msg_' || i, 'acc_' || (1 + i % 3), 'message',
          CASE i % 4 WHEN 0 THEN 'delayed' WHEN 1 THEN 'delivered' WHEN 2 THEN 'failed' ELSE 'claimed' END, i, i,
          CASE WHEN i % 4 = 3 THEN 'l' || i END, CASE WHEN i % 4 = 3 THEN 'nod_1' END, CASE WHEN i % 4 = 3 THEN i END,
          'http://a.b/' || i, 'a.b', 'POST', '[]', 3, 30000, CASE WHEN i % 5 = 0 THEN 'q' || (1 + i % 20) END, 0, i,
          CASE WHEN i % 4 IN (1, 2) THEN i END, CASE WHEN i % 4 IN (1, 2) THEN i + 9 END,
          CASE WHEN i % 4 = 2 THEN 'why ' || i END, randomblob(i % 3000) FROM n;
      INSERT INTO message_labels SELECT account_id, 'label ' || (seq % 7), seq FROM messages WHERE seq % 2;
      INSERT INTO attempts SELECT seq, 1, 1, 2, 'answered', 200, NULL, NULL, '[]', 0, randomblob(20) FROM messages
        WHERE seq % 3 > 0;
      INSERT INTO journal SELECT account_id, seq, created_at, seq, 0 FROM messages;
    `);
  });
  close();
}
