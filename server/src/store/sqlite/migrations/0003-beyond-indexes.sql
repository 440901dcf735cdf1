-- Messages that park wait in a backlog of their own, which a claim passes over in one step. The order of ready messages
-- takes priorities into account. A message without one has the order that it had before.
CREATE INDEX messages_ranked ON messages
  (account_id, (CASE WHEN outage IS NULL OR outage = 'retry' THEN host ELSE host || ' parks' END), (due_at - coalesce(ahead_ms, 0)), seq) WHERE state = 'ready';
DROP INDEX messages_ready;
-- Messages that wait and expire. A claimed one is not among them: its attempt has started.
CREATE INDEX messages_must_start ON messages (must_start_before)
  WHERE must_start_before IS NOT NULL AND ended_at IS NULL AND lease IS NULL;
CREATE INDEX messages_must_start_of_account ON messages (account_id, must_start_before)
  WHERE must_start_before IS NOT NULL AND ended_at IS NULL AND lease IS NULL;
-- Messages with a debounce key that wait for their first attempt: a new message takes the place of the newest.
CREATE INDEX messages_debounced ON messages (account_id, debounce_key, seq)
  WHERE debounce_key IS NOT NULL AND ended_at IS NULL AND lease IS NULL AND attempts = 0;
-- Parked hosts.
CREATE INDEX hosts_parked ON hosts (account_id, host) WHERE parked_at IS NOT NULL;
-- The last column is in each of them so that a count reads the index alone.
DROP INDEX messages_open;
CREATE INDEX messages_open ON messages (account_id, seq, ended_at) WHERE ended_at IS NULL;
DROP INDEX messages_open_in_queue;
CREATE INDEX messages_open_in_queue ON messages (account_id, queue_name, first_due_at, seq, ended_at)
  WHERE ended_at IS NULL AND queue_name IS NOT NULL;
DROP INDEX messages_dead;
CREATE INDEX messages_dead ON messages (account_id, seq, retried_at) WHERE state = 'failed' AND retried_at IS NULL;
-- Attempts that await their acks, the earliest deadline first.
CREATE INDEX acks_due ON acks (deadline_at) WHERE is_awaiting = 1;
-- Those of an account: accounts take turns while many are due.
CREATE INDEX acks_due_of_account ON acks (account_id, deadline_at) WHERE is_awaiting = 1;
