// Thousands of accounts that do nothing, and thousands of schedules that are all due at one moment: no tick is lost or made
// twice, and no node that nothing else was done to is taken for dead over it.

import { setTimeout as wait } from 'node:timers/promises';
import type { Cluster, ClusterNode } from './cluster.ts';
import { type Fault, SAMPLE_MS } from './faults.ts';

const ACCOUNTS = 2000;
const SCHEDULES = 2000;
/** The schedules belong to so many of the accounts; the others are idle. */
const WITH_SCHEDULES = 20;
/** All nodes hear of them before they are due. */
const AHEAD_MS = 1000;
const ALL_MADE_MS_MAX = 60_000;
const CHANNEL = 'postrider public';

/** Straight into the tables; the schedules are not due before `crowd` says so. */
export async function makeCrowd(cluster: Cluster, url: string): Promise<void> {
  await cluster.tables.query(
    `INSERT INTO accounts (id, name, tier, current_key, next_key, created_at)
       SELECT 'acc_crowd' || n, 'crowd ' || n, tier, current_key, next_key, created_at
         FROM (SELECT * FROM accounts LIMIT 1) AS a, generate_series(0, $1 - 1) AS n`,
    [ACCOUNTS],
  );
  await cluster.tables.query(
    `INSERT INTO schedules (id, account_id, cron, destination, headers, is_paused, next_at, last_message_ids, created_at, body)
       SELECT 'scd_crowd' || n, 'acc_crowd' || n % $2, '0 0 1 1 *', $3, '[]', false, $4, '[]', $5, ''
         FROM generate_series(0, $1 - 1) AS n`,
    [SCHEDULES, WITH_SCHEDULES, `${url}/ok/tick`, Date.now() + 86_400_000, Date.now()],
  );
}

/** All schedules are due at once. */
export const crowd: Fault = async (cluster, node) => {
  node.isAtFault = false;
  const { tables } = cluster;
  const dueAt = Date.now() + AHEAD_MS;
  await tables.query("UPDATE schedules SET next_at = $1 WHERE id LIKE 'scd_crowd%'", [dueAt]);
  await tables.query('SELECT pg_notify($1, $2)', [CHANNEL, 'somebody w']);
  const problems = new Set<string>();
  let [left, leastMs] = [SCHEDULES, Number.POSITIVE_INFINITY];
  while (left > 0 && Date.now() < dueAt + ALL_MADE_MS_MAX) {
    const isWell = (each: ClusterNode) => each === node || !each.isBusy;
    const well = cluster.nodes.filter(isWell).map(({ id, name }) => ({ id, name }));
    const lives = await tables.lives();
    for (const { id, name } of well) {
      const leftMs = lives.find((life) => life.id === id)?.leftMs;
      const isStillWell = cluster.nodes.some((each) => each.id === id && isWell(each));
      if (leftMs === undefined || !isStillWell) continue;
      leastMs = Math.min(leastMs, leftMs);
      if (leftMs <= 0) problems.add(`the lease of ${name} ran out while ${SCHEDULES} schedules were due`);
    }
    const [row] = await tables.query<{ n: number }>(
      "SELECT count(*) AS n FROM schedules WHERE id LIKE 'scd_crowd%' AND next_at <= $1",
      [dueAt],
    );
    left = row!.n;
    await wait(SAMPLE_MS);
  }
  const tookMs = Date.now() - dueAt;
  if (left > 0) problems.add(`${left} of ${SCHEDULES} schedules are still due after ${ALL_MADE_MS_MAX} ms`);
  const name = `${SCHEDULES} schedules due at once, made within ${tookMs} ms, ${Math.round(leastMs)} ms of a lease left`;
  return { name, inFlight: 0, problems: [...problems], isTold: true };
};

/** At the end of a run, in which each of them was due once. */
export async function judgeTicks(cluster: Cluster): Promise<string[]> {
  const wrong = await cluster.tables.query<{ id: string; n: number }>(
    `SELECT s.id, count(m.id) AS n FROM schedules s LEFT JOIN messages m ON m.schedule_id = s.id
       WHERE s.id LIKE 'scd_crowd%' GROUP BY s.id HAVING count(m.id) <> 1`,
  );
  return wrong.map(({ id, n }) => `${id} was due once and made ${n} messages`);
}
