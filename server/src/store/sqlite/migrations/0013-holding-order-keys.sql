-- Whether a message of an order key holds a place of its queue is asked for every message that comes with one: without the
-- key, the search went through all that the queue has ever had.
DROP INDEX messages_holding;
CREATE INDEX messages_holding ON messages (account_id, queue_name, order_key)
  WHERE holds_slot = 1 AND queue_name IS NOT NULL;
