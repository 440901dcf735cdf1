-- A dead letter that was sent again stays until its retention: when that was, and the id of the new message. No check: it
-- would read all messages there are.
ALTER TABLE messages ADD COLUMN retried_at INTEGER;
ALTER TABLE messages ADD COLUMN retried_as TEXT;

-- Dead letters that nobody has sent again.
CREATE INDEX messages_dead ON messages (account_id, seq) WHERE state = 'failed' AND retried_at IS NULL;
