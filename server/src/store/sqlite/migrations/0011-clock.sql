-- The time as it was last known: rules/time/clock.ts. One row, written with the sign of life.
CREATE TABLE clock (
  only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
  -- What the wall clock showed, what was believed, and the time of order, which never goes back.
  wall_at    INTEGER NOT NULL,
  trusted_at INTEGER NOT NULL,
  order_at   INTEGER NOT NULL,
  -- For how long the wall clock had not been believed.
  doubted_ms INTEGER NOT NULL
) STRICT;
