-- Messages that crashes of the server have cut off: rules/delivery/recovery.ts.

-- Of the crashes that `interrupted` counts, those at which nothing else was in flight on the node.
ALTER TABLE messages ADD COLUMN alone_at_crash integer NOT NULL DEFAULT 0;
-- From when it may start, while nothing else does on its node. Its due_at is a time that never comes, so that it starts
-- in no other way and keeps its place in its queue.
ALTER TABLE messages ADD COLUMN alone_from_at bigint
  CHECK (alone_from_at IS NULL OR state = 'delayed' OR state = 'queued');
-- Since when it waits for a person. Its due_at never comes either.
ALTER TABLE messages ADD COLUMN held_at bigint CHECK (held_at IS NULL OR state = 'delayed' OR state = 'queued');

CREATE INDEX messages_alone ON messages (alone_from_at) WHERE alone_from_at IS NOT NULL;
CREATE INDEX messages_held ON messages (account_id, seq) WHERE held_at IS NOT NULL;
