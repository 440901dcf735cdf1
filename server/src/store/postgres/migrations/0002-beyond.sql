-- readers: 2
-- An older program would take the ticks of schedules whose times it cannot read, and set no next time.

-- Settings of a message beyond the first contract. server/src/store/rows/message-fields.ts says what the columns hold.
ALTER TABLE messages ADD COLUMN retry_jitter integer;
ALTER TABLE messages ADD COLUMN ahead_ms integer;
ALTER TABLE messages ADD COLUMN changes integer;
ALTER TABLE messages ADD COLUMN must_start_before bigint;
ALTER TABLE messages ADD COLUMN failure_code text COLLATE "C";
ALTER TABLE messages ADD COLUMN debounce_key text COLLATE "C";
ALTER TABLE messages ADD COLUMN debounce_latest_at bigint;
ALTER TABLE messages ADD COLUMN debounced integer;
ALTER TABLE messages ADD COLUMN outage text COLLATE "C";
ALTER TABLE messages ADD COLUMN await_ack_ms bigint;

-- Queues. expires_ms: how long after it is due a message may start, if it has no expiry of its own. priority: of its
-- messages, before those of other queues. outage: of its messages that say nothing themselves.
ALTER TABLE queues ADD COLUMN expires_ms bigint;
ALTER TABLE queues ADD COLUMN priority integer;
ALTER TABLE queues ADD COLUMN outage text COLLATE "C";

-- What messages of the account that say nothing themselves do while their host is down: 'park', or null.
ALTER TABLE accounts ADD COLUMN outage text COLLATE "C";

-- Hosts, by account: rules/hosts/ says what `health` and `parking` hold, as JSON. parked_at: since when messages are parked.
-- owner: the node that alone sends probes to a parked host, until owned_until.
CREATE TABLE hosts (
  account_id      text COLLATE "C" NOT NULL,
  host            text COLLATE "C" NOT NULL,
  health          text COLLATE "C" NOT NULL,
  last_attempt_at bigint NOT NULL,
  parking         text COLLATE "C",
  parked_at       bigint,
  owner           text COLLATE "C",
  owned_until     bigint,
  PRIMARY KEY (account_id, host)
);

-- What a receiver has said of an attempt whose ack has not come: rules/acks/ack.ts. One row for a claimed message at
-- most, deleted with the end of the attempt. is_awaiting: the response was a 202; before, the receiver may have reported
-- progress already. stored_bytes: of the response, as counted.
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
  PRIMARY KEY (account_id, message_seq)
);

-- Keys that all nodes of the store use, made by the first that starts.
CREATE TABLE service_keys (
  name  text COLLATE "C" PRIMARY KEY,
  value text COLLATE "C" NOT NULL
);

-- Schedules. overlap: 'skip', or null: a tick makes messages also while those of the tick before are open. jitter_ms: by
-- how much the messages of a tick are due later, at most.
ALTER TABLE schedules ADD COLUMN overlap text COLLATE "C";
ALTER TABLE schedules ADD COLUMN jitter_ms integer;
ALTER TABLE schedules ADD COLUMN skipped_count bigint;
ALTER TABLE schedules ADD COLUMN skipped_at bigint;
-- Raised by every change, pause and resume: a tick is made only by the version that it was planned from.
ALTER TABLE schedules ADD COLUMN version integer NOT NULL DEFAULT 0;
