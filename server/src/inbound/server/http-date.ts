// The text of the `Date` header. Made once a second: it costs more than the rest of a response's head.

import type { Clock } from '../../runtime/world.ts';

export function httpDate(clock: Pick<Clock, 'machineNow'>): () => string {
  let second = 0;
  let text = '';
  return () => {
    const now = Math.floor(clock.machineNow() / 1000);
    if (now !== second) {
      second = now;
      text = new Date(now * 1000).toUTCString();
    }
    return text;
  };
}
