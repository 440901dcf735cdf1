// What order costs: the same load without queues and spread over 100 and 10,000 of them; and one queue by itself, on
// SQLite and on PostgreSQL, filled while it is paused, then timed until it is empty: each message of it starts when the
// one before has ended.
// npm run bench -- fifo [--sizes 100,10000]

import { PostgresServer } from '../server/test/postgres/server.ts';
import { call, fill, until } from './api.ts';
import { wait } from './clock.ts';
import { measure, median, medianOf, startPublishers, startSink } from './measure.ts';
import { deliveredText, interleaved, numbersOf, pace, paceText, publish, rounds, sizesOr } from './part.ts';
import { enqueueOf, publishOf } from './request.ts';
import { onPostgres, onSqlite, POSTGRES_SETTINGS, type Target } from './targets.ts';

const IN_ONE_QUEUE_A_SECOND = 200;

interface Drain {
  readonly eachMs: number;
  readonly cpuUs: number;
  readonly databaseCpuUs: number;
}

/** For each message of a queue that has all of them already; the first ones warm it up. */
async function drainOne(target: Target): Promise<Drain> {
  const running = await target.start();
  const sink = startSink();
  try {
    const destination = `http://127.0.0.1:${await sink.says<number>('port')}/`;
    await call(running, 'POST', '/v2/queues', { queueName: 'one', paused: true });
    const messages = IN_ONE_QUEUE_A_SECOND * (pace.warmUpSeconds + pace.seconds);
    await fill(running, messages, destination, {}, 'one');
    const now = () => ({
      at: performance.now(),
      count: sink.number('count'),
      cpuMs: running.cpuMs,
      databaseCpuMs: running.databaseCpuMs,
    });
    await call(running, 'POST', '/v2/queues/one/resume');
    await until(sink, () => sink.number('count') >= IN_ONE_QUEUE_A_SECOND * pace.warmUpSeconds);
    const before = now();
    await until(sink, () => sink.number('count') >= messages);
    const after = now();
    const timed = after.count - before.count;
    return {
      eachMs: (after.at - before.at) / timed,
      cpuUs: ((after.cpuMs - before.cpuMs) * 1000) / timed,
      databaseCpuUs: ((after.databaseCpuMs - before.databaseCpuMs) * 1000) / timed,
    };
  } finally {
    await sink.end();
    await running.stop();
  }
}

/** One request after the other from a publisher straight to the receiver: less than that no queue can take. */
async function roundTripMs(): Promise<number> {
  const sink = startSink();
  const children = [sink];
  try {
    const api = `http://127.0.0.1:${await sink.says<number>('port')}`;
    const publisher = startPublishers({ apis: [api], shape: publishOf(api, ''), connections: 1, rate: 0 });
    children.unshift(publisher);
    await until(publisher, () => publisher.number('accepted') > 1000);
    await publisher.mark();
    const before = { at: performance.now(), accepted: publisher.number('accepted') };
    await wait((pace.seconds * 1000) / 4);
    await publisher.mark();
    return (performance.now() - before.at) / (publisher.number('accepted') - before.accepted);
  } finally {
    for (const child of children) await child.end();
  }
}

const layouts = [
  { name: 'unordered', queues: 0 },
  ...sizesOr(100, 10_000).map((queues) => ({ name: `${queues.toLocaleString('en-US')} queues`, queues })),
];
const results = await interleaved(
  layouts,
  ({ queues }) =>
    measure(
      onSqlite,
      pace,
      queues === 0 ? {} : { queues, shape: (running, destination) => enqueueOf(destination, running.token) },
    ),
  deliveredText,
);
const server = await PostgresServer.start({ onDisk: true, settings: POSTGRES_SETTINGS });
const drained = [
  { name: '1 queue, full, drained', target: onSqlite, drains: [] as Drain[] },
  { name: '1 queue on PostgreSQL, full, drained', target: onPostgres(server), drains: [] as Drain[] },
];
const roundTrips: number[] = [];
try {
  for (let round = 0; round < rounds; round += 1) {
    for (const { target, drains } of drained) drains.push(await drainOne(target));
    roundTrips.push(await roundTripMs());
  }
} finally {
  await server.stop();
}
const bareMs = median(roundTrips);
const unordered = medianOf(results.get(layouts[0]!)!);
publish('fifo', {
  title: 'FIFO queues (SQLite, and one queue on PostgreSQL)',
  columns: [
    ['accepted', 'accepted/s'],
    ['delivered', 'delivered/s'],
    ['against', 'against unordered'],
    ['ackP50', 'response p50, ms'],
    ['ackP99', 'p99'],
    ['receivedP50', 'received p50, ms'],
    ['cpuUs', 'CPU µs a message'],
    ['databaseCpuUs', 'of the database'],
    ['eachMs', 'ms from one to the next'],
    ['beyondMs', 'beyond the round trip'],
  ],
  rows: [
    ...[...results].map(([{ name, queues }, each]) => {
      const result = medianOf(each);
      return { name, numbers: { ...numbersOf(result), queues, against: result.delivered / unordered.delivered } };
    }),
    ...drained.map(({ name, target, drains }) => {
      const of = (key: keyof Drain) => median(drains.map((drain) => drain[key]));
      const eachMs = of('eachMs');
      return {
        name,
        numbers: {
          // A point of the picture, which is SQLite's.
          ...(target === onSqlite && { queues: 1 }),
          delivered: 1000 / eachMs,
          eachMs,
          beyondMs: eachMs - bareMs,
          cpuUs: of('cpuUs'),
          databaseCpuUs: of('databaseCpuUs'),
        },
      };
    }),
  ],
  notes: [
    'One queue holds what was published while it was paused; nothing is published while it is drained.',
    `The round trip: ${bareMs.toFixed(2)} ms from one request of a publisher to the next, one at a time, straight to the receiver.`,
  ],
  pace: paceText(),
});
