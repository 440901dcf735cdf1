-- The schema that the migrations add up to. Made by server/scripts/generate-schema.ts: add a migration,
-- do not change this file.

CREATE TABLE accounts (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL UNIQUE,
  tier         TEXT NOT NULL,
  current_key  TEXT NOT NULL,
  next_key     TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  -- Since when it is suspended.
  suspended_at INTEGER
, outage TEXT, deleting_since INTEGER) STRICT, WITHOUT ROWID;

CREATE INDEX accounts_suspended ON accounts (id) WHERE suspended_at IS NOT NULL;

CREATE TABLE tokens (
  id           TEXT PRIMARY KEY,
  account_id   TEXT NOT NULL REFERENCES accounts (id),
  name         TEXT NOT NULL,
  scopes       TEXT NOT NULL,
  hash         BLOB NOT NULL UNIQUE,
  created_at   INTEGER NOT NULL,
  revoked_at   INTEGER,
  -- To about a minute.
  last_used_at INTEGER
, expires_at INTEGER, addresses TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE INDEX tokens_by_account ON tokens (account_id, id);

CREATE TABLE sessions (
  id         TEXT PRIMARY KEY,
  token_id   TEXT NOT NULL REFERENCES tokens (id),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_of_token ON sessions (token_id, created_at, id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at, id);

CREATE TABLE usage (
  account_id TEXT NOT NULL,
  day        TEXT NOT NULL,
  kind       TEXT NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (account_id, day, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE stored (
  account_id TEXT PRIMARY KEY,
  bytes      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TABLE topics (
  id           TEXT PRIMARY KEY,
  account_id   TEXT NOT NULL,
  name         TEXT NOT NULL,
  endpoints    TEXT NOT NULL,
  -- Settings for every message to the topic that does not bring its own: a JSON list of headers.
  defaults     TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  version      INTEGER NOT NULL,
  stored_bytes INTEGER,
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
  stored_bytes  INTEGER, expires_ms INTEGER, priority INTEGER, outage TEXT,
  PRIMARY KEY (account_id, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX queues_next_start ON queues (next_start_at) WHERE next_start_at IS NOT NULL;
CREATE INDEX queues_next_start_of_account ON queues (account_id, next_start_at) WHERE next_start_at IS NOT NULL;

CREATE TABLE flow_keys (
  account_id            TEXT NOT NULL,
  key                   TEXT NOT NULL,
  -- The limits in force; null is unlimited.
  parallelism           INTEGER,
  rate                  INTEGER,
  period_ms             INTEGER NOT NULL,
  -- A pinned limit is not changed by what messages say.
  is_parallelism_pinned INTEGER NOT NULL DEFAULT 0,
  is_rate_pinned        INTEGER NOT NULL DEFAULT 0,
  is_paused             INTEGER NOT NULL DEFAULT 0,
  window_start_at       INTEGER NOT NULL,
  window_count          INTEGER NOT NULL,
  -- When its next message may start; null while nothing waits, or what waits does so for a place or a resume.
  next_start_at         INTEGER,
  -- Limits that its newest message asks for and that have not taken effect (as JSON), and since when.
  requested_limits      TEXT,
  requested_at          INTEGER,
  stored_bytes          INTEGER,
  PRIMARY KEY (account_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX flow_keys_next_start ON flow_keys (next_start_at) WHERE next_start_at IS NOT NULL;
CREATE INDEX flow_keys_next_start_of_account ON flow_keys (account_id, next_start_at) WHERE next_start_at IS NOT NULL;
CREATE INDEX flow_keys_requested ON flow_keys (requested_at) WHERE requested_at IS NOT NULL;
CREATE INDEX flow_keys_requested_of_account ON flow_keys (account_id, requested_at) WHERE requested_at IS NOT NULL;

CREATE TABLE deduplication (
  account_id TEXT NOT NULL,
  key        TEXT NOT NULL,
  message_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX deduplication_expiring ON deduplication (expires_at);

CREATE TABLE jobs (
  id             TEXT NOT NULL,
  account_id     TEXT NOT NULL,
  action         TEXT NOT NULL,
  filter         TEXT NOT NULL,
  per_second     INTEGER NOT NULL,
  state          TEXT NOT NULL CHECK (state IN ('running', 'stopped', 'done')),
  matched        INTEGER NOT NULL,
  -- Whether counting what it matches ended before all were counted.
  is_matched_cut INTEGER NOT NULL DEFAULT 0 CHECK (is_matched_cut IN (0, 1)),
  done           INTEGER NOT NULL,
  -- Where it goes on.
  at_seq         INTEGER,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  stored_bytes   INTEGER,
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX jobs_running ON jobs (updated_at) WHERE state = 'running';

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

CREATE TABLE clock (
  only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
  -- What the wall clock showed, what was believed, and the time of order, which never goes back.
  wall_at    INTEGER NOT NULL,
  trusted_at INTEGER NOT NULL,
  order_at   INTEGER NOT NULL,
  -- For how long the wall clock had not been believed.
  doubted_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE nodes (
  id          TEXT PRIMARY KEY,
  alive_until REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE bodies (
  id         INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL,
  bytes      BLOB NOT NULL
) STRICT;

CREATE TABLE messages (
  -- Acceptance order.
  seq               INTEGER PRIMARY KEY,
  id                TEXT NOT NULL UNIQUE,
  account_id        TEXT NOT NULL,
  kind              TEXT NOT NULL,
  -- delayed: waits for due_at. queued: waits for its turn in its queue, or the queue is paused.
  -- ready: may be claimed now. claimed: an attempt is under way. The rest are ends.
  state             TEXT NOT NULL
    -- Not with IN: for a list of more than two, SQLite makes and drops a table at every statement that writes a row.
    CHECK (state = 'delayed' OR state = 'queued' OR state = 'ready' OR state = 'claimed' OR state = 'delivered'
      OR state = 'failed' OR state = 'cancelled'),
  due_at            INTEGER NOT NULL,
  first_due_at      INTEGER NOT NULL,
  lease             TEXT,
  node              TEXT,
  claimed_at        INTEGER,
  -- 1 while it takes a place: in a queue from the moment it is the head (or one of N) until it ends, retries
  -- included; under a flow key from the moment it may start until its attempt has ended.
  holds_place       INTEGER NOT NULL DEFAULT 0 CHECK (holds_place IN (0, 1)),
  -- Since when nothing of its own holds it back: in a queue, since it is a head; under a flow key, since it was let through.
  -- Null for what is in neither.
  ready_at          INTEGER,
  url               TEXT NOT NULL,
  host              TEXT NOT NULL,
  method            TEXT NOT NULL,
  headers           TEXT NOT NULL,
  retries_max       INTEGER NOT NULL CHECK (retries_max >= 0),
  retry_delay       TEXT,
  timeout_ms        INTEGER NOT NULL,
  retried           INTEGER NOT NULL DEFAULT 0 CHECK (retried <= retries_max),
  interrupted       INTEGER NOT NULL DEFAULT 0,
  -- Of the crashes that `interrupted` counts, those at which nothing else was in flight: rules/delivery/recovery.ts.
  alone_at_crash    INTEGER NOT NULL DEFAULT 0,
  -- From when it may start, while nothing else does. Its due_at is a time that never comes, so that it starts in no
  -- other way and keeps its place in its queue.
  alone_from_at     INTEGER CHECK (alone_from_at IS NULL OR state = 'delayed' OR state = 'queued'),
  -- Since when it waits for a person. Its due_at never comes either.
  held_at           INTEGER CHECK (held_at IS NULL OR state = 'delayed' OR state = 'queued'),
  attempts          INTEGER NOT NULL DEFAULT 0,
  queue_name        TEXT,
  order_key         TEXT,
  -- 0 while another message with the same order key goes before it.
  is_first_of_key   INTEGER NOT NULL DEFAULT 1 CHECK (is_first_of_key IN (0, 1)),
  flow_key          TEXT,
  flow_limits       TEXT,
  topic_name        TEXT,
  endpoint_name     TEXT,
  schedule_id       TEXT,
  labels            TEXT,
  redaction         TEXT,
  deduplication_key TEXT,
  callback          TEXT,
  failure_callback  TEXT,
  source_message_id TEXT,
  caller_ip         TEXT,
  hops              INTEGER NOT NULL,
  -- How many messages may descend from it; null for as many as there may be.
  descendants_left  INTEGER,
  created_at        INTEGER NOT NULL,
  ended_at          INTEGER,
  -- When an ended message may be deleted.
  expires_at        INTEGER,
  failure           TEXT,
  last_status       INTEGER,
  -- A dead letter that was sent again stays until its retention: when that was, and the id of the new message.
  retried_at        INTEGER,
  retried_as        TEXT,
  -- Cancelled while a node has claimed it: since when, and until when it is kept once it has ended. It keeps its claim and its
  -- place in line until that claim is settled, given back or taken over.
  cancel_requested_at INTEGER,
  cancel_expires_at INTEGER,
  -- Of one that its first attempt delivered: when that began, and what a short response was. It has no row in attempts then.
  -- Empty headers and an empty body are null.
  first_started_at  INTEGER,
  first_response_headers TEXT,
  first_response_body BLOB,
  -- What it counts as in the bytes of its account.
  stored_bytes      INTEGER,
  -- Null if the body is its own.
  body_id           INTEGER,
  -- Last, so that reading the other columns of a large message does not walk its overflow pages.
  body              BLOB NOT NULL, retry_jitter INTEGER, ahead_ms INTEGER, changes INTEGER, must_start_before INTEGER, failure_code TEXT, debounce_key TEXT, debounce_latest_at INTEGER, debounced INTEGER, outage TEXT, await_ack_ms INTEGER,
  CHECK ((state = 'claimed') = (lease IS NOT NULL)),
  CHECK ((state = 'claimed') = (node IS NOT NULL)),
  CHECK ((state = 'delivered' OR state = 'failed' OR state = 'cancelled') = (ended_at IS NOT NULL)),
  CHECK ((ended_at IS NULL) = (expires_at IS NULL)),
  CHECK ((state = 'failed') = (failure IS NOT NULL)),
  CHECK (queue_name IS NULL OR flow_key IS NULL),
  CHECK (holds_place = 0 OR (ended_at IS NULL AND (queue_name IS NOT NULL OR flow_key IS NOT NULL))),
  CHECK (state <> 'queued' OR queue_name IS NOT NULL OR flow_key IS NOT NULL)
) STRICT;

CREATE INDEX messages_delayed ON messages (due_at) WHERE state = 'delayed';
CREATE INDEX messages_delayed_of_account ON messages (account_id, due_at) WHERE state = 'delayed';
CREATE INDEX messages_claimed ON messages (node, lease) WHERE state = 'claimed';
CREATE INDEX messages_expiring ON messages (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX messages_alone ON messages (alone_from_at) WHERE alone_from_at IS NOT NULL;
CREATE INDEX messages_queued ON messages (account_id, queue_name, first_due_at, seq)
  WHERE state = 'queued' AND holds_place = 0 AND is_first_of_key = 1 AND queue_name IS NOT NULL;
CREATE INDEX messages_of_order_key ON messages (account_id, queue_name, order_key, first_due_at, seq)
  WHERE order_key IS NOT NULL AND ended_at IS NULL;
CREATE INDEX messages_holding ON messages (account_id, queue_name, order_key)
  WHERE holds_place = 1 AND queue_name IS NOT NULL;
CREATE INDEX messages_behind_flow_key ON messages (account_id, flow_key, due_at, seq)
  WHERE state = 'queued' AND flow_key IS NOT NULL;
CREATE INDEX messages_within_flow_key ON messages (account_id, flow_key, state) WHERE holds_place = 1 AND flow_key IS NOT NULL;
CREATE INDEX messages_of_account ON messages (account_id, seq);
CREATE INDEX messages_ended_badly ON messages (account_id, state, seq) WHERE state IN ('failed', 'cancelled');
CREATE INDEX messages_failed ON messages (account_id, ended_at) WHERE state = 'failed';
CREATE INDEX messages_held ON messages (account_id, seq) WHERE held_at IS NOT NULL;
CREATE INDEX messages_of_host ON messages (account_id, host, seq);
CREATE INDEX messages_of_queue ON messages (account_id, queue_name, seq) WHERE queue_name IS NOT NULL;
CREATE INDEX messages_of_topic ON messages (account_id, topic_name, seq) WHERE topic_name IS NOT NULL;
CREATE INDEX messages_of_schedule ON messages (account_id, schedule_id, seq) WHERE schedule_id IS NOT NULL;
CREATE INDEX messages_of_flow_key ON messages (account_id, flow_key, seq) WHERE flow_key IS NOT NULL;
CREATE INDEX messages_of_source ON messages (account_id, source_message_id, seq) WHERE source_message_id IS NOT NULL;
CREATE INDEX messages_of_body ON messages (body_id) WHERE body_id IS NOT NULL;

CREATE TABLE message_labels (
  account_id  TEXT NOT NULL,
  label       TEXT NOT NULL,
  message_seq INTEGER NOT NULL,
  PRIMARY KEY (account_id, label, message_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
  message_seq          INTEGER NOT NULL,
  number               INTEGER NOT NULL,
  started_at           INTEGER NOT NULL,
  ended_at             INTEGER NOT NULL,
  outcome              TEXT NOT NULL,
  status               INTEGER,
  error                TEXT,
  -- When the next attempt was to follow; null after the last one.
  next_at              INTEGER,
  response_headers     TEXT NOT NULL,
  is_response_body_cut INTEGER NOT NULL,
  response_body        BLOB NOT NULL,
  UNIQUE (message_seq, number)
) STRICT;

CREATE TABLE journal (
  account_id  TEXT NOT NULL,
  seq         INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  message_seq INTEGER NOT NULL,
  -- 0: accepted; n: attempt n ended; -1: cancelled.
  step        INTEGER NOT NULL,
  PRIMARY KEY (account_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX journal_of_message ON journal (message_seq);

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

CREATE TABLE service_keys (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE "schedules" (
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

CREATE INDEX schedules_next ON schedules (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX messages_ranked ON messages
  (account_id, (CASE WHEN outage IS NULL OR outage = 'retry' THEN host ELSE host || ' parks' END), (due_at - coalesce(ahead_ms, 0)), seq) WHERE state = 'ready';
CREATE INDEX messages_must_start ON messages (must_start_before)
  WHERE must_start_before IS NOT NULL AND ended_at IS NULL AND lease IS NULL;
CREATE INDEX messages_must_start_of_account ON messages (account_id, must_start_before)
  WHERE must_start_before IS NOT NULL AND ended_at IS NULL AND lease IS NULL;
CREATE INDEX messages_debounced ON messages (account_id, debounce_key, seq)
  WHERE debounce_key IS NOT NULL AND ended_at IS NULL AND lease IS NULL AND attempts = 0;
CREATE INDEX hosts_parked ON hosts (account_id, host) WHERE parked_at IS NOT NULL;
CREATE INDEX messages_open ON messages (account_id, seq, ended_at) WHERE ended_at IS NULL;
CREATE INDEX messages_open_in_queue ON messages (account_id, queue_name, first_due_at, seq, ended_at)
  WHERE ended_at IS NULL AND queue_name IS NOT NULL;
CREATE INDEX messages_dead ON messages (account_id, seq, retried_at) WHERE state = 'failed' AND retried_at IS NULL;
CREATE INDEX acks_due ON acks (deadline_at) WHERE is_awaiting = 1;
CREATE INDEX acks_due_of_account ON acks (account_id, deadline_at) WHERE is_awaiting = 1;

CREATE TABLE audit (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  kind       TEXT NOT NULL,
  number     INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  via        TEXT NOT NULL,
  token_id   TEXT,
  token_name TEXT,
  address    TEXT,
  call       TEXT NOT NULL,
  target     TEXT,
  status     INTEGER,
  code       TEXT,
  request_id TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_of_account ON audit (account_id, id);
CREATE INDEX audit_numbers ON audit (account_id, kind, number);
CREATE INDEX messages_of_debounce_key ON messages
  (account_id, substr(debounce_key, 1, instr(debounce_key || char(10), char(10)) - 1), seq) WHERE debounce_key IS NOT NULL;

PRAGMA user_version = 7;
