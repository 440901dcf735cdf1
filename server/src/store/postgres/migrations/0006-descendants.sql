-- How many messages may descend from this one; null for as many as there may be.
ALTER TABLE messages ADD COLUMN descendants_left integer;
