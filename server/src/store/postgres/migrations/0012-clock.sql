-- The time as the nodes last knew it: rules/time/clock.ts. One row, written with their signs of life.
CREATE TABLE clock (
  only_row   integer PRIMARY KEY CHECK (only_row = 1),
  -- What the wall clock showed, what was believed, and the time of order, which never goes back.
  wall_at    bigint NOT NULL,
  trusted_at bigint NOT NULL,
  order_at   bigint NOT NULL,
  -- For how long the wall clock had not been believed.
  doubted_ms bigint NOT NULL
) WITH (fillfactor = 50);
