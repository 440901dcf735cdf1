-- Since when the account is being deleted, in pieces. It is suspended too, so the index of suspended accounts finds it.
ALTER TABLE accounts ADD COLUMN deleting_since INTEGER;
