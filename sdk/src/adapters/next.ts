// Next.js. App router: `export const POST = receive({ keys }, async (delivery) => { … })`. Pages router:
// `export default receivePages({ keys }, …)` with `export const config = { api: { bodyParser: false } }`.

import { type Handler, type Options, receiver } from './answer.ts';
import { type NodeRequest, type NodeResponse, receiveNode } from './node.ts';

export function receive<Q extends Request, C = unknown>(
  options: Options<[Q, C]>,
  handler: Handler<[Q, C]>,
): (request: Q, context: C) => Promise<Response> {
  return receiver((request) => request, options, handler);
}

/** `receive` for the API routes of the Pages Router. */
export function receivePages<Q extends NodeRequest, S extends NodeResponse>(
  options: Options<[Q, S]>,
  handler: Handler<[Q, S]>,
): (request: Q, response: S) => Promise<void> {
  return (request, response) => receiveNode(request, response, options, handler, [request, response]);
}
