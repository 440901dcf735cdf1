-- Messages that failed, by when they did.
CREATE INDEX CONCURRENTLY messages_failed ON messages (account_id, ended_at) WHERE state = 'failed';
