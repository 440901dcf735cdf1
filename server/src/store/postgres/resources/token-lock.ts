// The lock of all tokens: whoever revokes one or makes the first administrator does so alone, on all nodes.

import type { Database } from '../sessions/database.ts';

/**
 * How long a node that starts waits for another one. Longer than a machine may be paused: after a pause, the timers of
 * this node fire before the other node could do anything.
 */
const START_MS_MAX = 120_000;

/** Holds the lock until the end of the transaction. */
export async function lockTokens(database: Database, asker: 'request' | 'start'): Promise<void> {
  if (asker === 'start') {
    // No request waits for a start, so it may take longer. The node that holds the lock may be slow, because it is
    // starting too.
    await database.run(`SET LOCAL lock_timeout = ${START_MS_MAX}`);
    await database.run('SET LOCAL statement_timeout = 0');
  }
  await database.get("SELECT pg_advisory_xact_lock(hashtextextended('postrider tokens ' || current_schema(), 8411))");
}
