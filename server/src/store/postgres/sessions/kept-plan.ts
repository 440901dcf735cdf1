// Whether a session keeps the plans of its statements, or makes a new plan for each call. A plan made for an almost
// empty table is bad for a full one, and planning a settlement costs as much as settling some messages. So plans are
// kept while the table is large, and renewed from time to time.

import type { Database } from './database.ts';

/** From this size on the planner knows which index leads to a message, whatever the statistics say. */
const TABLE_BYTES_MIN = 8 * 1024 * 1024;
/** A plan that is no longer good is kept for at most this long. */
const LOOK_EVERY_MS = 10_000;

export class KeptPlan {
  #lookAtMs = Number.NEGATIVE_INFINITY;

  /** Decides from time to time whether the session keeps plans. A session begins without kept plans (connection.ts). */
  async look(database: Database, nowMs: number): Promise<void> {
    if (nowMs < this.#lookAtMs) return;
    const table = await database.get<{ bytes: number }>("SELECT pg_relation_size('messages') AS bytes");
    const mode = table!.bytes < TABLE_BYTES_MIN ? 'force_custom_plan' : 'force_generic_plan';
    await database.exec(`DISCARD PLANS; SET plan_cache_mode = ${mode}`);
    this.#lookAtMs = nowMs + LOOK_EVERY_MS;
  }
}
