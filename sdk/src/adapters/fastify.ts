// Fastify: `app.register(receive({ keys }, async (delivery) => { … }), { prefix: '/hook' })`. It is a plugin, because
// bodies stay raw inside a plugin, while the routes outside keep their parsers.

import { BODY_BYTES_MAX } from '../receiver.ts';
import { type Handler, type Options, optionsFor, verifyAndHandle } from './answer.ts';

export interface FastifyLike {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    type: string,
    options: { readonly parseAs: 'buffer'; readonly bodyLimit: number },
    parser: (request: never, body: never, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown;
  route(options: {
    readonly method: string | readonly string[];
    readonly url: string;
    readonly handler: (request: never, reply: never) => unknown;
  }): unknown;
}

interface FastifyRequestLike {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: unknown;
}

interface FastifyReplyLike {
  readonly sent: boolean;
  code(status: number): unknown;
  header(name: string, value: string): unknown;
  send(body?: unknown): unknown;
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const NOTHING = new Uint8Array(0);

export function receive<Q extends FastifyRequestLike, S extends FastifyReplyLike>(
  options: Options<[Q, S]> & { readonly bodyBytesMax?: number | undefined },
  handler: Handler<[Q, S]>,
): (fastify: FastifyLike) => Promise<void> {
  return async (fastify) => {
    fastify.removeAllContentTypeParsers();
    fastify.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: options.bodyBytesMax ?? BODY_BYTES_MAX },
      (_request, body, done) => done(null, body),
    );
    fastify.route({
      method: METHODS,
      url: '/',
      handler: async (request: Q, reply: S) => {
        const body = request.body instanceof Uint8Array ? request.body : NOTHING;
        const own = await optionsFor(options, [request, reply]);
        const answer = await verifyAndHandle({ headers: request.headers, body }, own, handler, [request, reply]);
        if (reply.sent) return reply;
        reply.code(answer?.status ?? 200);
        answer?.headers.forEach((value, name) => {
          reply.header(name, value);
        });
        // Fastify sends bytes unchanged.
        return reply.send(answer === null ? undefined : new Uint8Array(await answer.arrayBuffer()));
      },
    });
  };
}
