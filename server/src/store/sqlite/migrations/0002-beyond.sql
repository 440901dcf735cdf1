-- Settings of a message beyond the first contract. server/src/store/rows/message-fields.ts says what the columns hold.
ALTER TABLE messages ADD COLUMN retry_jitter INTEGER;
ALTER TABLE messages ADD COLUMN ahead_ms INTEGER;
ALTER TABLE messages ADD COLUMN changes INTEGER;
ALTER TABLE messages ADD COLUMN must_start_before INTEGER;
ALTER TABLE messages ADD COLUMN failure_code TEXT;
ALTER TABLE messages ADD COLUMN debounce_key TEXT;
ALTER TABLE messages ADD COLUMN debounce_latest_at INTEGER;
ALTER TABLE messages ADD COLUMN debounced INTEGER;
ALTER TABLE messages ADD COLUMN outage TEXT;
ALTER TABLE messages ADD COLUMN await_ack_ms INTEGER;

-- Queues. expires_ms: how long after it is due a message may start, if it has no expiry of its own. priority: of its
-- messages, before those of other queues. outage: of its messages that say nothing themselves.
ALTER TABLE queues ADD COLUMN expires_ms INTEGER;
ALTER TABLE queues ADD COLUMN priority INTEGER;
ALTER TABLE queues ADD COLUMN outage TEXT;

-- What messages of the account that say nothing themselves do while their host is down: 'park', or null.
ALTER TABLE accounts ADD COLUMN outage TEXT;

-- Hosts, by account: rules/hosts/ says what `health` and `parking` hold, as JSON. parked_at: since when messages are parked.
-- owner: the node that alone sends probes to a parked host, until owned_until.
CREATE TABLE hosts (
  account_id      TEXT NOT NULL,
  host            TEXT NOT NULL,
  health          TEXT NOT NULL,
  last_attempt_at INTEGER NOT NULL,
  parking         TEXT,
  parked_at       INTEGER,
  owner           TEXT,
  owned_until     INTEGER,
  PRIMARY KEY (account_id, host)
) STRICT, WITHOUT ROWID;

-- What a receiver has said of an attempt whose ack has not come: rules/acks/ack.ts. One row for a claimed message at
-- most, deleted with the end of the attempt. is_awaiting: the response was a 202; before, the receiver may have reported
-- progress already. stored_bytes: of the response, as counted.
CREATE TABLE acks (
  account_id           TEXT NOT NULL,
  message_seq          INTEGER NOT NULL,
  attempt              INTEGER NOT NULL,
  is_awaiting          INTEGER NOT NULL,
  started_at           INTEGER NOT NULL,
  deadline_at          INTEGER NOT NULL,
  latest_at            INTEGER NOT NULL,
  progress_ppm         INTEGER,
  note                 TEXT,
  events               INTEGER NOT NULL,
  event_at             INTEGER,
  status               INTEGER NOT NULL,
  response_headers     TEXT NOT NULL,
  response_body        BLOB NOT NULL,
  is_response_body_cut INTEGER NOT NULL,
  stored_bytes         INTEGER NOT NULL,
  PRIMARY KEY (account_id, message_seq)
) STRICT, WITHOUT ROWID;

-- Keys that all nodes of the store use, made by the first that starts.
CREATE TABLE service_keys (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Schedules. The table is made anew, so that its new columns lie before the body: whoever reads a column behind a large
-- body passes over all of it, and a list does not read bodies.
CREATE TABLE schedules_with_overlap (
  id               TEXT NOT NULL,
  account_id       TEXT NOT NULL,
  cron             TEXT NOT NULL,
  destination      TEXT NOT NULL,
  queue_name       TEXT,
  -- The publish it makes at every tick: a JSON list of headers, and the body below.
  headers          TEXT NOT NULL,
  caller_ip        TEXT,
  is_paused        INTEGER NOT NULL CHECK (is_paused IN (0, 1)),
  -- Null when it is paused or will never run again.
  next_at          INTEGER,
  last_at          INTEGER,
  last_message_ids TEXT NOT NULL,
  created_at       INTEGER NOT NULL,
  stored_bytes     INTEGER,
  -- 'skip', or null: a tick makes messages also while those of the tick before are open.
  overlap          TEXT,
  -- By how much the messages of a tick are due later, at most.
  jitter_ms        INTEGER,
  skipped_count    INTEGER,
  skipped_at       INTEGER,
  -- Raised by every change, pause and resume: a tick is made only by the version that it was planned from.
  version          INTEGER NOT NULL DEFAULT 0,
  body             BLOB NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;
INSERT INTO schedules_with_overlap (id, account_id, cron, destination, queue_name, headers, caller_ip, is_paused, next_at,
    last_at, last_message_ids, created_at, stored_bytes, body)
  SELECT id, account_id, cron, destination, queue_name, headers, caller_ip, is_paused, next_at, last_at,
    last_message_ids, created_at, stored_bytes, body FROM schedules;
DROP TABLE schedules;
ALTER TABLE schedules_with_overlap RENAME TO schedules;
CREATE INDEX schedules_next ON schedules (next_at) WHERE next_at IS NOT NULL;
