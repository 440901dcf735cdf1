-- How many bytes each account stores, and each message of it. Null: stored by an earlier version, and not counted.
-- Each session has its own rows, so that no transaction waits for the count of another.
CREATE TABLE stored (
  account_id text COLLATE "C" NOT NULL,
  shard      integer NOT NULL,
  bytes      bigint NOT NULL,
  PRIMARY KEY (account_id, shard)
) WITH (fillfactor = 50);

ALTER TABLE messages ADD COLUMN stored_bytes bigint;

-- Since when the account is suspended.
ALTER TABLE accounts ADD COLUMN suspended_at bigint;
