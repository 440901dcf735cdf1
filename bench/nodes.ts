// What one, two and three nodes over one PostgreSQL do, beside one node over a file, in one run: rounds of all layouts
// in turn, medians. Everything on this machine: the nodes, the database, the publishers and the receiver share it.
// npm run bench -- nodes [--rounds 3] [--seconds 20] [--connections 64]

import { PostgresServer } from '../server/test/postgres/server.ts';
import { measure, medianOf } from './measure.ts';
import { deliveredText, interleaved, numbersOf, pace, paceText, publish } from './part.ts';
import { onPostgres, onSqlite, POSTGRES_SETTINGS } from './targets.ts';

const server = await PostgresServer.start({ onDisk: true, settings: POSTGRES_SETTINGS });
try {
  const layouts = [
    { name: 'SQLite, 1 node', nodes: 1, target: onSqlite },
    { name: 'PostgreSQL, 1 node', nodes: 1, target: onPostgres(server, 1) },
    { name: 'PostgreSQL, 2 nodes', nodes: 2, target: onPostgres(server, 2) },
    { name: 'PostgreSQL, 3 nodes', nodes: 3, target: onPostgres(server, 3) },
  ];
  const results = await interleaved(layouts, ({ target }) => measure(target, pace), deliveredText);
  const one = medianOf(results.get(layouts[1]!)!);
  publish('nodes', {
    title: 'Nodes over one PostgreSQL',
    columns: [
      ['accepted', 'accepted/s'],
      ['delivered', 'delivered/s'],
      ['against', 'against 1 node on PostgreSQL'],
      ['cpuUs', 'CPU µs a message: nodes'],
      ['databaseCpuUs', 'database'],
    ],
    rows: [...results].map(([{ name, nodes }, each]) => {
      const result = medianOf(each);
      return { name, numbers: { ...numbersOf(result), nodes, against: result.delivered / one.delivered } };
    }),
    notes: [],
    pace: paceText(),
  });
} finally {
  await server.stop();
}
