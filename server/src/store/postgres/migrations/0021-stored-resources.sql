-- What each topic, schedule and bulk operation is counted as in the bytes of its account, and each queue and flow key that a
-- person has set. Null for a queue: only messages have used it, and it is deleted without them.
ALTER TABLE topics ADD COLUMN stored_bytes bigint;
ALTER TABLE schedules ADD COLUMN stored_bytes bigint;
ALTER TABLE flow_keys ADD COLUMN stored_bytes bigint;
ALTER TABLE jobs ADD COLUMN stored_bytes bigint;
-- Nobody knows which of the queues of now a person has made: they get 0, and stay.
ALTER TABLE queues ADD COLUMN stored_bytes bigint DEFAULT 0;
ALTER TABLE queues ALTER COLUMN stored_bytes DROP DEFAULT;
