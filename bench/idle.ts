// What a node costs that has a million delayed messages and nothing due.
// npm run bench -- idle [--sizes 1000000] [--seconds 20]

import { fill, idlePercent } from './api.ts';
import { pace, publish, type Row, sizesOr } from './part.ts';
import { onSqlite } from './targets.ts';

const NOWHERE = 'http://127.0.0.1:9/';

const rows: Row[] = [];
for (const size of sizesOr(1_000_000)) {
  const running = await onSqlite.start();
  try {
    await fill(running, size, NOWHERE, { 'Service-Delay': '30d' });
    const startMs = await running.restart();
    // What a start does once is no part of doing nothing.
    await idlePercent(running, pace.warmUpSeconds);
    const percent = await idlePercent(running, pace.seconds * 3);
    const numbers = { size, startMs, percent, rssMb: running.rssBytes / 1e6 };
    rows.push({ name: `${size.toLocaleString('en-US')} delayed`, numbers });
  } finally {
    await running.stop();
  }
}
publish('idle', {
  title: 'Nothing due (SQLite)',
  columns: [
    ['percent', '% of a core'],
    ['rssMb', 'memory, MB'],
    ['startMs', 'start, ms'],
  ],
  rows,
  notes: [],
  pace: `over ${pace.seconds * 3} s after a restart`,
});
