// The page /docs, made from the OpenAPI document: contents, every call with examples, and all errors. It loads nothing
// from other hosts, and can be read without its script.

import { PROBLEMS } from '../../rules/requests/problem.ts';
import type { openApiDocument } from '../api/shapes/openapi.ts';
import { DOCS_EXAMPLES } from './docs-examples.ts';

type Document = ReturnType<typeof openApiDocument>;
type Operation = Document['paths'][string][string];

export interface DocsPageOptions {
  readonly headerPrefix: string;
  /** The well-known token of `dev`. Null on any other service. */
  readonly token: string | null;
  readonly hasConsole: boolean;
}

interface DocumentedCall {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const TITLES: ReadonlyMap<string, string> = new Map([
  ['dlq', 'Dead letters'],
  ['flowControl', 'Flow control'],
  ['hosts', 'Hosts'],
  ['bulk', 'Bulk operations'],
  ['dev', 'Development'],
  ['health', 'Service'],
]);

/** A table with more parameters than this is folded. */
const PARAMETERS_SHOWN_MAX = 6;
const DEFAULT_PREFIX = 'Service-';

export function docsPage(document: Document, options: DocsPageOptions): string {
  const sections = document.tags
    .map(({ name }) => ({ name, title: titleOf(name), calls: callsOf(document, name) }))
    .filter(({ calls }) => calls.length > 0);
  const version = escaped(document.info.version);
  const contents = sections.map(
    ({ name, title, calls }) =>
      `<li><a href="#${name}">${escaped(title)}</a><ol>${calls.map(contentsEntry).join('')}</ol></li>`,
  );
  const shown = sections.map(
    ({ name, title, calls }) =>
      `<section id="${name}"><h2>${escaped(title)}</h2>${calls.map((call) => article(call, options)).join('')}</section>`,
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Postrider API ${version}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="docs/style.css"></head>
<body><a class="skip" href="#calls">Skip to the calls</a>
<header><h1>Postrider API <small>${version}</small></h1>
<div role="search" hidden><input id="search" type="search" aria-label="Search the calls" placeholder="Search, or press /" autocomplete="off" spellcheck="false"><p id="found" role="status"></p></div></header>
<div class="page"><nav aria-label="Contents"><details open><summary>Contents</summary><ol>
<li><a href="#start">Start</a></li>${contents.join('')}<li><a href="#errors">Errors</a></li></ol></details></nav>
<main id="calls">${start(document, options)}${shown.join('')}${errors()}</main></div>
<script src="docs/script.js" defer></script></body></html>`;
}

function titleOf(tag: string): string {
  return TITLES.get(tag) ?? tag.charAt(0).toUpperCase() + tag.slice(1);
}

function callsOf(document: Document, tag: string): DocumentedCall[] {
  const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags.includes(tag))
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  // Publish comes first, because most readers look for it. Enqueue and batch follow.
  return tag === 'publish' ? calls.reverse() : calls;
}

function contentsEntry({ method, path, operation }: DocumentedCall): string {
  const shortPath = path.replace(/^\/v2\//, '');
  return `<li data-call="${operation.operationId}"><a href="#${operation.operationId}"><b class="${method}">${method}</b> ${escaped(shortPath)}</a></li>`;
}

function start(document: Document, { headerPrefix, token, hasConsole }: DocsPageOptions): string {
  const prefix = headerPrefix === DEFAULT_PREFIX ? '' : `, headerPrefix: '${headerPrefix}'`;
  const shownToken = token === null ? 'process.env.TOKEN' : `'${token}'`;
  const client = `import { calls, Postrider } from 'postrider-sdk';\n\nconst postrider = new Postrider({ baseUrl: 'http://127.0.0.1:8411', token: ${shownToken}${prefix} });`;
  const where =
    token === null
      ? 'In the commands below, TOKEN is a variable of your shell. The first start of the service prints a token, and <code>postrider token create</code> makes others.'
      : 'This is a development service. Its token is in the commands below, so they work when you paste them.';
  const console = hasConsole ? ' Look at what happens in the <a href="console/">console</a>.' : '';
  return `<section id="start"><h2>Start</h2><p>${escaped(document.info.description)} Every call below <code>/v2</code> carries a token:
<code>Authorization: Bearer …</code>. ${where}${console} The same for programs: <a href="openapi.json">OpenAPI 3.1</a>.</p>
<p>Headers of the service start with <code>${escaped(headerPrefix)}</code>. With the SDK they are options, such as <code>retryDelay</code>:</p>${example('SDK', client)}</section>`;
}

function article(call: DocumentedCall, options: DocsPageOptions): string {
  const { method, path, operation } = call;
  const { operationId: id, summary, description = '' } = operation;
  return `<article id="${id}"><h3><a href="#${id}"><b class="${method}">${method}</b> <code>${escaped(path)}</code></a></h3>
<p>${escaped(summary)}. ${escaped(description).replaceAll('`', '')}</p>${examplesOf(call, options)}${parameters(operation)}${bodies(operation)}</article>`;
}

function examplesOf({ method, path }: DocumentedCall, { headerPrefix, token }: DocsPageOptions): string {
  const found = DOCS_EXAMPLES.get(`${method} ${path}`);
  if (!found) return '';
  const adapted = (text: string) => text.replaceAll(DEFAULT_PREFIX, headerPrefix);
  const known = token === null ? null : `-H 'Authorization: Bearer ${token}'`;
  const curl = known === null ? found.curl : found.curl.replace('-H "Authorization: Bearer $TOKEN"', known);
  const sdk = found.sdk === null ? '' : example('SDK', adapted(found.sdk));
  return `<div class="examples">${example('curl', adapted(curl))}${sdk}</div>`;
}

function example(name: string, text: string): string {
  return `<figure><figcaption>${name}</figcaption><pre tabindex="0" aria-label="${name}">${escaped(text)}</pre></figure>`;
}

function parameters(operation: Operation): string {
  const all = (operation.parameters ?? []) as {
    name: string;
    in: string;
    required: boolean;
    description?: string;
    example?: string;
  }[];
  if (all.length === 0) return '';
  const rows = all.map((each) => {
    const sample = each.example === undefined ? '' : ` Example: <code>${escaped(each.example)}</code>`;
    return `<tr><td><code>${escaped(each.name)}</code></td><td>${escaped(each.in)}${each.required ? ', required' : ''}</td><td>${escaped(each.description ?? '').replaceAll('`', '')}${sample}</td></tr>`;
  });
  const table = `<div class="wide" tabindex="0" role="group" aria-label="Parameters"><table><thead><tr><th>Name</th><th>In</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
  if (all.length <= PARAMETERS_SHOWN_MAX) return table;
  return `<details class="parameters"><summary>${all.length} parameters</summary>${table}</details>`;
}

function bodies(operation: Operation): string {
  const parts: string[] = [];
  const schemaOf = (holder: unknown) =>
    (holder as { content?: Record<string, { schema?: unknown }> } | undefined)?.content?.['application/json']?.schema;
  const request = schemaOf(operation.requestBody);
  if (request) parts.push(schemaDetails('Request body', request));
  for (const [status, response] of Object.entries(operation.responses)) {
    const schema = schemaOf(response);
    if (schema) parts.push(schemaDetails(`Response ${status}`, schema));
  }
  return parts.join('');
}

function schemaDetails(title: string, schema: unknown): string {
  return `<details><summary>${escaped(title)}</summary><pre tabindex="0">${escaped(JSON.stringify(schema, null, 2))}</pre></details>`;
}

function errors(): string {
  const rows = Object.entries(PROBLEMS).map(
    ([code, [status, meaning]]) =>
      `<tr><td><code>${code}</code></td><td>${status}</td><td>${escaped(meaning)}</td></tr>`,
  );
  return `<section id="errors"><h2>Errors</h2><p>Every error is JSON: <code>{"error": "what is wrong, and what to do", "code": "…"}</code>. The code is
stable; the text may change.</p><div class="wide" tabindex="0" role="group" aria-label="Errors"><table><thead><tr><th>Code</th><th>Status</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></div></section>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
