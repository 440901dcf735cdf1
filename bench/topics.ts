// A message to a topic becomes one for each of its endpoints: what a copy costs, beside messages sent one by one.
// npm run bench -- topics [--sizes 1,10,100]

import { call } from './api.ts';
import { type LoadChoice, measure, medianOf, type Result } from './measure.ts';
import { deliveredText, interleaved, numbersOf, pace, paceText, publish, sizesOr } from './part.ts';
import { publishOf } from './request.ts';
import { onSqlite, type Running } from './targets.ts';

/** Publishes with few connections: each request means as many deliveries as there are endpoints. */
function choice(endpoints: number): LoadChoice {
  return {
    connections: Math.max(1, Math.round(pace.connections / endpoints)),
    prepare: async (running: Running, destination: string) => {
      const urls = Array.from({ length: endpoints }, (_, index) => ({ url: `${destination}endpoint-${index}` }));
      await call(running, 'POST', '/v2/topics/everyone/endpoints', { endpoints: urls });
    },
    shape: (running) => publishOf('everyone', running.token),
  };
}

const layouts = [
  { name: 'no topic', endpoints: 0 },
  ...sizesOr(1, 10, 100).map((endpoints) => ({ name: `${endpoints} endpoints`, endpoints })),
];
const results = await interleaved<(typeof layouts)[number], Result>(
  layouts,
  ({ endpoints }) => measure(onSqlite, pace, endpoints === 0 ? {} : choice(endpoints)),
  deliveredText,
);
const plain = medianOf(results.get(layouts[0]!)!);
publish('topics', {
  title: 'Topics (SQLite)',
  columns: [
    ['accepted', 'requests accepted/s'],
    ['delivered', 'delivered/s'],
    ['against', 'against no topic'],
    ['ackP50', 'response p50, ms'],
    ['ackP99', 'p99'],
    ['receivedP50', 'received p50, ms'],
    ['receivedP99', 'p99'],
    ['cpuUs', 'CPU µs a delivery'],
  ],
  rows: [...results].map(([{ name, endpoints }, each]) => {
    const result = medianOf(each);
    return { name, numbers: { ...numbersOf(result), endpoints, against: result.delivered / plain.delivered } };
  }),
  notes: [],
  pace: paceText(),
});
