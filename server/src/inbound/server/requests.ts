// Counts the requests in progress, by account. One account cannot use up all of them, however slowly it sends its
// requests or reads its responses.

import type { Socket } from 'node:net';
import { Pool } from '../../runtime/collections/pool.ts';
import { laneMax } from '../../runtime/lane-part.ts';
import { poolError } from '../api/errors.ts';
import type { CallerConnections } from './caller-connections.ts';
import type { CallerResponse } from './caller-response.ts';

export class RequestsInProgress {
  readonly pool = new Pool(laneMax('requests'));
  readonly #connections: Pick<CallerConnections, 'claim'>;

  constructor(connections: Pick<CallerConnections, 'claim'>) {
    this.#connections = connections;
  }

  /** Counts the request until its response has ended in any way. Refuses a request over the limit. */
  begin(accountId: string, socket: Socket, response: Pick<CallerResponse, 'destroyed' | 'on'>): void {
    // The caller has disconnected, so no `close` event will come.
    if (response.destroyed) return;
    const why = this.pool.take(accountId, 1);
    if (why !== null) throw poolError(why, 'requests in progress');
    this.#connections.claim(socket, accountId);
    response.on('close', () => this.pool.give(accountId, 1));
  }
}
