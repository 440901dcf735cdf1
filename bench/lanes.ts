// What 1, 2 and 4 lanes cost for a message, by thread.
// npm run bench -- lanes [--sizes 1,2,4] [--rounds 3] [--seconds 20] [--connections 64]

import { busiestUs, lanesUs, type Measured, measureLanes } from './lane-threads.ts';
import { median } from './measure.ts';
import { interleaved, paceText, publish, sizesOr } from './part.ts';

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const layouts = sizesOr(1, 2, 4).map((lanes) => ({ name: lanes === 1 ? '1 lane' : `${lanes} lanes`, lanes }));
const results = await interleaved(
  layouts,
  ({ lanes }) => measureLanes(lanes),
  ({ delivered, threadsUs }) => `${Math.round(delivered)}/s, ${JSON.stringify(threadsUs)}`,
);

publish('lanes', {
  title: 'CPU µs for a message, by thread (SQLite)',
  columns: [
    ['delivered', 'delivered/s'],
    ['busiestUs', 'the busiest thread'],
    ['writerUs', 'the writer'],
    ['laneUs', 'the busiest lane'],
    ['lanesUs', 'all lanes'],
    ['restUs', 'other threads'],
    ['allUs', 'all threads'],
    ['rssMb', 'memory, MB'],
  ],
  rows: [...results].map(([{ name, lanes }, each]) => {
    const of = (pick: (measured: Measured) => number) => median(each.map(pick));
    return {
      name,
      numbers: {
        lanes,
        delivered: of(({ delivered }) => delivered),
        busiestUs: of(({ threadsUs }) => busiestUs(threadsUs)),
        writerUs: of(({ threadsUs }) => threadsUs.writer ?? Number.NaN),
        laneUs: of(({ threadsUs }) => Math.max(...lanesUs(threadsUs))),
        lanesUs: of(({ threadsUs }) => sum(lanesUs(threadsUs))),
        restUs: of(
          ({ threadsUs }) => sum(Object.values(threadsUs)) - sum(lanesUs(threadsUs)) - (threadsUs.writer ?? 0),
        ),
        allUs: of(({ threadsUs }) => sum(Object.values(threadsUs))),
        rssMb: of(({ rssMb }) => rssMb),
      },
    };
  }),
  notes: ['Publishers are wrk, the receiver is nginx: one thread each. Other threads collect garbage and compile.'],
  pace: paceText(),
});
