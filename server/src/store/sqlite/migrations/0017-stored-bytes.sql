-- How many bytes each account stores, and each message of it. Null: stored by an earlier version, and not counted.
CREATE TABLE stored (
  account_id TEXT PRIMARY KEY,
  bytes      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE messages ADD COLUMN stored_bytes INTEGER;

-- Since when the account is suspended.
ALTER TABLE accounts ADD COLUMN suspended_at INTEGER;

CREATE INDEX accounts_suspended ON accounts (id) WHERE suspended_at IS NOT NULL;
