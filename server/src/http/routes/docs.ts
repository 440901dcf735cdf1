// The OpenAPI document, and a page that shows it without loading anything from elsewhere.

import type { Api } from '../api.ts';
import { DOCS_SCRIPT, DOCS_STYLE } from '../docs-files.ts';
import { type DocsPageOptions, docsPage } from '../docs-page.ts';
import { openApiDocument } from '../openapi.ts';
import Type from '../schema.ts';

const POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function docsRoutes(api: Api, version: string, options: DocsPageOptions): void {
  let json: string | null = null;
  let page: string | null = null;
  const document = () => openApiDocument(api.routes, version, options.headerPrefix);
  api.addOpen({
    path: '/openapi.json',
    summary: 'The description of this API as an OpenAPI 3.1 document',
    answer: Type.Record(Type.String(), Type.Unknown()),
    handle: async (_request, reply) => {
      json ??= JSON.stringify(document());
      reply.header('Content-Type', 'application/json');
      return json;
    },
  });

  api.addOpen({
    path: '/docs',
    summary: 'The description of this API as a web page',
    mediaType: 'text/html',
    handle: async (_request, reply) => {
      page ??= docsPage(document(), options);
      reply.header('Content-Type', 'text/html; charset=utf-8');
      reply.header('Content-Security-Policy', POLICY);
      return page;
    },
  });

  for (const [path, summary, mediaType, text] of [
    ['/docs/style.css', 'The style sheet of that page', 'text/css', DOCS_STYLE],
    ['/docs/script.js', 'The script of that page', 'text/javascript', DOCS_SCRIPT],
  ] as const) {
    api.addOpen({
      path,
      summary,
      mediaType,
      handle: async (_request, reply) => {
        reply.header('Content-Type', `${mediaType}; charset=utf-8`);
        return text;
      },
    });
  }
}
