-- Steps from one account to the next through what is due at one time, however many schedules each has.
CREATE INDEX schedules_due ON schedules (next_at, account_id, id) WHERE next_at IS NOT NULL;
DROP INDEX schedules_next;
