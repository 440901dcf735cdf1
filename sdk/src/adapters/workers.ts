// Cloudflare Workers: `export default { fetch: receive((request, env) => ({ keys: [env.KEY, env.NEXT_KEY] }), …) }`. The
// same function serves Deno and Bun: `Deno.serve(receive({ keys }, …))`.

import { type Handler, type Options, receiver } from './answer.ts';

export function receive<E = Record<string, string>, C = unknown>(
  options: Options<[request: Request, env: E, context: C]>,
  handler: Handler<[request: Request, env: E, context: C]>,
): (request: Request, env?: E, context?: C) => Promise<Response> {
  const receives = receiver<[request: Request, env: E, context: C]>((request) => request, options, handler);
  return (request, env, context) => receives(request, env as E, context as C);
}
