-- Counts what is there already. A migration of its own: the tables are not locked meanwhile.
UPDATE topics SET stored_bytes = 1024 + octet_length(name) + octet_length(endpoints) + octet_length(defaults);
UPDATE schedules SET stored_bytes = 1024 + octet_length(destination) + octet_length(headers) + octet_length(body);
UPDATE jobs SET stored_bytes = 1024 + octet_length(filter);

INSERT INTO stored AS s (account_id, shard, bytes)
  SELECT account_id, 0, sum(stored_bytes)::bigint FROM
    (SELECT account_id, stored_bytes FROM topics UNION ALL SELECT account_id, stored_bytes FROM schedules
       UNION ALL SELECT account_id, stored_bytes FROM jobs) AS each_row GROUP BY account_id ORDER BY account_id
  ON CONFLICT (account_id, shard) DO UPDATE SET bytes = s.bytes + excluded.bytes;
