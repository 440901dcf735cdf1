-- What the calls have changed, and what was refused: rules/accounts/audit.ts says what the columns hold. id: begins with
-- the time. account_id: of the caller; '' if it is not known. kind: 'change',
-- 'frequent' or 'refused'. number: counts the rows of an account of one kind, so that the oldest are found when there are
-- too many.
CREATE TABLE audit (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  kind       TEXT NOT NULL,
  number     INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  via        TEXT NOT NULL,
  token_id   TEXT,
  token_name TEXT,
  address    TEXT,
  call       TEXT NOT NULL,
  target     TEXT,
  status     INTEGER,
  code       TEXT,
  request_id TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_of_account ON audit (account_id, id);
CREATE INDEX audit_numbers ON audit (account_id, kind, number);
