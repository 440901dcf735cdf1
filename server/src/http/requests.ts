// Requests under way, by account: one account cannot have them all, however slowly it sends them or takes their answers.

import type { ServerResponse } from 'node:http';
import { nodeMax } from '../domain/budgets.ts';
import { Pool } from '../domain/pool.ts';
import { poolError } from './errors.ts';

export class Requests {
  readonly pool = new Pool(nodeMax('requests'));

  /** Counts the request until its answer has ended, whichever way. Refuses one too many. */
  begin(accountId: string, response: ServerResponse): void {
    // Its caller has gone: no event of its end is left to come.
    if (response.destroyed) return;
    const why = this.pool.take(accountId, 1);
    if (why !== null) throw poolError(why, 'as many requests under way');
    response.on('close', () => this.pool.give(accountId, 1));
  }
}
