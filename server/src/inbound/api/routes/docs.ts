// The OpenAPI document, and a page that shows it. The page loads nothing from other hosts.

import { DOCS_SCRIPT, DOCS_STYLE } from '../../docs/docs-files.ts';
import { type DocsPageOptions, docsPage } from '../../docs/docs-page.ts';
import type { Api } from '../api.ts';
import { openApiDocument } from '../shapes/openapi.ts';
import Type from '../shapes/schema.ts';

const POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function docsRoutes(api: Api, version: string, options: DocsPageOptions): void {
  // Kept as bytes: a response then needs no copy, and responses that wait to be read share the memory.
  let json: Buffer | null = null;
  let page: Buffer | null = null;
  const document = () => openApiDocument(api.routes, version, options.headerPrefix);
  api.addPublic({
    path: '/openapi.json',
    summary: 'The description of this API as an OpenAPI 3.1 document',
    answer: Type.Record(Type.String(), Type.Unknown()),
    handle: async (_request, reply) => {
      json ??= Buffer.from(JSON.stringify(document()));
      reply.header('Content-Type', 'application/json');
      return json;
    },
  });

  api.addPublic({
    path: '/docs',
    summary: 'The description of this API as a web page',
    mediaType: 'text/html',
    handle: async (_request, reply) => {
      page ??= Buffer.from(docsPage(document(), options));
      reply.header('Content-Type', 'text/html; charset=utf-8');
      reply.header('Content-Security-Policy', POLICY);
      return page;
    },
  });

  for (const [path, summary, mediaType, text] of [
    ['/docs/style.css', 'The style sheet of the page /docs', 'text/css', DOCS_STYLE],
    ['/docs/script.js', 'The script of the page /docs', 'text/javascript', DOCS_SCRIPT],
  ] as const) {
    const bytes = Buffer.from(text);
    api.addPublic({
      path,
      summary,
      mediaType,
      handle: async (_request, reply) => {
        reply.header('Content-Type', `${mediaType}; charset=utf-8`);
        return bytes;
      },
    });
  }
}
