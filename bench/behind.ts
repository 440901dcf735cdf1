// Does a message cost more when others are behind it? Nodes with 0, 100,000 and 1,000,000 messages that wait for the
// clock (delayed) or have ended (history), all alive at once, measured in turn. Before that each is started anew on its
// file and left alone, which shows what the start takes and what it costs to have nothing to do.
// npm run bench -- delayed|history [--sizes 0,100000,1000000]

import { fill, idlePercent, until } from './api.ts';
import { measureRunning, medianOf, startSink } from './measure.ts';
import { deliveredText, interleaved, numbersOf, pace, paceText, publish, sizesOr } from './part.ts';
import { onSqlite, type SqliteNode } from './targets.ts';

const FAR = '30d';

interface Filled {
  readonly name: string;
  readonly size: number;
  readonly running: SqliteNode;
  readonly startMs: number;
  readonly idlePercent: number;
  readonly idleMb: number;
  readonly openBytes: number | null;
}

async function prepare(size: number, isDelayed: boolean): Promise<Filled> {
  const running = await onSqlite.start();
  const empty = await running.fileBytes();
  const sink = startSink();
  try {
    const destination = `http://127.0.0.1:${await sink.says<number>('port')}/`;
    await fill(running, size, destination, isDelayed ? { 'Service-Delay': FAR } : {});
    if (!isDelayed) await until(sink, () => sink.number('count') >= size);
  } finally {
    await sink.end();
  }
  const startMs = await running.restart();
  const name = `${size.toLocaleString('en-US')} ${isDelayed ? 'delayed' : 'ended'}`;
  const idle = await idlePercent(running, pace.seconds);
  process.stderr.write(`${name}: started in ${Math.round(startMs)} ms, idle at ${idle.toFixed(2)} % of a core\n`);
  return {
    name,
    size,
    running,
    startMs,
    idlePercent: idle,
    idleMb: running.rssBytes / 1e6,
    openBytes: size === 0 ? null : ((await running.fileBytes()) - empty) / size,
  };
}

export async function measureBehind(kind: 'delayed' | 'history'): Promise<void> {
  const filled: Filled[] = [];
  try {
    for (const size of sizesOr(0, 100_000, 1_000_000)) filled.push(await prepare(size, kind === 'delayed'));
    const results = await interleaved(filled, ({ running }) => measureRunning(running, pace), deliveredText);
    const empty = medianOf(results.get(filled[0]!)!);
    publish(kind, {
      title: kind === 'delayed' ? 'With delayed messages behind (SQLite)' : 'With ended messages behind (SQLite)',
      columns: [
        ['delivered', 'delivered/s'],
        ['against', 'against the first'],
        ['ackP50', 'response p50, ms'],
        ['ackP99', 'p99'],
        ['cpuUs', 'CPU µs a message'],
        ['rssMb', 'memory, MB'],
        ['startMs', 'start, ms'],
        ['idlePercent', 'idle, % of a core'],
        ['idleMb', 'idle memory, MB'],
        ['openBytes', 'file bytes for each behind'],
      ],
      rows: filled.map((layout) => {
        const result = medianOf(results.get(layout)!);
        const { name, size, startMs, idlePercent, idleMb, openBytes } = layout;
        const against = result.delivered / empty.delivered;
        return { name, numbers: { ...numbersOf(result), size, against, startMs, idlePercent, idleMb, openBytes } };
      }),
      notes: [],
      pace: paceText(),
    });
  } finally {
    for (const { running } of filled) await running.stop();
  }
}
