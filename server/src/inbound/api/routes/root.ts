// The root of the service. A browser is redirected to the console; a program gets JSON that says what this service is
// and where its parts are.

import type { Api } from '../api.ts';
import Type from '../shapes/schema.ts';

const RootAnswer = Type.Object({
  name: Type.Literal('postrider'),
  version: Type.String(),
  headerPrefix: Type.String({ description: 'The prefix of the headers of this service.' }),
  links: Type.Record(Type.String(), Type.String()),
});

/** Adds the root. If the console was not built, a browser is redirected to the docs. */
export function rootRoutes(
  api: Api,
  { version, headerPrefix }: { readonly version: string; readonly headerPrefix: string },
  { hasConsole, hasMetrics }: { readonly hasConsole: boolean; readonly hasMetrics: boolean },
): void {
  // The links are relative to this address, so that they are correct behind a proxy that adds a path.
  const links = {
    ...(hasConsole && { console: 'console/' }),
    docs: 'docs',
    openapi: 'openapi.json',
    health: 'healthz',
    readiness: 'readyz',
    ...(hasMetrics && { metrics: 'metrics' }),
  };
  const text = JSON.stringify({ name: 'postrider', version, headerPrefix, links });
  api.addPublic({
    path: '/',
    summary: 'What this service is, with links relative to this address. A browser is redirected to the console',
    answer: RootAnswer,
    statuses: [200, 302],
    handle: async (request, reply) => {
      reply.header('Vary', 'Accept, Origin');
      if (wantsPage(request.headers.accept)) {
        return reply
          .status(302)
          .header('Location', hasConsole ? links.console! : links.docs)
          .send();
      }
      reply.header('Content-Type', 'application/json; charset=utf-8');
      return text;
    },
  });
}

/** Only a browser names HTML. A program that also names JSON gets JSON, unless it prefers HTML. */
export function wantsPage(accept: string | undefined): boolean {
  const page = weightOf('text/html', accept);
  return page > 0 && page >= weightOf('application/json', accept);
}

/** The weight that the `Accept` header gives to exactly this type, from 0 to 1. */
function weightOf(mediaType: string, accept = ''): number {
  for (const range of accept.split(',')) {
    const [name = '', ...parameters] = range.split(';').map((each) => each.trim().toLowerCase());
    if (name !== mediaType) continue;
    const weight = parameters.find((each) => each.startsWith('q='));
    return weight === undefined ? 1 : Number(weight.slice(2)) || 0;
  }
  return 0;
}
