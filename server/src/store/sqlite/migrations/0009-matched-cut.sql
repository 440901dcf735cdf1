-- Whether counting what a bulk operation means ended before all were counted.
ALTER TABLE jobs ADD COLUMN is_matched_cut INTEGER NOT NULL DEFAULT 0 CHECK (is_matched_cut IN (0, 1));
