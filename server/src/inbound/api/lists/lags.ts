// Counts the lag of queues (their messages that have not ended) where the store has stopped counting at a limit. It
// counts in pieces, up to a higher limit for one call of the API.

import { eachMax } from '../../../rules/limits/budgets.ts';
import type { Queue } from '../../../rules/lines/queue.ts';
import type { LinePiece, LinePosition, LineStore } from '../../../store/ports/line-store.ts';

export class LagCounter {
  readonly #store: Pick<LineStore, 'countLine'>;
  #left = eachMax('lagCount');

  /** Make one instance for each call of the API: its limit is for all queues of the call together. */
  constructor(store: Pick<LineStore, 'countLine'>) {
    this.#store = store;
  }

  async counted(queues: readonly Queue[]): Promise<readonly Queue[]> {
    const counted: Queue[] = [];
    for (const queue of queues) counted.push(queue.isLagCut && this.#left > 0 ? await this.#countOn(queue) : queue);
    return counted;
  }

  async #countOn(queue: Queue): Promise<Queue> {
    let lag = 0;
    let position: LinePosition | null = null;
    do {
      const piece: LinePiece = await this.#store.countLine(queue.accountId, queue.name, position);
      lag += piece.count;
      this.#left -= piece.count;
      position = piece.next;
    } while (position !== null && this.#left > 0);
    const { isLagCut: _isLagCut, ...rest } = queue;
    return { ...rest, lag, ...(position !== null && { isLagCut: true }) };
  }
}
