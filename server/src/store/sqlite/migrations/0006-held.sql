-- Messages that crashes of the server have cut off: rules/delivery/recovery.ts. Behind the body, but known without walking through
-- it as long as they are 0 and null, as they are of nearly all messages.

-- Of the crashes that `interrupted` counts, those at which nothing else was in flight.
ALTER TABLE messages ADD COLUMN alone_at_crash INTEGER NOT NULL DEFAULT 0;
-- From when it may start, while nothing else does. Its due_at is a time that never comes, so that it starts in no other
-- way and keeps its place in its queue.
ALTER TABLE messages ADD COLUMN alone_from_at INTEGER
  CHECK (alone_from_at IS NULL OR state = 'delayed' OR state = 'queued');
-- Since when it waits for a person. Its due_at never comes either.
ALTER TABLE messages ADD COLUMN held_at INTEGER CHECK (held_at IS NULL OR state = 'delayed' OR state = 'queued');

CREATE INDEX messages_alone ON messages (alone_from_at) WHERE alone_from_at IS NOT NULL;
CREATE INDEX messages_held ON messages (account_id, seq) WHERE held_at IS NOT NULL;
