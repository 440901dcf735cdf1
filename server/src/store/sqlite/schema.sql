-- The schema that the migrations add up to. Made by server/scripts/generate-schema.ts: add a migration,
-- do not change this file.

CREATE TABLE accounts (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE,
  tier        TEXT NOT NULL,
  current_key TEXT NOT NULL,
  next_key    TEXT NOT NULL,
  created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name       TEXT NOT NULL,
  scopes     TEXT NOT NULL,
  hash       BLOB NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX tokens_by_account ON tokens (account_id, id);

CREATE TABLE usage (
  account_id TEXT NOT NULL,
  day        TEXT NOT NULL,
  kind       TEXT NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (account_id, day, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE topics (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  name       TEXT NOT NULL,
  endpoints  TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version    INTEGER NOT NULL,
  UNIQUE (account_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE queues (
  account_id    TEXT NOT NULL,
  name          TEXT NOT NULL,
  parallelism   INTEGER NOT NULL CHECK (parallelism >= 1),
  is_paused     INTEGER NOT NULL CHECK (is_paused IN (0, 1)),
  -- When its next message may start; null while it is paused, full or empty.
  next_start_at INTEGER,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  PRIMARY KEY (account_id, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX queues_next_start ON queues (next_start_at) WHERE next_start_at IS NOT NULL;

CREATE TABLE nodes (
  id          TEXT PRIMARY KEY,
  alive_until REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
  -- Acceptance order.
  seq               INTEGER PRIMARY KEY,
  id                TEXT NOT NULL UNIQUE,
  account_id        TEXT NOT NULL,
  kind              TEXT NOT NULL,
  -- delayed: waits for due_at. queued: waits for its turn in its queue, or the queue is paused.
  -- ready: may be claimed now. claimed: an attempt is under way. The rest are ends.
  state             TEXT NOT NULL
    CHECK (state IN ('delayed', 'queued', 'ready', 'claimed', 'delivered', 'failed', 'cancelled')),
  due_at            INTEGER NOT NULL,
  first_due_at      INTEGER NOT NULL,
  lease             TEXT,
  node              TEXT,
  -- 1 from the moment a queue's message is the head (or one of N) until it ends, retries included.
  holds_slot        INTEGER NOT NULL DEFAULT 0 CHECK (holds_slot IN (0, 1)),
  url               TEXT NOT NULL,
  host              TEXT NOT NULL,
  method            TEXT NOT NULL,
  headers           TEXT NOT NULL,
  retries_max       INTEGER NOT NULL CHECK (retries_max >= 0),
  retry_delay       TEXT,
  timeout_ms        INTEGER NOT NULL,
  retried           INTEGER NOT NULL DEFAULT 0 CHECK (retried <= retries_max),
  interrupted       INTEGER NOT NULL DEFAULT 0,
  attempts          INTEGER NOT NULL DEFAULT 0,
  queue_name        TEXT,
  topic_name        TEXT,
  endpoint_name     TEXT,
  callback          TEXT,
  failure_callback  TEXT,
  source_message_id TEXT,
  caller_ip         TEXT,
  hops              INTEGER NOT NULL,
  created_at        INTEGER NOT NULL,
  ended_at          INTEGER,
  -- When an ended message may be deleted.
  expires_at        INTEGER,
  failure           TEXT,
  -- Last, so that reading the other columns of a large message does not walk its overflow pages.
  body              BLOB NOT NULL,
  CHECK ((state = 'claimed') = (lease IS NOT NULL)),
  CHECK ((state = 'claimed') = (node IS NOT NULL)),
  CHECK ((state IN ('delivered', 'failed', 'cancelled')) = (ended_at IS NOT NULL)),
  CHECK ((ended_at IS NULL) = (expires_at IS NULL)),
  CHECK ((state = 'failed') = (failure IS NOT NULL)),
  CHECK (holds_slot = 0 OR (queue_name IS NOT NULL AND ended_at IS NULL)),
  CHECK (state <> 'queued' OR queue_name IS NOT NULL)
) STRICT;

CREATE INDEX messages_delayed ON messages (due_at) WHERE state = 'delayed';
CREATE INDEX messages_ready ON messages (account_id, host, due_at, seq) WHERE state = 'ready';
CREATE INDEX messages_queued ON messages (account_id, queue_name, first_due_at, seq)
  WHERE state = 'queued' AND holds_slot = 0;
CREATE INDEX messages_holding ON messages (account_id, queue_name) WHERE holds_slot = 1;
CREATE INDEX messages_claimed ON messages (node) WHERE state = 'claimed';
CREATE INDEX messages_expiring ON messages (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE attempts (
  message_seq          INTEGER NOT NULL,
  number               INTEGER NOT NULL,
  started_at           INTEGER NOT NULL,
  ended_at             INTEGER NOT NULL,
  outcome              TEXT NOT NULL,
  status               INTEGER,
  error                TEXT,
  response_headers     TEXT NOT NULL,
  is_response_body_cut INTEGER NOT NULL,
  response_body        BLOB NOT NULL,
  UNIQUE (message_seq, number)
) STRICT;

PRAGMA user_version = 1;
