-- Messages by the debounce key that their caller gave: before the line break that the URL of an endpoint of a topic follows.
CREATE INDEX CONCURRENTLY messages_of_debounce_key ON messages (account_id, split_part(debounce_key, chr(10), 1), seq)
  WHERE debounce_key IS NOT NULL;
