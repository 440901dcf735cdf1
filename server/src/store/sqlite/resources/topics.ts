// The topics table: each topic is read and written whole, guarded by a version.

import { bytesOfTopic } from '../../../rules/limits/stored-bytes.ts';
import type { Topic } from '../../../rules/publish/topic.ts';
import { FIRST_PART, type ListPart, type ListPiece } from '../../ports/list-piece.ts';
import { TOPIC_COLUMNS, type TopicRow, toTopic } from '../../rows/rows.ts';
import { listByKey } from '../messages/list-by-key.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

export function getTopic(database: Database, accountId: string, nameOrId: string): Topic | null {
  const row =
    database.get<TopicRow>(
      `SELECT ${TOPIC_COLUMNS} FROM topics WHERE account_id = ? AND name = ?`,
      accountId,
      nameOrId,
    ) ??
    database.get<TopicRow>(`SELECT ${TOPIC_COLUMNS} FROM topics WHERE id = ? AND account_id = ?`, nameOrId, accountId);
  return row ? toTopic(row) : null;
}

export function listTopics(database: Database, accountId: string, part: ListPart = FIRST_PART): ListPiece<Topic> {
  const list = {
    table: 'topics',
    key: 'name',
    columns: TOPIC_COLUMNS,
    bytes: 'octet_length(endpoints) + octet_length(defaults)',
  };
  return listByKey<TopicRow, Topic>(database, list, accountId, part, toTopic);
}

export function saveTopic(
  database: Database,
  { stored }: Pick<TransactionCaches, 'stored'>,
  topic: Topic,
): 'saved' | 'changed' {
  const { id, accountId, version } = topic;
  if (topic.endpoints.length === 0) {
    const sql = 'DELETE FROM topics WHERE id = ? AND account_id = ? AND version = ?';
    return stored.delete(accountId, sql, id, accountId, version) > 0 ? 'saved' : 'changed';
  }
  if (writeTopic(database, topic) === 0) return 'changed';
  stored.weigh('topics', accountId, id, bytesOfTopic(topic));
  return 'saved';
}

/** Returns how many rows it changed: 0 if another change came first. */
function writeTopic(database: Database, topic: Topic): number {
  const endpoints = JSON.stringify(topic.endpoints);
  const defaults = JSON.stringify(topic.defaults);
  if (topic.version === 0) {
    return database.run(
      `INSERT INTO topics (id, account_id, name, endpoints, defaults, created_at, updated_at, version)
         VALUES (?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT DO NOTHING`,
      topic.id,
      topic.accountId,
      topic.name,
      endpoints,
      defaults,
      topic.createdAt,
      topic.updatedAt,
    );
  }
  return database.run(
    `UPDATE topics SET endpoints = ?, defaults = ?, updated_at = ?, version = version + 1
       WHERE id = ? AND account_id = ? AND version = ?`,
    endpoints,
    defaults,
    topic.updatedAt,
    topic.id,
    topic.accountId,
    topic.version,
  );
}
