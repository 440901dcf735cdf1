-- Alerts: what a person has set, what the target was told, and when the rule is judged next.
CREATE TABLE alerts (
  id              text COLLATE "C" NOT NULL,
  account_id      text COLLATE "C" NOT NULL,
  rule            text COLLATE "C" NOT NULL,
  target          text COLLATE "C" NOT NULL,
  remind_every_ms bigint,
  state           text COLLATE "C" NOT NULL CHECK (state IN ('calm', 'firing')),
  since_at        bigint,
  told_at         bigint,
  message_id      text COLLATE "C",
  text            text COLLATE "C",
  problem         text COLLATE "C",
  judged_at       bigint,
  next_at         bigint NOT NULL,
  created_at      bigint NOT NULL,
  updated_at      bigint NOT NULL,
  version         bigint NOT NULL,
  PRIMARY KEY (account_id, id),
  CHECK ((state = 'firing') = (since_at IS NOT NULL))
) WITH (fillfactor = 50);

CREATE INDEX alerts_next ON alerts (next_at);
