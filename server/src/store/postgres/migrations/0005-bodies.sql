-- A body that several messages share is stored once: what a topic fans out. A message that has its body alone keeps it
-- in its own row, and its body_id is null.
CREATE TABLE bodies (
  account_id text COLLATE "C" NOT NULL,
  -- Out of the same sequence as the numbers of messages.
  id         bigint NOT NULL,
  bytes      bytea NOT NULL,
  PRIMARY KEY (account_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- As the bodies in messages: how long it is can be told without reading it.
ALTER TABLE bodies ALTER COLUMN bytes SET STORAGE EXTERNAL;

ALTER TABLE messages ADD COLUMN body_id bigint;
CREATE INDEX messages_of_body ON messages (account_id, body_id) WHERE body_id IS NOT NULL;
