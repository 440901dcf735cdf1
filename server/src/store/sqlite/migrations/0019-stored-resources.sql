-- What each topic, schedule and bulk operation is counted as in the bytes of its account, and each queue and flow key that a
-- person has set. Null for a queue: only messages have used it, and it is deleted without them.
ALTER TABLE topics ADD COLUMN stored_bytes INTEGER;
ALTER TABLE schedules ADD COLUMN stored_bytes INTEGER;
ALTER TABLE queues ADD COLUMN stored_bytes INTEGER;
ALTER TABLE flow_keys ADD COLUMN stored_bytes INTEGER;
ALTER TABLE jobs ADD COLUMN stored_bytes INTEGER;

UPDATE topics SET stored_bytes = 1024 + octet_length(name) + octet_length(endpoints) + octet_length(defaults);
UPDATE schedules SET stored_bytes = 1024 + octet_length(destination) + octet_length(headers) + length(body);
UPDATE jobs SET stored_bytes = 1024 + octet_length(filter);
-- Nobody knows which of them a person has made. They stay.
UPDATE queues SET stored_bytes = 0;

INSERT INTO stored (account_id, bytes)
  SELECT account_id, sum(stored_bytes) FROM
    (SELECT account_id, stored_bytes FROM topics UNION ALL SELECT account_id, stored_bytes FROM schedules
       UNION ALL SELECT account_id, stored_bytes FROM jobs) WHERE true GROUP BY account_id
  ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
