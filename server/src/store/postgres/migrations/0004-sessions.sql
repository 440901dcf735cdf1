-- Who is signed in to the console. The id is the hash of a secret that only the browser has.
CREATE TABLE sessions (
  id         text COLLATE "C" PRIMARY KEY,
  token_id   text COLLATE "C" NOT NULL REFERENCES tokens (id),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);

CREATE INDEX sessions_of_token ON sessions (token_id, created_at, id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at, id);
