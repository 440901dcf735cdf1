// Lists events for live streams. If a page stopped below a transaction that is still open, it reads again shortly, or
// asks the reader to.

import type { Clock } from '../../../runtime/world.ts';
import type { Store } from '../../ports/store.ts';

const LOOKS_MAX = 4;
const LOOK_SOON_MS = 2;
const LOOK_AGAIN_MS = 50;

interface Journal {
  readonly list: Store['listEvents'];
  readonly isHeldBack: (accountId: string, position: number) => Promise<boolean>;
}

export function listingLive({ list, isHeldBack }: Journal, timers: Clock, askToLook: () => void): Store['listEvents'] {
  return async (accountId, filter, page) => {
    for (let looks = 1; ; looks += 1) {
      const found = await list(accountId, filter, page);
      const isLive = page.order === 'oldestFirst' && found.cursor === null;
      if (!isLive || !(await isHeldBack(accountId, found.endedAt))) return found;
      // Usually the open transaction began in this very millisecond, so a few quick reads are enough.
      if (looks === LOOKS_MAX) {
        timers.after(LOOK_AGAIN_MS, askToLook);
        return found;
      }
      await new Promise<void>((resolve) => timers.after(LOOK_SOON_MS, resolve));
    }
  };
}
