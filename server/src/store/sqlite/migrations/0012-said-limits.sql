-- Limits that the newest message of a flow key says and that have not taken effect (as JSON), and since when.
ALTER TABLE flow_keys ADD COLUMN said_limits TEXT;
ALTER TABLE flow_keys ADD COLUMN said_at INTEGER;
CREATE INDEX flow_keys_said ON flow_keys (said_at) WHERE said_at IS NOT NULL;
