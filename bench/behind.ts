// Does a message cost more when others are behind it? Nodes with 0, 100,000 and 1,000,000 messages that wait for the
// clock (delayed) or for a host that is parked by hand (parked), or have ended (history), all alive at once, measured in
// turn. Before that each is started anew on its file and left alone, which shows what the start takes and what it costs to
// have nothing to do.
// npm run bench -- delayed|parked|history [--sizes 0,100000,1000000]

import { call, fill, idlePercent, until } from './api.ts';
import { measureRunning, medianOf, startSink } from './measure.ts';
import { deliveredText, interleaved, numbersOf, pace, paceText, publish, sizesOr } from './part.ts';
import { onSqlite, type SqliteNode } from './targets.ts';

const FAR = '30d';
/** Messages for it are never sent. */
const PARKED = '127.0.0.1:9';

export type Behind = 'delayed' | 'parked' | 'history';

const WORDS = { delayed: 'delayed', parked: 'parked', history: 'ended' } as const;

interface Filled {
  readonly name: string;
  readonly size: number;
  readonly running: SqliteNode;
  readonly startMs: number;
  readonly idlePercent: number;
  readonly idleMb: number;
  readonly openBytes: number | null;
}

async function fillBehind(running: SqliteNode, size: number, kind: Behind): Promise<void> {
  if (kind === 'parked') {
    await call(running, 'POST', `/v2/hosts/${encodeURIComponent(PARKED)}/park`);
    await fill(running, size, `http://${PARKED}/`, { 'Service-Outage': 'park' });
    return;
  }
  const sink = startSink();
  try {
    const destination = `http://127.0.0.1:${await sink.says<number>('port')}/`;
    await fill(running, size, destination, kind === 'delayed' ? { 'Service-Delay': FAR } : {});
    if (kind === 'history') await until(sink, () => sink.number('count') >= size);
  } finally {
    await sink.end();
  }
}

async function prepare(size: number, kind: Behind): Promise<Filled> {
  const running = await onSqlite.start();
  const empty = await running.fileBytes();
  await fillBehind(running, size, kind);
  const startMs = await running.restart();
  const name = `${size.toLocaleString('en-US')} ${WORDS[kind]}`;
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

export async function measureBehind(kind: Behind): Promise<void> {
  const filled: Filled[] = [];
  try {
    for (const size of sizesOr(0, 100_000, 1_000_000)) filled.push(await prepare(size, kind));
    const results = await interleaved(filled, ({ running }) => measureRunning(running, pace), deliveredText);
    const empty = medianOf(results.get(filled[0]!)!);
    publish(kind, {
      title: `With ${WORDS[kind]} messages behind (SQLite)`,
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
