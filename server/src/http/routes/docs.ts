// The OpenAPI document, and a page that shows it without loading anything from elsewhere.

import type { Api } from '../api.ts';
import { openApiDocument } from '../openapi.ts';
import Type from '../schema.ts';

export function docsRoutes(api: Api, version: string, headerPrefix: string): void {
  let text: string | null = null;
  api.addOpen({
    path: '/openapi.json',
    summary: 'The description of this API as an OpenAPI 3.1 document',
    answer: Type.Record(Type.String(), Type.Unknown()),
    handle: async (_request, reply) => {
      text ??= JSON.stringify(openApiDocument(api.routes, version, headerPrefix));
      reply.header('Content-Type', 'application/json');
      return text;
    },
  });

  api.addOpen({
    path: '/docs',
    summary: 'The description of this API as a web page',
    mediaType: 'text/html',
    handle: async (_request, reply) => {
      reply.header('Content-Type', 'text/html; charset=utf-8');
      reply.header(
        'Content-Security-Policy',
        "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
      );
      return page(openApiDocument(api.routes, version, headerPrefix));
    },
  });

  api.addOpen({
    path: '/docs/style.css',
    summary: 'The style sheet of that page',
    mediaType: 'text/css',
    handle: async (_request, reply) => {
      reply.header('Content-Type', 'text/css; charset=utf-8');
      return STYLE;
    },
  });
}

type Document = ReturnType<typeof openApiDocument>;

function page(document: Document): string {
  const sections = document.tags.map(({ name }) => {
    const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, operation]) => operation.tags.includes(name))
        .map(([method, operation]) => call(method.toUpperCase(), path, operation)),
    );
    return calls.length === 0 ? '' : `<section id="${name}"><h2>${escaped(name)}</h2>${calls.join('')}</section>`;
  });
  const links = document.tags.map(({ name }) => `<a href="#${name}">${escaped(name)}</a>`).join(' ');
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Postrider API ${escaped(document.info.version)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="docs/style.css"></head>
<body><header><h1>Postrider API <small>${escaped(document.info.version)}</small></h1><p>${escaped(document.info.description)}
The same as <a href="openapi.json">OpenAPI 3.1</a>.</p><nav>${links}</nav></header><main>${sections.join('')}</main></body></html>`;
}

function call(method: string, path: string, operation: Document['paths'][string][string]): string {
  const parameters = (operation.parameters ?? []) as {
    name: string;
    in: string;
    required: boolean;
    description?: string;
  }[];
  const rows = parameters.map(
    (each) =>
      `<tr><td><code>${escaped(each.name)}</code></td><td>${escaped(each.in)}${each.required ? ', required' : ''}</td><td>${escaped(each.description ?? '')}</td></tr>`,
  );
  const table =
    rows.length === 0
      ? ''
      : `<table><thead><tr><th>Name</th><th>In</th><th></th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
  return `<article><h3><b class="${method}">${method}</b> <code>${escaped(path)}</code></h3><p>${escaped(operation.summary)}. ${escaped(operation.description ?? '').replaceAll('`', '')}</p>${table}${bodies(operation)}</article>`;
}

function bodies(operation: Document['paths'][string][string]): string {
  const parts: string[] = [];
  const schemaOf = (holder: unknown) =>
    (holder as { content?: Record<string, { schema?: unknown }> } | undefined)?.content?.['application/json']?.schema;
  const request = schemaOf(operation.requestBody);
  if (request) parts.push(details('Request body', request));
  for (const [status, response] of Object.entries(operation.responses)) {
    const schema = schemaOf(response);
    if (schema) parts.push(details(`Answer ${status}`, schema));
  }
  return parts.join('');
}

function details(title: string, schema: unknown): string {
  return `<details><summary>${escaped(title)}</summary><pre>${escaped(JSON.stringify(schema, null, 2))}</pre></details>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE = `:root{color-scheme:light dark;--line:#8884;--soft:#8882}
body{font:16px/1.55 system-ui,sans-serif;margin:0 auto;max-width:62rem;padding:1.5rem}
h1 small{font-weight:400;opacity:.6}h2{margin-top:3rem;border-bottom:1px solid var(--line);padding-bottom:.3rem}
nav a{margin-right:.8rem}article{margin:1.5rem 0;padding:1rem 1.2rem;border:1px solid var(--line);border-radius:.6rem}
h3{margin:0;font-size:1rem;overflow-wrap:anywhere}h3 b{display:inline-block;min-width:4.2rem;font-size:.8rem;letter-spacing:.04em}
.GET{color:#2a7de1}.POST{color:#2e9e5b}.PUT,.PATCH{color:#b7791f}.DELETE{color:#d04545}
table{border-collapse:collapse;width:100%;font-size:.9rem;margin:.6rem 0}td,th{text-align:left;padding:.25rem .8rem .25rem 0;border-top:1px solid var(--soft);vertical-align:top}
code,pre{font:.86rem/1.5 ui-monospace,monospace}pre{background:var(--soft);padding:.8rem;border-radius:.4rem;overflow:auto}summary{cursor:pointer}`;
