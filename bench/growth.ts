// Does the database stay bounded under steady load? One node over PostgreSQL with a short retention: what is deleted
// must be what is accepted, and the space of the one must serve the other. Prints the sizes of the tables and their
// dead rows over time, and what the last minutes added.
// npm run bench -- growth [--minutes 10] [--rate 300] [--retention 30s]

import { withClient } from '../server/test/postgres/databases.ts';
import { PostgresServer } from '../server/test/postgres/server.ts';
import { wait } from './clock.ts';
import { startLoad, startSink } from './measure.ts';
import { asked, publish, type Row } from './part.ts';
import { onPostgres } from './targets.ts';

const CONNECTIONS = 16;
const EVERY_MS = 30_000;

interface Size {
  readonly mib: number;
  readonly messages: number;
  readonly dead: number;
  readonly vacuums: number;
}

async function sizes(url: string): Promise<Size> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<Size>(
      `SELECT round(sum(pg_total_relation_size(relid)) / 1048576.0, 1)::float8 AS mib,
         sum(n_live_tup) FILTER (WHERE relname = 'messages')::int AS messages,
         sum(n_dead_tup) FILTER (WHERE relname = 'messages')::int AS dead,
         sum(autovacuum_count)::int AS vacuums FROM pg_stat_user_tables`,
    );
    return rows[0]!;
  });
}

const server = await PostgresServer.start({ onDisk: true, settings: ['autovacuum_naptime=10s'] });
const tiers = JSON.stringify({ free: { retentionMs: Number(asked.retention) * 1000 } });
const node = await onPostgres(server).start({ flags: ['--tiers', tiers] });
const sink = startSink();
const rows: Row[] = [];
try {
  const destination = `http://127.0.0.1:${await sink.says<number>('port')}/`;
  const pace = { seconds: 0, warmUpSeconds: 0, connections: CONNECTIONS };
  const load = startLoad(node, pace, { rate: Number(asked.rate) }, destination);
  const steps = Math.max(1, Math.round((Number(asked.minutes) * 60_000) / EVERY_MS));
  for (let step = 1; step <= steps; step += 1) {
    await wait(EVERY_MS);
    const size = await sizes(server.url(node.database));
    const name = `minute ${(step * EVERY_MS) / 60_000}`;
    rows.push({
      name,
      numbers: { ...size, accepted: load.number('accepted'), delivered: sink.number('count') },
    });
    process.stderr.write(`${name}: ${size.mib} MiB\n`);
  }
  await load.end();
} finally {
  await sink.end();
  await node.stop();
  await server.stop();
}
const half = rows.slice(Math.floor(rows.length / 2)).map(({ numbers }) => numbers.mib ?? 0);
publish('growth', {
  title: 'Steady load with a short retention (PostgreSQL)',
  columns: [
    ['accepted', 'accepted'],
    ['delivered', 'delivered'],
    ['mib', 'all tables, MiB'],
    ['messages', 'messages'],
    ['dead', 'dead rows'],
    ['vacuums', 'vacuums'],
  ],
  rows,
  notes: [`In the second half: from ${half[0]} to ${half.at(-1)} MiB, at most ${Math.max(...half)}.`],
  pace: `${asked.rate} messages a second, kept for ${asked.retention} s`,
});
