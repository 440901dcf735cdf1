// Hono: `app.post('/hook', receive({ keys }, async (delivery, c) => { … }))`.

import { type Handler, type Options, receiver } from './answer.ts';

interface HonoContextLike {
  readonly req: { readonly raw: Request };
}

export function receive<C extends HonoContextLike>(
  options: Options<[C]>,
  handler: Handler<[C]>,
): (context: C) => Promise<Response> {
  return receiver((context) => context.req.raw, options, handler);
}
