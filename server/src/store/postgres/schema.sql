-- The schema that the migrations add up to. Made by server/scripts/generate-schema.ts: add a migration,
-- do not change this file.

CREATE SEQUENCE message_seq AS bigint START 1 INCREMENT 1 CACHE 1;

CREATE TABLE accounts (
  id             text COLLATE "C" NOT NULL,
  name           text COLLATE "C" NOT NULL,
  tier           text COLLATE "C" NOT NULL,
  current_key    text COLLATE "C" NOT NULL,
  next_key       text COLLATE "C" NOT NULL,
  created_at     bigint NOT NULL,
  suspended_at   bigint,
  outage         text COLLATE "C",
  deleting_since bigint,
  CONSTRAINT accounts_pkey PRIMARY KEY (id),
  CONSTRAINT accounts_name_key UNIQUE (name)
);
CREATE INDEX accounts_suspended ON accounts USING btree (id) WHERE (suspended_at IS NOT NULL);

CREATE TABLE acks (
  account_id           text COLLATE "C" NOT NULL,
  message_seq          bigint NOT NULL,
  attempt              integer NOT NULL,
  is_awaiting          integer NOT NULL,
  started_at           bigint NOT NULL,
  deadline_at          bigint NOT NULL,
  latest_at            bigint NOT NULL,
  progress_ppm         integer,
  note                 text COLLATE "C",
  events               integer NOT NULL,
  event_at             bigint,
  status               integer NOT NULL,
  response_headers     text COLLATE "C" NOT NULL,
  response_body        bytea NOT NULL,
  is_response_body_cut boolean NOT NULL,
  stored_bytes         bigint NOT NULL,
  CONSTRAINT acks_pkey PRIMARY KEY (account_id, message_seq)
);
CREATE INDEX acks_due ON acks USING btree (deadline_at) WHERE (is_awaiting = 1);
CREATE INDEX acks_due_of_account ON acks USING btree (account_id, deadline_at) WHERE (is_awaiting = 1);

CREATE TABLE activity_hours (
  account_id text COLLATE "C" NOT NULL,
  at         bigint NOT NULL,
  kind       smallint NOT NULL,
  count      bigint NOT NULL,
  CONSTRAINT activity_hours_pkey PRIMARY KEY (account_id, at, kind)
) WITH (fillfactor = 50);
CREATE INDEX activity_hours_by_time ON activity_hours USING btree (at);

CREATE TABLE activity_minutes (
  account_id text COLLATE "C" NOT NULL,
  at         bigint NOT NULL,
  kind       smallint NOT NULL,
  shard      integer NOT NULL,
  count      bigint NOT NULL,
  CONSTRAINT activity_minutes_pkey PRIMARY KEY (account_id, at, kind, shard)
) WITH (fillfactor = 50);
CREATE INDEX activity_minutes_by_time ON activity_minutes USING btree (at);

CREATE TABLE alerts (
  id              text COLLATE "C" NOT NULL,
  account_id      text COLLATE "C" NOT NULL,
  rule            text COLLATE "C" NOT NULL,
  target          text COLLATE "C" NOT NULL,
  remind_every_ms bigint,
  state           text COLLATE "C" NOT NULL,
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
  CONSTRAINT alerts_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT alerts_check CHECK (((state = 'firing'::text) = (since_at IS NOT NULL))),
  CONSTRAINT alerts_state_check CHECK ((state = ANY (ARRAY['calm'::text, 'firing'::text])))
) WITH (fillfactor = 50);
CREATE INDEX alerts_next ON alerts USING btree (next_at);

CREATE TABLE attempts (
  account_id           text COLLATE "C" NOT NULL,
  message_seq          bigint NOT NULL,
  number               integer NOT NULL,
  started_at           bigint NOT NULL,
  ended_at             bigint NOT NULL,
  outcome              text COLLATE "C" NOT NULL,
  status               integer,
  error                text COLLATE "C",
  next_at              bigint,
  response_headers     text COLLATE "C" NOT NULL,
  is_response_body_cut boolean NOT NULL,
  response_body        bytea NOT NULL,
  CONSTRAINT attempts_pkey PRIMARY KEY (account_id, message_seq, number)
);

CREATE TABLE audit (
  id         text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  number     bigint NOT NULL,
  at         bigint NOT NULL,
  last_at    bigint NOT NULL,
  count      bigint NOT NULL,
  via        text COLLATE "C" NOT NULL,
  token_id   text COLLATE "C",
  token_name text COLLATE "C",
  address    text COLLATE "C",
  call       text COLLATE "C" NOT NULL,
  target     text COLLATE "C",
  status     integer,
  code       text COLLATE "C",
  request_id text COLLATE "C",
  CONSTRAINT audit_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_numbers ON audit USING btree (account_id, kind, number);
CREATE INDEX audit_of_account ON audit USING btree (account_id, id);

CREATE TABLE bodies (
  account_id text COLLATE "C" NOT NULL,
  id         bigint NOT NULL,
  bytes      bytea NOT NULL,
  CONSTRAINT bodies_pkey PRIMARY KEY (account_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE bodies ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE clock (
  only_row   integer NOT NULL,
  wall_at    bigint NOT NULL,
  trusted_at bigint NOT NULL,
  order_at   bigint NOT NULL,
  doubted_ms bigint NOT NULL,
  CONSTRAINT clock_pkey PRIMARY KEY (only_row),
  CONSTRAINT clock_only_row_check CHECK ((only_row = 1))
) WITH (fillfactor = 50);

CREATE TABLE deduplication (
  account_id text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  CONSTRAINT deduplication_pkey PRIMARY KEY (account_id, key)
);
CREATE INDEX deduplication_expiring ON deduplication USING btree (expires_at);

CREATE TABLE flow_keys (
  account_id            text COLLATE "C" NOT NULL,
  key                   text COLLATE "C" NOT NULL,
  parallelism           bigint,
  rate                  bigint,
  period_ms             bigint NOT NULL,
  is_parallelism_pinned boolean NOT NULL DEFAULT false,
  is_rate_pinned        boolean NOT NULL DEFAULT false,
  is_paused             boolean NOT NULL DEFAULT false,
  window_start_at       bigint NOT NULL,
  window_count          bigint NOT NULL,
  next_start_at         bigint,
  requested_limits      text COLLATE "C",
  requested_at          bigint,
  stored_bytes          bigint,
  CONSTRAINT flow_keys_pkey PRIMARY KEY (account_id, key)
) WITH (fillfactor = 50);
CREATE INDEX flow_keys_next_start ON flow_keys USING btree (next_start_at) WHERE (next_start_at IS NOT NULL);
CREATE INDEX flow_keys_next_start_of_account ON flow_keys USING btree (account_id, next_start_at) WHERE (next_start_at IS NOT NULL);
CREATE INDEX flow_keys_requested ON flow_keys USING btree (requested_at) WHERE (requested_at IS NOT NULL);
CREATE INDEX flow_keys_requested_of_account ON flow_keys USING btree (account_id, requested_at) WHERE (requested_at IS NOT NULL);

CREATE TABLE hosts (
  account_id      text COLLATE "C" NOT NULL,
  host            text COLLATE "C" NOT NULL,
  health          text COLLATE "C" NOT NULL,
  last_attempt_at bigint NOT NULL,
  parking         text COLLATE "C",
  parked_at       bigint,
  owner           text COLLATE "C",
  owned_until     bigint,
  CONSTRAINT hosts_pkey PRIMARY KEY (account_id, host)
);
CREATE INDEX hosts_parked ON hosts USING btree (account_id, host) WHERE (parked_at IS NOT NULL);

CREATE TABLE jobs (
  id             text COLLATE "C" NOT NULL,
  account_id     text COLLATE "C" NOT NULL,
  action         text COLLATE "C" NOT NULL,
  filter         text COLLATE "C" NOT NULL,
  per_second     integer NOT NULL,
  state          text COLLATE "C" NOT NULL,
  matched        bigint NOT NULL,
  is_matched_cut boolean NOT NULL DEFAULT false,
  done           bigint NOT NULL,
  at_seq         bigint,
  created_at     bigint NOT NULL,
  updated_at     bigint NOT NULL,
  stored_bytes   bigint,
  CONSTRAINT jobs_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT jobs_state_check CHECK ((state = ANY (ARRAY['running'::text, 'stopped'::text, 'done'::text])))
);
CREATE INDEX jobs_running ON jobs USING btree (updated_at) WHERE (state = 'running'::text);

CREATE TABLE journal (
  account_id  text COLLATE "C" NOT NULL,
  seq         bigint NOT NULL,
  at          bigint NOT NULL,
  message_seq bigint NOT NULL,
  step        integer NOT NULL,
  CONSTRAINT journal_pkey PRIMARY KEY (account_id, seq, message_seq, step)
);
CREATE INDEX journal_of_message ON journal USING btree (account_id, message_seq);

CREATE TABLE message_labels (
  account_id  text COLLATE "C" NOT NULL,
  label       text COLLATE "C" NOT NULL,
  message_seq bigint NOT NULL,
  CONSTRAINT message_labels_pkey PRIMARY KEY (account_id, label, message_seq)
);

CREATE TABLE messages (
  account_id          text COLLATE "C" NOT NULL,
  seq                 bigint NOT NULL DEFAULT nextval('message_seq'::regclass),
  id                  text COLLATE "C" NOT NULL,
  kind                text COLLATE "C" NOT NULL,
  state               text COLLATE "C" NOT NULL,
  due_at              bigint NOT NULL,
  first_due_at        bigint NOT NULL,
  lease               text COLLATE "C",
  node                text COLLATE "C",
  claimed_at          bigint,
  holds_place         boolean NOT NULL DEFAULT false,
  ready_at            bigint,
  url                 text COLLATE "C" NOT NULL,
  host                text COLLATE "C" NOT NULL,
  method              text COLLATE "C" NOT NULL,
  headers             text COLLATE "C" NOT NULL,
  retries_max         integer NOT NULL,
  retry_delay         text COLLATE "C",
  timeout_ms          bigint NOT NULL,
  retried             integer NOT NULL DEFAULT 0,
  interrupted         integer NOT NULL DEFAULT 0,
  alone_at_crash      integer NOT NULL DEFAULT 0,
  alone_from_at       bigint,
  held_at             bigint,
  attempts            integer NOT NULL DEFAULT 0,
  queue_name          text COLLATE "C",
  order_key           text COLLATE "C",
  is_first_of_key     boolean NOT NULL DEFAULT true,
  flow_key            text COLLATE "C",
  flow_limits         text COLLATE "C",
  topic_name          text COLLATE "C",
  endpoint_name       text COLLATE "C",
  schedule_id         text COLLATE "C",
  labels              text COLLATE "C",
  redaction           text COLLATE "C",
  deduplication_key   text COLLATE "C",
  callback            text COLLATE "C",
  failure_callback    text COLLATE "C",
  source_message_id   text COLLATE "C",
  caller_ip           text COLLATE "C",
  hops                integer NOT NULL,
  descendants_left    integer,
  created_at          bigint NOT NULL,
  ended_at            bigint,
  expires_at          bigint,
  failure             text COLLATE "C",
  last_status         integer,
  retried_at          bigint,
  retried_as          text COLLATE "C",
  cancel_requested_at bigint,
  cancel_expires_at   bigint,
  stored_bytes        bigint,
  body_id             bigint,
  body                bytea NOT NULL,
  retry_jitter        integer,
  ahead_ms            integer,
  changes             integer,
  must_start_before   bigint,
  failure_code        text COLLATE "C",
  debounce_key        text COLLATE "C",
  debounce_latest_at  bigint,
  debounced           integer,
  outage              text COLLATE "C",
  await_ack_ms        bigint,
  CONSTRAINT messages_pkey PRIMARY KEY (account_id, seq),
  CONSTRAINT messages_account_id_id_key UNIQUE (account_id, id),
  CONSTRAINT messages_check CHECK ((retried <= retries_max)),
  CONSTRAINT messages_check1 CHECK (((alone_from_at IS NULL) OR (state = 'delayed'::text) OR (state = 'queued'::text))),
  CONSTRAINT messages_check10 CHECK (((state <> 'queued'::text) OR (queue_name IS NOT NULL) OR (flow_key IS NOT NULL))),
  CONSTRAINT messages_check2 CHECK (((held_at IS NULL) OR (state = 'delayed'::text) OR (state = 'queued'::text))),
  CONSTRAINT messages_check3 CHECK (((state = 'claimed'::text) = (lease IS NOT NULL))),
  CONSTRAINT messages_check4 CHECK (((state = 'claimed'::text) = (node IS NOT NULL))),
  CONSTRAINT messages_check5 CHECK (((state = ANY (ARRAY['delivered'::text, 'failed'::text, 'cancelled'::text])) = (ended_at IS NOT NULL))),
  CONSTRAINT messages_check6 CHECK (((ended_at IS NULL) = (expires_at IS NULL))),
  CONSTRAINT messages_check7 CHECK (((state = 'failed'::text) = (failure IS NOT NULL))),
  CONSTRAINT messages_check8 CHECK (((queue_name IS NULL) OR (flow_key IS NULL))),
  CONSTRAINT messages_check9 CHECK (((NOT holds_place) OR ((ended_at IS NULL) AND ((queue_name IS NOT NULL) OR (flow_key IS NOT NULL))))),
  CONSTRAINT messages_retries_max_check CHECK ((retries_max >= 0)),
  CONSTRAINT messages_state_check CHECK ((state = ANY (ARRAY['delayed'::text, 'queued'::text, 'ready'::text, 'claimed'::text, 'delivered'::text, 'failed'::text, 'cancelled'::text])))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0, fillfactor = 70);
ALTER TABLE messages ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX messages_alone ON messages USING btree (alone_from_at) WHERE (alone_from_at IS NOT NULL);
CREATE INDEX messages_behind_flow_key ON messages USING btree (account_id, flow_key, due_at, seq) WHERE ((state = 'queued'::text) AND (flow_key IS NOT NULL));
CREATE INDEX messages_claimed ON messages USING btree (node) WHERE (state = 'claimed'::text);
CREATE INDEX messages_dead ON messages USING btree (account_id, seq) WHERE ((state = 'failed'::text) AND (retried_at IS NULL));
CREATE INDEX messages_debounced ON messages USING btree (account_id, debounce_key, seq) WHERE ((debounce_key IS NOT NULL) AND (ended_at IS NULL) AND (lease IS NULL) AND (attempts = 0));
CREATE INDEX messages_delayed ON messages USING btree (due_at) WHERE (state = 'delayed'::text);
CREATE INDEX messages_delayed_of_account ON messages USING btree (account_id, due_at) WHERE (state = 'delayed'::text);
CREATE INDEX messages_ended_badly ON messages USING btree (account_id, state, seq) WHERE (state = ANY (ARRAY['failed'::text, 'cancelled'::text]));
CREATE INDEX messages_expiring ON messages USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX messages_failed ON messages USING btree (account_id, ended_at) WHERE (state = 'failed'::text);
CREATE INDEX messages_held ON messages USING btree (account_id, seq) WHERE (held_at IS NOT NULL);
CREATE INDEX messages_holding ON messages USING btree (account_id, queue_name) WHERE (holds_place AND (queue_name IS NOT NULL));
CREATE INDEX messages_must_start ON messages USING btree (must_start_before) WHERE ((must_start_before IS NOT NULL) AND (ended_at IS NULL) AND (lease IS NULL));
CREATE INDEX messages_must_start_of_account ON messages USING btree (account_id, must_start_before) WHERE ((must_start_before IS NOT NULL) AND (ended_at IS NULL) AND (lease IS NULL));
CREATE INDEX messages_of_body ON messages USING btree (account_id, body_id) WHERE (body_id IS NOT NULL);
CREATE INDEX messages_of_debounce_key ON messages USING btree (account_id, split_part(debounce_key, chr(10), 1), seq) WHERE (debounce_key IS NOT NULL);
CREATE INDEX messages_of_flow_key ON messages USING btree (account_id, flow_key, seq) WHERE (flow_key IS NOT NULL);
CREATE INDEX messages_of_host ON messages USING btree (account_id, host, seq);
CREATE INDEX messages_of_order_key ON messages USING btree (account_id, queue_name, order_key, first_due_at, seq) WHERE ((order_key IS NOT NULL) AND (ended_at IS NULL));
CREATE INDEX messages_of_queue ON messages USING btree (account_id, queue_name, seq) WHERE (queue_name IS NOT NULL);
CREATE INDEX messages_of_schedule ON messages USING btree (account_id, schedule_id, seq) WHERE (schedule_id IS NOT NULL);
CREATE INDEX messages_of_source ON messages USING btree (account_id, source_message_id, seq) WHERE (source_message_id IS NOT NULL);
CREATE INDEX messages_of_topic ON messages USING btree (account_id, topic_name, seq) WHERE (topic_name IS NOT NULL);
CREATE INDEX messages_open ON messages USING btree (account_id, seq) WHERE (ended_at IS NULL);
CREATE INDEX messages_open_in_queue ON messages USING btree (account_id, queue_name, first_due_at, seq) WHERE ((ended_at IS NULL) AND (queue_name IS NOT NULL));
CREATE INDEX messages_queued ON messages USING btree (account_id, queue_name, first_due_at, seq) WHERE ((state = 'queued'::text) AND (NOT holds_place) AND is_first_of_key AND (queue_name IS NOT NULL));
CREATE INDEX messages_ranked ON messages USING btree (account_id, (
CASE
    WHEN ((outage IS NULL) OR (outage = 'retry'::text)) THEN host
    ELSE (host || ' parks'::text)
END), ((due_at - COALESCE(ahead_ms, 0))), seq) WHERE (state = 'ready'::text);
CREATE INDEX messages_within_flow_key ON messages USING btree (account_id, flow_key, state) WHERE (holds_place AND (flow_key IS NOT NULL));

CREATE TABLE nodes (
  id             text COLLATE "C" NOT NULL,
  alive_until    timestamp with time zone NOT NULL,
  started_at     timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  about          text COLLATE "C" NOT NULL,
  schema_version integer,
  CONSTRAINT nodes_pkey PRIMARY KEY (id)
) WITH (fillfactor = 50);

CREATE TABLE queues (
  account_id    text COLLATE "C" NOT NULL,
  name          text COLLATE "C" NOT NULL,
  parallelism   integer NOT NULL,
  is_paused     boolean NOT NULL DEFAULT false,
  next_start_at bigint,
  line_at       bigint NOT NULL DEFAULT 0,
  created_at    bigint NOT NULL,
  updated_at    bigint NOT NULL,
  stored_bytes  bigint,
  expires_ms    bigint,
  priority      integer,
  outage        text COLLATE "C",
  CONSTRAINT queues_pkey PRIMARY KEY (account_id, name),
  CONSTRAINT queues_parallelism_check CHECK ((parallelism >= 1))
) WITH (fillfactor = 50);
CREATE INDEX queues_next_start ON queues USING btree (next_start_at) WHERE (next_start_at IS NOT NULL);
CREATE INDEX queues_next_start_of_account ON queues USING btree (account_id, next_start_at) WHERE (next_start_at IS NOT NULL);

CREATE TABLE schedules (
  id               text COLLATE "C" NOT NULL,
  account_id       text COLLATE "C" NOT NULL,
  cron             text COLLATE "C" NOT NULL,
  destination      text COLLATE "C" NOT NULL,
  queue_name       text COLLATE "C",
  headers          text COLLATE "C" NOT NULL,
  caller_ip        text COLLATE "C",
  is_paused        boolean NOT NULL,
  next_at          bigint,
  last_at          bigint,
  last_message_ids text COLLATE "C" NOT NULL,
  created_at       bigint NOT NULL,
  stored_bytes     bigint,
  body             bytea NOT NULL,
  overlap          text COLLATE "C",
  jitter_ms        integer,
  skipped_count    bigint,
  skipped_at       bigint,
  version          integer NOT NULL DEFAULT 0,
  CONSTRAINT schedules_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX schedules_due ON schedules USING btree (next_at, account_id, id) WHERE (next_at IS NOT NULL);

CREATE TABLE schema_version (
  version    integer NOT NULL,
  reader_min integer NOT NULL DEFAULT 0
);

CREATE TABLE service_keys (
  name  text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  CONSTRAINT service_keys_pkey PRIMARY KEY (name)
);

CREATE TABLE sessions (
  id         text COLLATE "C" NOT NULL,
  token_id   text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  CONSTRAINT sessions_pkey PRIMARY KEY (id)
);
CREATE INDEX sessions_by_expiry ON sessions USING btree (expires_at, id);
CREATE INDEX sessions_of_token ON sessions USING btree (token_id, created_at, id);

CREATE TABLE stored (
  account_id text COLLATE "C" NOT NULL,
  shard      integer NOT NULL,
  bytes      bigint NOT NULL,
  CONSTRAINT stored_pkey PRIMARY KEY (account_id, shard)
) WITH (fillfactor = 50);

CREATE TABLE tokens (
  id           text COLLATE "C" NOT NULL,
  account_id   text COLLATE "C" NOT NULL,
  name         text COLLATE "C" NOT NULL,
  scopes       text COLLATE "C" NOT NULL,
  hash         bytea NOT NULL,
  created_at   bigint NOT NULL,
  revoked_at   bigint,
  last_used_at bigint,
  expires_at   bigint,
  addresses    text COLLATE "C" NOT NULL DEFAULT ''::text,
  CONSTRAINT tokens_pkey PRIMARY KEY (id),
  CONSTRAINT tokens_hash_key UNIQUE (hash)
);
CREATE INDEX tokens_by_account ON tokens USING btree (account_id, id);

CREATE TABLE topics (
  id           text COLLATE "C" NOT NULL,
  account_id   text COLLATE "C" NOT NULL,
  name         text COLLATE "C" NOT NULL,
  endpoints    text COLLATE "C" NOT NULL,
  defaults     text COLLATE "C" NOT NULL,
  created_at   bigint NOT NULL,
  updated_at   bigint NOT NULL,
  version      integer NOT NULL,
  stored_bytes bigint,
  CONSTRAINT topics_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT topics_account_id_name_key UNIQUE (account_id, name)
);

CREATE TABLE usage (
  account_id text COLLATE "C" NOT NULL,
  day        text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  shard      smallint NOT NULL,
  count      bigint NOT NULL,
  CONSTRAINT usage_pkey PRIMARY KEY (account_id, day, kind, shard)
) WITH (fillfactor = 50);

ALTER TABLE sessions ADD CONSTRAINT sessions_token_id_fkey FOREIGN KEY (token_id) REFERENCES tokens(id);
ALTER TABLE tokens ADD CONSTRAINT tokens_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id);

INSERT INTO schema_version (version, reader_min) VALUES (7, 2);
