// SvelteKit, in `+server.ts`: `export const POST = receive({ keys }, async (delivery) => { … })`.

import { type Handler, type Options, receiver } from './answer.ts';

interface RequestEventLike {
  readonly request: Request;
}

export function receive<E extends RequestEventLike>(
  options: Options<[E]>,
  handler: Handler<[E]>,
): (event: E) => Promise<Response> {
  return receiver((event) => event.request, options, handler);
}
