-- Whether counting what a bulk operation means ended before all were counted.
ALTER TABLE jobs ADD COLUMN is_matched_cut boolean NOT NULL DEFAULT false;
