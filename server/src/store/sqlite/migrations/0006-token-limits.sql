-- When a token expires, if it does, and the CIDR ranges from which it may be used, with blanks between them; none: from everywhere.
ALTER TABLE tokens ADD COLUMN expires_at INTEGER;
ALTER TABLE tokens ADD COLUMN addresses TEXT NOT NULL DEFAULT '';
