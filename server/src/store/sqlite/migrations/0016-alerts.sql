-- Alerts: what a person has set, what the target was told, and when the rule is judged next.
CREATE TABLE alerts (
  id              TEXT NOT NULL,
  account_id      TEXT NOT NULL,
  -- Both as JSON.
  rule            TEXT NOT NULL,
  target          TEXT NOT NULL,
  remind_every_ms INTEGER,
  state           TEXT NOT NULL CHECK (state IN ('calm', 'firing')),
  since_at        INTEGER,
  told_at         INTEGER,
  message_id      TEXT,
  text            TEXT,
  problem         TEXT,
  judged_at       INTEGER,
  next_at         INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  version         INTEGER NOT NULL,
  PRIMARY KEY (account_id, id),
  CHECK ((state = 'firing') = (since_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX alerts_next ON alerts (next_at);

-- Messages that failed, by when they did.
CREATE INDEX messages_failed ON messages (account_id, ended_at) WHERE state = 'failed';
