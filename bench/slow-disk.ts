// A flush that takes a millisecond longer, as on ordinary network disks, with connections that stay and with a new one
// for each request: the floor with the store in a worker beside Postrider. Needs Linux and a C compiler.
// npm run bench -- slow-disk

import { measure, medianOf } from './measure.ts';
import { deliveredText, interleaved, numbersOf, pace, paceText, publish } from './part.ts';
import { slowDisk } from './slow-fsync.ts';
import { floor, onSqlite } from './targets.ts';

const { env, remove } = slowDisk();
try {
  const layouts = [true, false].flatMap((isKeptAlive) =>
    [floor(false, true), floor(true, true), onSqlite].map((target) => ({
      name: `${target.name}, ${isKeptAlive ? 'connections kept' : 'a connection for each request'}`,
      target,
      isKeptAlive,
    })),
  );
  const results = await interleaved(
    layouts,
    ({ target, isKeptAlive }) => measure(target, pace, { isKeptAlive }, { env }),
    deliveredText,
  );
  publish('slow-disk', {
    title: 'A flush takes 1 ms longer (SQLite)',
    columns: [
      ['accepted', 'accepted/s'],
      ['delivered', 'delivered/s'],
      ['ofFloor', 'of the floor with a worker'],
      ['ackP50', 'response p50, ms'],
      ['ackP99', 'p99'],
      ['cpuUs', 'CPU µs a message'],
    ],
    rows: [...results].map(([{ name, isKeptAlive }, each]) => {
      const reference = layouts.find((layout) => layout.isKeptAlive === isKeptAlive && layout.name.includes('worker'))!;
      const ofFloor = medianOf(each).delivered / medianOf(results.get(reference)!).delivered;
      return { name, numbers: { ...numbersOf(medianOf(each)), ofFloor } };
    }),
    notes: [],
    pace: paceText(),
  });
} finally {
  remove();
}
