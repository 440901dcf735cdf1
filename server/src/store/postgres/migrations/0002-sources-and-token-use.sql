-- What a message led to: its callbacks, and the retry of a dead letter. And when a token was last shown, to about a
-- minute.
CREATE INDEX messages_of_source ON messages (account_id, source_message_id, seq) WHERE source_message_id IS NOT NULL;
ALTER TABLE tokens ADD COLUMN last_used_at bigint;
