// Whether a session keeps the plan of its statements, or makes it anew for each call. A plan that was made for an
// almost empty table is bad for a full one, and to make the plan of a settlement costs as much as to settle some
// messages. So the plan is kept while the table is large, and is made anew now and then.

import type { Database } from './database.ts';

/** From here on the planner knows which index leads to a message, whatever the statistics say. */
const TABLE_BYTES_MIN = 8 * 1024 * 1024;
/** A plan that is no longer good is kept for this long at most. */
const LOOK_EVERY_MS = 10_000;

export class KeptPlan {
  #lookAtMs = Number.NEGATIVE_INFINITY;

  /** A session begins without kept plans (connection.ts). */
  async look(database: Database, nowMs: number): Promise<void> {
    if (nowMs < this.#lookAtMs) return;
    const table = await database.get<{ bytes: number }>("SELECT pg_relation_size('messages') AS bytes");
    const mode = table!.bytes < TABLE_BYTES_MIN ? 'force_custom_plan' : 'force_generic_plan';
    await database.exec(`DISCARD PLANS; SET plan_cache_mode = ${mode}`);
    this.#lookAtMs = nowMs + LOOK_EVERY_MS;
  }
}
