// Express: `app.post('/hook', receive({ keys }, async (delivery) => { … }))`. The handler needs the raw body, so
// register it before `express.json()`, or exclude its path there.

import type { Handler, Options } from './answer.ts';
import { type NodeRequest, type NodeResponse, receiveNode } from './node.ts';

export function receive<Q extends NodeRequest, S extends NodeResponse>(
  options: Options<[Q, S]>,
  handler: Handler<[Q, S]>,
): (request: Q, response: S, next: (error?: unknown) => void) => void {
  return (request, response, next) => {
    receiveNode(request, response, options, handler, [request, response]).catch(next);
  };
}
