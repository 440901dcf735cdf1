// Does the database stay bounded under steady load? One node over PostgreSQL with a short retention: what is deleted
// must be what is accepted, and the space of the one must serve the other. Prints the sizes of the tables and their
// dead rows over time, and what the last minutes added.
// npm run bench -- growth [--minutes 10] [--rate 300] [--retention 30s]

import { parseArgs } from 'node:util';
import { withClient } from '../server/test/postgres/databases.ts';
import { PostgresServer } from '../server/test/postgres/server.ts';
import { Child } from './child.ts';

const BIN = new URL('../server/bin/postrider.js', import.meta.url).pathname;
const LOAD = new URL('./load.ts', import.meta.url).pathname;
const SINK = new URL('./sink.ts', import.meta.url).pathname;
const CONNECTIONS = '16';
const EVERY_MS = 30_000;

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '300' },
    retention: { type: 'string', default: '30' },
  },
});

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
const children: Child[] = [];
const start = (...argv: string[]) => {
  const child = new Child(argv);
  children.push(child);
  return child;
};
try {
  const database = server.url(await server.createEmptyDatabase());
  const sink = start(SINK);
  const port = await sink.says<number>('port');
  const tiers = JSON.stringify({ free: { retentionMs: Number(values.retention) * 1000 } });
  const common = ['--host', '127.0.0.1', '--port', '0', '--json', '--log-level', 'warn', '--allow-cidr', '127.0.0.0/8'];
  const node = start(BIN, 'serve', '--store', database, ...common, '--tiers', tiers);
  const token = await node.says<string>('token');
  const load = start(LOAD, CONNECTIONS, values.rate, `http://127.0.0.1:${port}/`, token, String(node.said.api));
  process.stdout.write('| minute | accepted | delivered | all tables, MiB | messages | dead rows | vacuums |\n');
  process.stdout.write('|---|---|---|---|---|---|---|\n');
  const history: number[] = [];
  const rounds = Math.round((Number(values.minutes) * 60_000) / EVERY_MS);
  for (let round = 1; round <= rounds; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    const { mib, messages, dead, vacuums } = await sizes(database);
    history.push(mib);
    const cells = [
      (round * EVERY_MS) / 60_000,
      load.number('accepted'),
      sink.number('count'),
      mib,
      messages,
      dead,
      vacuums,
    ];
    process.stdout.write(`| ${cells.join(' | ')} |\n`);
  }
  const half = history.slice(Math.floor(history.length / 2));
  process.stdout.write(`\nin the second half: from ${half[0]} to ${half.at(-1)} MiB, at most ${Math.max(...half)}\n`);
} finally {
  for (const child of children.reverse()) await child.end();
  await server.stop();
}
