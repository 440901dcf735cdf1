-- A body that several messages share is stored once: what a topic fans out. A message that has its body alone keeps it
-- in its own row, and its body_id is null.
CREATE TABLE bodies (
  id         INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL,
  bytes      BLOB NOT NULL
) STRICT;

-- Behind the body, but known without walking through it: either it is null, or the body is empty.
ALTER TABLE messages ADD COLUMN body_id INTEGER;
CREATE INDEX messages_of_body ON messages (body_id) WHERE body_id IS NOT NULL;
