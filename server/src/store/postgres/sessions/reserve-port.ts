// The reserve of the database, for the upkeep of a node.

import type { DatabaseReserve } from '../../ports/database-reserve.ts';
import { isDiskFull, isForbidden, toStoreError, toStoreErrors } from './errors.ts';
import type { Pool } from './pool.ts';
import { isReserveThere, makeReserve } from './reserve.ts';

/** The reserve for the upkeep, and the functions that notify its listeners. */
export function createReserve(pool: Pool) {
  const listeners = { released: () => {}, back: () => {} };
  let mayRecycle = true;
  const reserve: DatabaseReserve = {
    isThere: () => toStoreErrors(pool.read(isReserveThere)),
    async make(bytes, spareBytes) {
      try {
        const isMade = await pool.beside((database) => makeReserve(database, bytes, spareBytes));
        return isMade ? 'made' : 'busy';
      } catch (error) {
        if (isDiskFull(error)) return 'full';
        throw toStoreError(error);
      }
    },
    async recycleLog() {
      if (!mayRecycle) return;
      try {
        await pool.beside((database) => database.exec('CHECKPOINT'));
      } catch (error) {
        mayRecycle = !isForbidden(error);
      }
    },
    onReleased(listener) {
      listeners.released = listener;
    },
    onBack(listener) {
      listeners.back = listener;
    },
  };
  return { reserve, released: () => listeners.released(), cameBack: () => listeners.back() };
}
