-- A message is written once more when it ends. With room left in its page the new row stands beside the old one, and only
-- the difference is logged. Pages that are full already stay so.
ALTER TABLE messages SET (fillfactor = 70);
