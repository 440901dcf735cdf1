-- A message that its first attempt delivers says so itself: when the attempt began, and what a short response was. It then has
-- no row in attempts. Empty headers and an empty body are null. No check: it would read all messages there are.
ALTER TABLE messages ADD COLUMN first_started_at INTEGER;
ALTER TABLE messages ADD COLUMN first_response_headers TEXT;
ALTER TABLE messages ADD COLUMN first_response_body BLOB;
