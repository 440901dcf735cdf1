// The topics table: each topic is read and written whole, guarded by a version.

import { bytesOfTopic } from '../../../rules/limits/stored-bytes.ts';
import type { Topic } from '../../../rules/publish/topic.ts';
import { TOPIC_COLUMNS, type TopicRow, toTopic } from '../../rows/rows.ts';
import { nullIfUnstorable } from '../messages/null-if-unstorable.ts';
import { deleteWeighed, weigh } from '../messages/stored.ts';
import type { Database } from '../sessions/database.ts';

export async function getTopic(database: Database, accountId: string, nameOrId: string): Promise<Topic | null> {
  const by = (column: 'name' | 'id') =>
    database.get<TopicRow>(
      `SELECT ${TOPIC_COLUMNS} FROM topics WHERE account_id = $1 AND ${column} = $2`,
      accountId,
      nullIfUnstorable(nameOrId),
    );
  const row = (await by('name')) ?? (await by('id'));
  return row ? toTopic(row) : null;
}

export async function saveTopic(database: Database, topic: Topic): Promise<'saved' | 'changed'> {
  if ((await writeTopic(database, topic)) === 0) return 'changed';
  const { accountId, id, endpoints } = topic;
  if (endpoints.length > 0) await weigh(database, 'topics', accountId, id, bytesOfTopic(topic));
  return 'saved';
}

/** Returns how many rows it changed: 0 if another change came first. */
function writeTopic(database: Database, topic: Topic): Promise<number> {
  const endpoints = JSON.stringify(topic.endpoints);
  const defaults = JSON.stringify(topic.defaults);
  if (topic.endpoints.length === 0) {
    return deleteWeighed(
      database,
      'DELETE FROM topics WHERE account_id = $1 AND id = $2 AND version = $3',
      topic.accountId,
      topic.id,
      topic.version,
    );
  }
  if (topic.version === 0) {
    return database.run(
      `INSERT INTO topics (${TOPIC_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, 1) ON CONFLICT DO NOTHING`,
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
    `UPDATE topics SET endpoints = $1, defaults = $2, updated_at = $3, version = version + 1
       WHERE account_id = $4 AND id = $5 AND version = $6`,
    endpoints,
    defaults,
    topic.updatedAt,
    topic.accountId,
    topic.id,
    topic.version,
  );
}
