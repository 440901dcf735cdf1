-- Who is signed in to the console. The id is the hash of a secret that only the browser has.
CREATE TABLE sessions (
  id         TEXT PRIMARY KEY,
  token_id   TEXT NOT NULL REFERENCES tokens (id),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_of_token ON sessions (token_id, created_at, id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at, id);
