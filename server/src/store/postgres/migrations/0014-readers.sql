-- The oldest program that can serve this schema, by the newest migration that it knows: one that is older stops, and does
-- not start. And which migrations a node knows: a change that older nodes cannot bear waits until they are gone.
ALTER TABLE schema_version ADD COLUMN reader_min integer NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN schema_version integer;
