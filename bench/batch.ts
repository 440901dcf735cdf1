// A hundred messages in one request: due at once, so that they are delivered meanwhile, and delayed, so that accepting
// is all there is to do; beside one message a request.
// npm run bench -- batch

import { type LoadChoice, measure, medianOf, type Pace } from './measure.ts';
import { interleaved, numbersOf, pace, paceText, publish } from './part.ts';
import { batchOf, publishOf } from './request.ts';
import { onSqlite } from './targets.ts';

const MESSAGES = 100;
const CONNECTIONS = 8;
const DELAY = { 'Service-Delay': '30d' };

interface Layout {
  readonly name: string;
  readonly pace: Pace;
  readonly load: LoadChoice;
}

const batchPace = { ...pace, connections: CONNECTIONS };
const layouts: Layout[] = [
  { name: '1 a request, due', pace, load: {} },
  {
    name: '1 a request, delayed',
    pace,
    load: {
      shape: (running, destination) => {
        const shape = publishOf(destination, running.token);
        return { ...shape, headers: { ...shape.headers, ...DELAY } };
      },
    },
  },
  {
    name: `${MESSAGES} a request, due`,
    pace: batchPace,
    load: { shape: (running, destination) => batchOf(destination, running.token, MESSAGES) },
  },
  {
    name: `${MESSAGES} a request, delayed`,
    pace: batchPace,
    load: { shape: (running, destination) => batchOf(destination, running.token, MESSAGES, DELAY) },
  },
];
const results = await interleaved(
  layouts,
  (layout) => measure(onSqlite, layout.pace, layout.load),
  ({ accepted }) => `${Math.round(accepted)} accepted/s`,
);
publish('batch', {
  title: 'Batches (SQLite)',
  columns: [
    ['accepted', 'messages accepted/s'],
    ['delivered', 'delivered/s'],
    ['ackP50', 'response p50, ms'],
    ['ackP99', 'p99'],
    ['cpuAcceptedUs', 'CPU µs an accepted message'],
    ['rssMb', 'memory, MB'],
  ],
  rows: [...results].map(([{ name }, each]) => ({ name, numbers: numbersOf(medianOf(each)) })),
  notes: [`Batches over ${CONNECTIONS} connections. With delayed messages nothing is delivered meanwhile.`],
  pace: paceText(),
});
