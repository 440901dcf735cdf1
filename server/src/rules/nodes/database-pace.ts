// How long a node waits for its database. The times follow the measured round trip, so that a distant database does not
// count as unavailable. They are bounded, so that a publisher never waits long for a refusal.

/** Limit for a usable round trip to the database: a ping that takes longer counts as silence. */
const ROUND_TRIP_MS_MAX = 1000;
/** How many of the latest measurements of the round trip are used. */
const RECENT = 5;

/** How long the database may be silent before it counts as unavailable. */
const SILENCE_MS_MIN = 800;
const SILENT_ROUND_TRIPS = 4;
/** How long a new connection may take: TCP, TLS, authentication, settings. */
const CONNECT_MS_MIN = 1500;
const CONNECT_ROUND_TRIPS = 6;
const CONNECT_MS_MAX = 5000;
/** How long a commit, or a statement that commits, may take. This is longer than the statement may wait for a lock. */
const COMMIT_MS_MIN = 1500;
const COMMIT_ROUND_TRIPS = 3;
/**
 * How long the statements of an accept may take before its commit: another transaction may hold the lock of the queue
 * or the key.
 */
const ACCEPT_MS_MIN = 900;
const ACCEPT_ROUND_TRIPS = 12;

export interface DatabaseTimeouts {
  readonly silenceMs: number;
  readonly connectMs: number;
  readonly commitMs: number;
  readonly acceptMs: number;
}

/** Adds a measurement of the round trip to the latest ones, and drops the oldest. */
export function withRoundTrip(recent: readonly number[], measuredMs: number): readonly number[] {
  return [...recent.slice(1 - RECENT), Math.min(ROUND_TRIP_MS_MAX, Math.max(0, measuredMs))];
}

/** The round trip: the shortest of the latest ones, because load makes some of them longer, but distance makes all. */
export function roundTripOf(recent: readonly number[]): number {
  return recent.length === 0 ? 0 : Math.min(...recent);
}

/**
 * A new connection waits by the longest of the latest round trips: the database may just have moved further away, and a
 * connection that is given up refuses a publish. `moreMs` is added to all these times, for tests on a busy machine.
 */
export function databaseTimeouts(recent: readonly number[], moreMs = 0): DatabaseTimeouts {
  const roundTripMs = roundTripOf(recent);
  const connectMs = CONNECT_ROUND_TRIPS * Math.max(0, ...recent);
  return {
    silenceMs: moreMs + Math.max(SILENCE_MS_MIN, SILENT_ROUND_TRIPS * roundTripMs),
    connectMs: moreMs + Math.min(CONNECT_MS_MAX, Math.max(CONNECT_MS_MIN, connectMs)),
    commitMs: moreMs + COMMIT_MS_MIN + COMMIT_ROUND_TRIPS * roundTripMs,
    acceptMs: moreMs + ACCEPT_MS_MIN + ACCEPT_ROUND_TRIPS * roundTripMs,
  };
}

/**
 * The expected round trip for the next try to connect: the database may have moved further away since the last
 * measurement. Every second try stays short, because a try that began while the database was unavailable delays the
 * reconnect.
 */
export function roundTripForTry(knownMs: number, failedTries: number): number {
  if (failedTries % 2 === 0) return knownMs;
  return Math.min(ROUND_TRIP_MS_MAX, Math.max(knownMs, 100) * 2 ** ((failedTries + 1) / 2));
}
