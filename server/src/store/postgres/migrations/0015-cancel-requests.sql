-- A message that is cancelled while a node has claimed it: since when, and until when it is kept once it has ended. It keeps
-- its claim and its place in line until that claim is settled, given back or taken over. No check: it would read all messages
-- there are.
ALTER TABLE messages ADD COLUMN cancel_requested_at bigint;
ALTER TABLE messages ADD COLUMN cancel_expires_at bigint;
