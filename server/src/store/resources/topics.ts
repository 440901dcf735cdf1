// The topics table. Each topic is read and written as a whole, and its version guards it against concurrent changes.

import { bytesOfTopic } from '../../rules/limits/stored-bytes.ts';
import type { Topic } from '../../rules/publish/topic.ts';
import { TOPIC_COLUMNS, type TopicRow, toTopic } from '../rows/rows.ts';
import { listByKey } from './list-by-key.ts';
import { get, run, type Steps, step } from './steps.ts';

const BY_NAME = `SELECT ${TOPIC_COLUMNS} FROM topics WHERE account_id = ? AND name = ?`;
const BY_ID = `SELECT ${TOPIC_COLUMNS} FROM topics WHERE account_id = ? AND id = ?`;

export function* getTopic(accountId: string, nameOrId: string): Steps<Topic | null> {
  const key = [accountId, nameOrId];
  const row = (yield* get<TopicRow>(BY_NAME, key)) ?? (yield* get<TopicRow>(BY_ID, key));
  return row ? toTopic(row) : null;
}

export const listTopics = listByKey<TopicRow, Topic>(
  {
    table: 'topics',
    key: 'name',
    columns: TOPIC_COLUMNS,
    bytes: 'octet_length(endpoints) + octet_length(defaults)',
  },
  toTopic,
);

export function* saveTopic(topic: Topic): Steps<'saved' | 'changed'> {
  const { id, accountId, version } = topic;
  if (topic.endpoints.length === 0) {
    const sql = 'DELETE FROM topics WHERE account_id = ? AND id = ? AND version = ?';
    return (yield* step('deleteCounted', accountId, sql, [accountId, id, version])) > 0 ? 'saved' : 'changed';
  }
  if ((yield* writeTopic(topic)) === 0) return 'changed';
  yield* step('countStored', 'topics', accountId, id, bytesOfTopic(topic));
  return 'saved';
}

/** Returns how many rows were changed: 0 if somebody else has changed the topic meanwhile. */
function writeTopic(topic: Topic): Steps<number> {
  const { id, accountId, name, createdAt, updatedAt, version } = topic;
  const endpoints = JSON.stringify(topic.endpoints);
  const defaults = JSON.stringify(topic.defaults);
  if (version === 0) {
    return run(`INSERT INTO topics (${TOPIC_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT DO NOTHING`, [
      id,
      accountId,
      name,
      endpoints,
      defaults,
      createdAt,
      updatedAt,
    ]);
  }
  return run(
    `UPDATE topics SET endpoints = ?, defaults = ?, updated_at = ?, version = version + 1
       WHERE account_id = ? AND id = ? AND version = ?`,
    [endpoints, defaults, updatedAt, accountId, id, version],
  );
}
