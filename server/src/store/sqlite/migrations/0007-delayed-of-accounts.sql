-- What is due of each account is found without walking through what is due of the others.
CREATE INDEX messages_delayed_of_account ON messages (account_id, due_at) WHERE state = 'delayed';
