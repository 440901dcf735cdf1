-- When a token expires, if it does, and the CIDR ranges from which it may be used, with blanks between them; none: from everywhere.
ALTER TABLE tokens ADD COLUMN expires_at bigint;
ALTER TABLE tokens ADD COLUMN addresses text COLLATE "C" NOT NULL DEFAULT '';
