-- What the calls have changed, and what was refused: rules/accounts/audit.ts says what the columns hold. id: begins with
-- the time. account_id: of the caller; '' if it is not known. kind: 'change',
-- 'frequent' or 'refused'. number: counts the rows of an account of one kind, so that the oldest are found when there are
-- too many.
CREATE TABLE audit (
  id         text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  number     bigint NOT NULL,
  at         bigint NOT NULL,
  last_at    bigint NOT NULL,
  count      bigint NOT NULL,
  via        text COLLATE "C" NOT NULL,
  token_id   text COLLATE "C",
  token_name text COLLATE "C",
  address    text COLLATE "C",
  call       text COLLATE "C" NOT NULL,
  target     text COLLATE "C",
  status     integer,
  code       text COLLATE "C",
  request_id text COLLATE "C"
);
CREATE INDEX audit_of_account ON audit (account_id, id);
CREATE INDEX audit_numbers ON audit (account_id, kind, number);
