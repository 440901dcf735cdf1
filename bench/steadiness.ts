// How evenly the machine itself runs, with nothing else on it: one of several guests on a host gets less than a whole core
// for a moment, and nobody tells it so. A long tail that is the machine's is not the service's.

const LOOK_MS = 4000;
const STEPS = 200_000;
const SLOW = 2;

let state = 1;

function work(): void {
  for (let step = 0; step < STEPS; step += 1) state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
}

/** For how much of the time, in percent, the same work took more than twice as long as it does at the best of times. */
export function slowPercent(): number {
  for (let round = 0; round < 50; round += 1) work();
  const times: number[] = [];
  const startedAt = performance.now();
  for (let at = startedAt; at - startedAt < LOOK_MS; ) {
    work();
    const now = performance.now();
    times.push(now - at);
    at = now;
  }
  const best = times.toSorted((a, b) => a - b)[Math.floor(times.length / 20)]!;
  const slow = times.filter((time) => time > SLOW * best).reduce((sum, time) => sum + time, 0);
  return (slow / (performance.now() - startedAt)) * 100;
}
