-- Messages by the debounce key that their caller gave: before the line break that the URL of an endpoint of a topic follows.
CREATE INDEX messages_of_debounce_key ON messages
  (account_id, substr(debounce_key, 1, instr(debounce_key || char(10), char(10)) - 1), seq) WHERE debounce_key IS NOT NULL;
