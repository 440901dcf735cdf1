-- What happened, counted with what it counts: rules/accounts/activity.ts says what the kinds mean. Minutes for the last hours, hours
-- for the last weeks. Each session counts in rows of its own (`shard`): no transaction ever waits for another's count.
CREATE TABLE activity_minutes (
  account_id text COLLATE "C" NOT NULL,
  at         bigint NOT NULL,
  kind       smallint NOT NULL,
  shard      integer NOT NULL,
  count      bigint NOT NULL,
  PRIMARY KEY (account_id, at, kind, shard)
) WITH (fillfactor = 50);

CREATE INDEX activity_minutes_by_time ON activity_minutes (at);

CREATE TABLE activity_hours (
  account_id text COLLATE "C" NOT NULL,
  at         bigint NOT NULL,
  kind       smallint NOT NULL,
  count      bigint NOT NULL,
  PRIMARY KEY (account_id, at, kind)
) WITH (fillfactor = 50);

CREATE INDEX activity_hours_by_time ON activity_hours (at);

-- Since when nothing of its own holds it back: in a queue, since it is a head; under a flow key, since it was let through.
-- Null for what stands in neither. No check: it would read all messages there are.
ALTER TABLE messages ADD COLUMN ready_at bigint;
