-- What happened, counted with what it counts: rules/accounts/activity.ts says what the kinds mean. Minutes for the last hours, hours
-- for the last weeks.
CREATE TABLE activity_minutes (
  account_id TEXT NOT NULL,
  at         INTEGER NOT NULL,
  kind       INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (account_id, at, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX activity_minutes_by_time ON activity_minutes (at);

CREATE TABLE activity_hours (
  account_id TEXT NOT NULL,
  at         INTEGER NOT NULL,
  kind       INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (account_id, at, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX activity_hours_by_time ON activity_hours (at);

-- Since when nothing of its own holds it back: in a queue, since it is a head; under a flow key, since it was let through.
-- Null for what stands in neither. No check: it would read all messages there are.
ALTER TABLE messages ADD COLUMN ready_at INTEGER;
