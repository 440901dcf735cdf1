-- Accounts, what they own, and the messages on their way. The account leads every key, so that the tables can be
-- spread by it. Instants are milliseconds since 1970 by the nodes' clocks; alive_until is on the database's clock.

CREATE TABLE accounts (
  id           text COLLATE "C" PRIMARY KEY,
  name         text COLLATE "C" NOT NULL UNIQUE,
  tier         text COLLATE "C" NOT NULL,
  current_key  text COLLATE "C" NOT NULL,
  next_key     text COLLATE "C" NOT NULL,
  created_at   bigint NOT NULL,
  -- Since when it is suspended.
  suspended_at bigint
);

-- Claims ask for the suspended accounts, which are few.
CREATE INDEX accounts_suspended ON accounts (id) WHERE suspended_at IS NOT NULL;

CREATE TABLE tokens (
  id           text COLLATE "C" PRIMARY KEY,
  account_id   text COLLATE "C" NOT NULL REFERENCES accounts (id),
  name         text COLLATE "C" NOT NULL,
  scopes       text COLLATE "C" NOT NULL,
  hash         bytea NOT NULL UNIQUE,
  created_at   bigint NOT NULL,
  revoked_at   bigint,
  -- To about a minute.
  last_used_at bigint
);

CREATE INDEX tokens_by_account ON tokens (account_id, id);

-- Who is signed in to the console. The id is the hash of a secret that only the browser has.
CREATE TABLE sessions (
  id         text COLLATE "C" PRIMARY KEY,
  token_id   text COLLATE "C" NOT NULL REFERENCES tokens (id),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);

CREATE INDEX sessions_of_token ON sessions (token_id, created_at, id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at, id);

CREATE TABLE usage (
  account_id text COLLATE "C" NOT NULL,
  day        text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  -- Nodes count in different rows, so that they do not wait for each other; the sum is the count.
  shard      smallint NOT NULL,
  count      bigint NOT NULL,
  PRIMARY KEY (account_id, day, kind, shard)
) WITH (fillfactor = 50);

-- How many bytes each account stores. Each session has its own rows, so that no transaction waits for the count of another.
CREATE TABLE stored (
  account_id text COLLATE "C" NOT NULL,
  shard      integer NOT NULL,
  bytes      bigint NOT NULL,
  PRIMARY KEY (account_id, shard)
) WITH (fillfactor = 50);

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

-- What topics, schedules and bulk operations count as in the bytes of their account is in their stored_bytes, and so are the queues
-- and flow keys that a person has set. Null for a queue: only messages have used it, and it is deleted without them.

CREATE TABLE topics (
  id           text COLLATE "C" NOT NULL,
  account_id   text COLLATE "C" NOT NULL,
  name         text COLLATE "C" NOT NULL,
  endpoints    text COLLATE "C" NOT NULL,
  -- Settings for every message to the topic that does not bring its own: a JSON list of headers.
  defaults     text COLLATE "C" NOT NULL,
  created_at   bigint NOT NULL,
  updated_at   bigint NOT NULL,
  version      integer NOT NULL,
  stored_bytes bigint,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, name)
);

CREATE TABLE queues (
  account_id    text COLLATE "C" NOT NULL,
  name          text COLLATE "C" NOT NULL,
  parallelism   integer NOT NULL CHECK (parallelism >= 1),
  is_paused     boolean NOT NULL DEFAULT false,
  -- When its next message may start; null while it is paused, full or empty.
  next_start_at bigint,
  -- The latest place in line that was given to a message due at once: none that comes later is put before it,
  -- whatever the clock of the node says that accepts it.
  line_at       bigint NOT NULL DEFAULT 0,
  created_at    bigint NOT NULL,
  updated_at    bigint NOT NULL,
  stored_bytes  bigint,
  PRIMARY KEY (account_id, name)
) WITH (fillfactor = 50);

CREATE INDEX queues_next_start ON queues (next_start_at) WHERE next_start_at IS NOT NULL;
-- Those of each account are found without walking through those of the others. So are the indexes of accounts below.
CREATE INDEX queues_next_start_of_account ON queues (account_id, next_start_at) WHERE next_start_at IS NOT NULL;

CREATE TABLE flow_keys (
  account_id            text COLLATE "C" NOT NULL,
  key                   text COLLATE "C" NOT NULL,
  -- The limits in force; null is unlimited.
  parallelism           bigint,
  rate                  bigint,
  period_ms             bigint NOT NULL,
  -- A pinned limit is not changed by what messages say.
  is_parallelism_pinned boolean NOT NULL DEFAULT false,
  is_rate_pinned        boolean NOT NULL DEFAULT false,
  is_paused             boolean NOT NULL DEFAULT false,
  window_start_at       bigint NOT NULL,
  window_count          bigint NOT NULL,
  -- When its next message may start; null while nothing waits, or what waits does so for a place or a resume.
  next_start_at         bigint,
  -- Limits that its newest message asks for and that have not taken effect (as JSON), and since when.
  requested_limits      text COLLATE "C",
  requested_at          bigint,
  stored_bytes          bigint,
  PRIMARY KEY (account_id, key)
) WITH (fillfactor = 50);

CREATE INDEX flow_keys_next_start ON flow_keys (next_start_at) WHERE next_start_at IS NOT NULL;
CREATE INDEX flow_keys_next_start_of_account ON flow_keys (account_id, next_start_at) WHERE next_start_at IS NOT NULL;
CREATE INDEX flow_keys_requested ON flow_keys (requested_at) WHERE requested_at IS NOT NULL;
CREATE INDEX flow_keys_requested_of_account ON flow_keys (account_id, requested_at) WHERE requested_at IS NOT NULL;

CREATE TABLE schedules (
  id               text COLLATE "C" NOT NULL,
  account_id       text COLLATE "C" NOT NULL,
  cron             text COLLATE "C" NOT NULL,
  destination      text COLLATE "C" NOT NULL,
  queue_name       text COLLATE "C",
  -- The publish it makes at every tick: a JSON list of headers, and the body below.
  headers          text COLLATE "C" NOT NULL,
  caller_ip        text COLLATE "C",
  is_paused        boolean NOT NULL,
  -- Null when it is paused or will never run again.
  next_at          bigint,
  last_at          bigint,
  last_message_ids text COLLATE "C" NOT NULL,
  created_at       bigint NOT NULL,
  stored_bytes     bigint,
  body             bytea NOT NULL,
  PRIMARY KEY (account_id, id)
);

-- Steps from one account to the next through what is due at one time, however many schedules each has.
CREATE INDEX schedules_due ON schedules (next_at, account_id, id) WHERE next_at IS NOT NULL;

-- Which message an id of the caller's stands for, as long as it does.
CREATE TABLE deduplication (
  account_id text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (account_id, key)
);

CREATE INDEX deduplication_expiring ON deduplication (expires_at);

CREATE TABLE jobs (
  id             text COLLATE "C" NOT NULL,
  account_id     text COLLATE "C" NOT NULL,
  action         text COLLATE "C" NOT NULL,
  filter         text COLLATE "C" NOT NULL,
  per_second     integer NOT NULL,
  state          text COLLATE "C" NOT NULL CHECK (state IN ('running', 'stopped', 'done')),
  matched        bigint NOT NULL,
  -- Whether counting what it matches ended before all were counted.
  is_matched_cut boolean NOT NULL DEFAULT false,
  done           bigint NOT NULL,
  -- Where it goes on.
  at_seq         bigint,
  created_at     bigint NOT NULL,
  updated_at     bigint NOT NULL,
  stored_bytes   bigint,
  PRIMARY KEY (account_id, id)
);

CREATE INDEX jobs_running ON jobs (updated_at) WHERE state = 'running';

-- Alerts: what a person has set, what the target was told, and when the rule is judged next.
CREATE TABLE alerts (
  id              text COLLATE "C" NOT NULL,
  account_id      text COLLATE "C" NOT NULL,
  rule            text COLLATE "C" NOT NULL,
  target          text COLLATE "C" NOT NULL,
  remind_every_ms bigint,
  state           text COLLATE "C" NOT NULL CHECK (state IN ('calm', 'firing')),
  since_at        bigint,
  told_at         bigint,
  message_id      text COLLATE "C",
  text            text COLLATE "C",
  problem         text COLLATE "C",
  judged_at       bigint,
  next_at         bigint NOT NULL,
  created_at      bigint NOT NULL,
  updated_at      bigint NOT NULL,
  version         bigint NOT NULL,
  PRIMARY KEY (account_id, id),
  CHECK ((state = 'firing') = (since_at IS NOT NULL))
) WITH (fillfactor = 50);

CREATE INDEX alerts_next ON alerts (next_at);

-- The time as the nodes last knew it: rules/time/clock.ts. One row, written with their signs of life.
CREATE TABLE clock (
  only_row   integer PRIMARY KEY CHECK (only_row = 1),
  -- What the wall clock showed, what was believed, and the time of order, which never goes back.
  wall_at    bigint NOT NULL,
  trusted_at bigint NOT NULL,
  order_at   bigint NOT NULL,
  -- For how long the wall clock had not been believed.
  doubted_ms bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE nodes (
  id             text COLLATE "C" PRIMARY KEY,
  alive_until    timestamptz NOT NULL,
  started_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- What people want to know of it: role, version, address.
  about          text COLLATE "C" NOT NULL,
  -- Which migrations it knows: a change that older nodes cannot bear waits until they are gone.
  schema_version integer
) WITH (fillfactor = 50);

-- Acceptance order, over all accounts.
CREATE SEQUENCE message_seq AS bigint;

-- A body that several messages share is stored once: what a topic fans out. A message that has its body alone keeps it
-- in its own row, and its body_id is null.
CREATE TABLE bodies (
  account_id text COLLATE "C" NOT NULL,
  -- Out of the same sequence as the numbers of messages.
  id         bigint NOT NULL,
  bytes      bytea NOT NULL,
  PRIMARY KEY (account_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- As the bodies in messages: how long it is can be told without reading it.
ALTER TABLE bodies ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE messages (
  account_id        text COLLATE "C" NOT NULL,
  seq               bigint NOT NULL DEFAULT nextval('message_seq'),
  id                text COLLATE "C" NOT NULL,
  kind              text COLLATE "C" NOT NULL,
  -- delayed: waits for due_at. queued: waits for its turn in its queue or behind its flow key, or those are paused.
  -- ready: may be claimed now. claimed: an attempt is under way. The rest are ends.
  state             text COLLATE "C" NOT NULL
    CHECK (state IN ('delayed', 'queued', 'ready', 'claimed', 'delivered', 'failed', 'cancelled')),
  due_at            bigint NOT NULL,
  first_due_at      bigint NOT NULL,
  lease             text COLLATE "C",
  node              text COLLATE "C",
  claimed_at        bigint,
  -- True while it takes a place: in a queue from the moment it is the head (or one of N) until it ends, retries
  -- included; under a flow key from the moment it may start until its attempt has ended.
  holds_place       boolean NOT NULL DEFAULT false,
  -- Since when nothing of its own holds it back: in a queue, since it is a head; under a flow key, since it was let through.
  -- Null for what is in neither.
  ready_at          bigint,
  url               text COLLATE "C" NOT NULL,
  host              text COLLATE "C" NOT NULL,
  method            text COLLATE "C" NOT NULL,
  headers           text COLLATE "C" NOT NULL,
  retries_max       integer NOT NULL CHECK (retries_max >= 0),
  retry_delay       text COLLATE "C",
  timeout_ms        bigint NOT NULL,
  retried           integer NOT NULL DEFAULT 0 CHECK (retried <= retries_max),
  interrupted       integer NOT NULL DEFAULT 0,
  -- Of the crashes that `interrupted` counts, those at which nothing else was in flight on the node: rules/delivery/recovery.ts.
  alone_at_crash    integer NOT NULL DEFAULT 0,
  -- From when it may start, while nothing else does on its node. Its due_at is a time that never comes, so that it starts in no
  -- other way and keeps its place in its queue.
  alone_from_at     bigint CHECK (alone_from_at IS NULL OR state = 'delayed' OR state = 'queued'),
  -- Since when it waits for a person. Its due_at never comes either.
  held_at           bigint CHECK (held_at IS NULL OR state = 'delayed' OR state = 'queued'),
  attempts          integer NOT NULL DEFAULT 0,
  queue_name        text COLLATE "C",
  order_key         text COLLATE "C",
  -- False while another message with the same order key goes before it.
  is_first_of_key   boolean NOT NULL DEFAULT true,
  flow_key          text COLLATE "C",
  flow_limits       text COLLATE "C",
  topic_name        text COLLATE "C",
  endpoint_name     text COLLATE "C",
  schedule_id       text COLLATE "C",
  labels            text COLLATE "C",
  redaction         text COLLATE "C",
  deduplication_key text COLLATE "C",
  callback          text COLLATE "C",
  failure_callback  text COLLATE "C",
  source_message_id text COLLATE "C",
  caller_ip         text COLLATE "C",
  hops              integer NOT NULL,
  -- How many messages may descend from it; null for as many as there may be.
  descendants_left  integer,
  created_at        bigint NOT NULL,
  ended_at          bigint,
  -- When an ended message may be deleted.
  expires_at        bigint,
  failure           text COLLATE "C",
  last_status       integer,
  -- A dead letter that was sent again stays until its retention: when that was, and the id of the new message.
  retried_at        bigint,
  retried_as        text COLLATE "C",
  -- Cancelled while a node has claimed it: since when, and until when it is kept once it has ended. It keeps its claim and its
  -- place in line until that claim is settled, given back or taken over.
  cancel_requested_at bigint,
  cancel_expires_at bigint,
  -- What it counts as in the bytes of its account.
  stored_bytes      bigint,
  -- Null if the body is its own.
  body_id           bigint,
  body              bytea NOT NULL,
  PRIMARY KEY (account_id, seq),
  UNIQUE (account_id, id),
  CHECK ((state = 'claimed') = (lease IS NOT NULL)),
  CHECK ((state = 'claimed') = (node IS NOT NULL)),
  CHECK ((state IN ('delivered', 'failed', 'cancelled')) = (ended_at IS NOT NULL)),
  CHECK ((ended_at IS NULL) = (expires_at IS NULL)),
  CHECK ((state = 'failed') = (failure IS NOT NULL)),
  CHECK (queue_name IS NULL OR flow_key IS NULL),
  CHECK (NOT holds_place OR (ended_at IS NULL AND (queue_name IS NOT NULL OR flow_key IS NOT NULL))),
  CHECK (state <> 'queued' OR queue_name IS NOT NULL OR flow_key IS NOT NULL)
);

-- A body is written once and moved out of the row when it is large; compressing it would cost more than it saves.
ALTER TABLE messages ALTER COLUMN body SET STORAGE EXTERNAL;
-- The table turns over all the time: small and frequent rounds keep what is claimed from lying behind dead rows.
ALTER TABLE messages SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
-- A message is written once more when it ends. With room left in its page the new row is beside the old one, and only the
-- difference is logged.
ALTER TABLE messages SET (fillfactor = 70);

-- What to do next.
CREATE INDEX messages_delayed ON messages (due_at) WHERE state = 'delayed';
CREATE INDEX messages_delayed_of_account ON messages (account_id, due_at) WHERE state = 'delayed';
CREATE INDEX messages_ready ON messages (account_id, host, due_at, seq) WHERE state = 'ready';
CREATE INDEX messages_claimed ON messages (node) WHERE state = 'claimed';
CREATE INDEX messages_expiring ON messages (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX messages_alone ON messages (alone_from_at) WHERE alone_from_at IS NOT NULL;

-- Whose turn it is.
CREATE INDEX messages_queued ON messages (account_id, queue_name, first_due_at, seq)
  WHERE state = 'queued' AND NOT holds_place AND is_first_of_key AND queue_name IS NOT NULL;
CREATE INDEX messages_of_order_key ON messages (account_id, queue_name, order_key, first_due_at, seq)
  WHERE order_key IS NOT NULL AND ended_at IS NULL;
CREATE INDEX messages_holding ON messages (account_id, queue_name) WHERE holds_place AND queue_name IS NOT NULL;
CREATE INDEX messages_open_in_queue ON messages (account_id, queue_name, first_due_at, seq)
  WHERE ended_at IS NULL AND queue_name IS NOT NULL;
CREATE INDEX messages_behind_flow_key ON messages (account_id, flow_key, due_at, seq)
  WHERE state = 'queued' AND flow_key IS NOT NULL;
CREATE INDEX messages_within_flow_key ON messages (account_id, flow_key, state) WHERE holds_place AND flow_key IS NOT NULL;

-- To find and list them.
CREATE INDEX messages_open ON messages (account_id, seq) WHERE ended_at IS NULL;
CREATE INDEX messages_ended_badly ON messages (account_id, state, seq) WHERE state IN ('failed', 'cancelled');
-- Dead letters that nobody has sent again.
CREATE INDEX messages_dead ON messages (account_id, seq) WHERE state = 'failed' AND retried_at IS NULL;
CREATE INDEX messages_failed ON messages (account_id, ended_at) WHERE state = 'failed';
CREATE INDEX messages_held ON messages (account_id, seq) WHERE held_at IS NOT NULL;
CREATE INDEX messages_of_host ON messages (account_id, host, seq);
CREATE INDEX messages_of_queue ON messages (account_id, queue_name, seq) WHERE queue_name IS NOT NULL;
CREATE INDEX messages_of_topic ON messages (account_id, topic_name, seq) WHERE topic_name IS NOT NULL;
CREATE INDEX messages_of_schedule ON messages (account_id, schedule_id, seq) WHERE schedule_id IS NOT NULL;
CREATE INDEX messages_of_flow_key ON messages (account_id, flow_key, seq) WHERE flow_key IS NOT NULL;
-- What a message led to: its callbacks, and the retry of a dead letter.
CREATE INDEX messages_of_source ON messages (account_id, source_message_id, seq) WHERE source_message_id IS NOT NULL;
CREATE INDEX messages_of_body ON messages (account_id, body_id) WHERE body_id IS NOT NULL;

CREATE TABLE message_labels (
  account_id  text COLLATE "C" NOT NULL,
  label       text COLLATE "C" NOT NULL,
  message_seq bigint NOT NULL,
  PRIMARY KEY (account_id, label, message_seq)
);

CREATE TABLE attempts (
  account_id           text COLLATE "C" NOT NULL,
  message_seq          bigint NOT NULL,
  number               integer NOT NULL,
  started_at           bigint NOT NULL,
  ended_at             bigint NOT NULL,
  outcome              text COLLATE "C" NOT NULL,
  status               integer,
  error                text COLLATE "C",
  -- When the next attempt was to follow; null after the last one.
  next_at              bigint,
  response_headers     text COLLATE "C" NOT NULL,
  is_response_body_cut boolean NOT NULL,
  response_body        bytea NOT NULL,
  PRIMARY KEY (account_id, message_seq, number)
);

-- What happened, in order: a row for every acceptance, attempt and cancellation, from which the events are told.
-- Two transactions may give the same place, to different rows.
CREATE TABLE journal (
  account_id  text COLLATE "C" NOT NULL,
  seq         bigint NOT NULL,
  at          bigint NOT NULL,
  message_seq bigint NOT NULL,
  -- 0: accepted; n: attempt n ended; -1: cancelled.
  step        integer NOT NULL,
  PRIMARY KEY (account_id, seq, message_seq, step)
);

CREATE INDEX journal_of_message ON journal (account_id, message_seq);
