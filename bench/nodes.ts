// What one, two and three nodes over one PostgreSQL do, beside one node over a file, in one run: rounds of all layouts
// in turn, medians. Everything on this machine: the nodes, the database, the publishers and the receiver share it.
// npm run bench -- nodes [--rounds 3] [--seconds 10] [--connections 64]

import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PostgresServer } from '../server/test/postgres/server.ts';
import { Child, cpuMsOf, cpuMsOfChildren } from './child.ts';

const BIN = new URL('../server/bin/postrider.js', import.meta.url).pathname;
const LOAD = new URL('./load.ts', import.meta.url).pathname;
const SINK = new URL('./sink.ts', import.meta.url).pathname;
const WARM_UP_MS = 3000;

interface Layout {
  readonly name: string;
  readonly nodes: number;
  readonly isPostgres: boolean;
}

const LAYOUTS: readonly Layout[] = [
  { name: 'SQLite, 1 node', nodes: 1, isPostgres: false },
  { name: 'PostgreSQL, 1 node', nodes: 1, isPostgres: true },
  { name: 'PostgreSQL, 2 nodes', nodes: 2, isPostgres: true },
  { name: 'PostgreSQL, 3 nodes', nodes: 3, isPostgres: true },
];

interface Result {
  readonly accepted: number;
  readonly delivered: number;
  /** Of all nodes together, for a message. */
  readonly nodeCpuUs: number;
  readonly databaseCpuUs: number;
}

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '64' },
  },
});
const seconds = Number(values.seconds);

async function measure(layout: Layout, server: PostgresServer): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
  const database = layout.isPostgres ? await server.createEmptyDatabase() : null;
  const children: Child[] = [];
  const start = (...argv: string[]) => {
    const child = new Child(argv);
    children.push(child);
    return child;
  };
  try {
    const sink = start(SINK);
    const port = await sink.says<number>('port');
    const store = database === null ? ['--data', directory] : ['--store', server.url(database)];
    const common = [
      '--host',
      '127.0.0.1',
      '--port',
      '0',
      '--json',
      '--log-level',
      'warn',
      '--allow-cidr',
      '127.0.0.0/8',
    ];
    const nodes: Child[] = [];
    for (let index = 0; index < layout.nodes; index += 1) {
      const node = start(BIN, 'serve', ...store, ...common);
      await node.says('api');
      nodes.push(node);
    }
    const token = await nodes[0]!.says<string>('token');
    const apis = nodes.map((node) => String(node.said.api));
    const load = start(LOAD, values.connections, '0', `http://127.0.0.1:${port}/`, token, ...apis);
    await wait(WARM_UP_MS);
    const look = () => ({
      accepted: load.number('accepted'),
      delivered: sink.number('count'),
      nodes: nodes.reduce((sum, node) => sum + node.cpuMs, 0),
      database: cpuMsOf(server.pid) + cpuMsOfChildren(server.pid),
    });
    const before = look();
    await wait(seconds * 1000);
    const after = look();
    if (load.number('refused') > 0) process.stderr.write(`${layout.name}: ${load.number('refused')} were refused\n`);
    const delivered = after.delivered - before.delivered;
    return {
      accepted: (after.accepted - before.accepted) / seconds,
      delivered: delivered / seconds,
      nodeCpuUs: ((after.nodes - before.nodes) * 1000) / delivered,
      databaseCpuUs: layout.isPostgres ? ((after.database - before.database) * 1000) / delivered : 0,
    };
  } finally {
    for (const child of children.reverse()) await child.end();
    if (database !== null) await server.dropDatabase(database);
    rmSync(directory, { recursive: true, force: true });
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
}

const server = await PostgresServer.start({ onDisk: true, settings: ['shared_buffers=256MB', 'max_wal_size=2GB'] });
const results = new Map<Layout, Result[]>(LAYOUTS.map((layout) => [layout, []]));
try {
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const layout of LAYOUTS) {
      const result = await measure(layout, server);
      results.get(layout)!.push(result);
      process.stderr.write(`round ${round}: ${layout.name}: ${Math.round(result.delivered)} delivered/s\n`);
    }
  }
} finally {
  await server.stop();
}

const [{ model } = { model: 'unknown' }] = cpus();
process.stdout.write(`${cpus().length} × ${model}, Node ${process.version}, medians of ${values.rounds} rounds\n\n`);
process.stdout.write(
  '| Layout | accepted/s | delivered/s | against 1 node on PostgreSQL | CPU µs a message: nodes | database |\n',
);
process.stdout.write('|---|---|---|---|---|---|\n');
const one = median(results.get(LAYOUTS[1]!)!.map(({ delivered }) => delivered));
for (const [layout, each] of results) {
  const of = (pick: (result: Result) => number) => Math.round(median(each.map(pick)));
  const delivered = of((result) => result.delivered);
  const cells = [
    layout.name,
    of((result) => result.accepted),
    delivered,
    (delivered / one).toFixed(2),
    of((result) => result.nodeCpuUs),
    of((result) => result.databaseCpuUs),
  ];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}
