// Nuxt and h3, version 1 or 2: `export default defineEventHandler(receive({ keys }, async (delivery) => { … }))`.

import { BODY_BYTES_MAX } from '../receiver.ts';
import { type Handler, type Options, optionsFor, refusal, verifyAndHandle } from './answer.ts';
import { type NodeRequest, rawBodyOf } from './node.ts';

/** Version 2 of h3 has a web Request as `req`; version 1 has the request of Node.js as `node.req`. */
interface EventLike {
  readonly req?: unknown;
  readonly node?: { readonly req: unknown } | undefined;
}

export function receive<E extends EventLike>(
  options: Options<[E]>,
  handler: Handler<[E]>,
): (event: E) => Promise<Response> {
  return async (event) => {
    const own = await optionsFor(options, [event]);
    try {
      const answer = await verifyAndHandle(await requestOf(event, own.bodyBytesMax ?? BODY_BYTES_MAX), own, handler, [
        event,
      ]);
      return (answer as Response | null) ?? new Response(null, { status: 200 });
    } catch (error) {
      return refusal(error);
    }
  };
}

async function requestOf({ req, node }: EventLike, bytesMax: number) {
  if (isWebRequest(req)) return req;
  const request = node?.req as NodeRequest;
  return { headers: request.headers, body: await rawBodyOf(request, bytesMax) };
}

/** Whether `req` is like a web Request. Version 2 of h3 has its own class for requests. */
function isWebRequest(req: unknown): req is Request {
  return typeof (req as Partial<Request> | undefined)?.arrayBuffer === 'function';
}
