-- The due queues and flow keys of each account are found without walking through those of the others.
CREATE INDEX CONCURRENTLY queues_next_start_of_account ON queues (account_id, next_start_at) WHERE next_start_at IS NOT NULL;
CREATE INDEX CONCURRENTLY flow_keys_next_start_of_account ON flow_keys (account_id, next_start_at) WHERE next_start_at IS NOT NULL;
CREATE INDEX CONCURRENTLY flow_keys_said_of_account ON flow_keys (account_id, said_at) WHERE said_at IS NOT NULL;
-- Claims ask for the suspended accounts, which are few.
CREATE INDEX CONCURRENTLY accounts_suspended ON accounts (id) WHERE suspended_at IS NOT NULL;
