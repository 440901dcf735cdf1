// The OpenAPI document is valid, says what there is and nothing else, and the page made from it asks nobody for
// anything. That answers keep to it is held by every other test, through support/contract.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv } from 'ajv';
import { ask } from '../../support/client.ts';
import { sharedRider, startRider } from '../../support/harness.ts';

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly responses: Readonly<Record<string, { readonly headers?: Readonly<Record<string, unknown>> }>>;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly description?: string;
  }[];
}

interface Document {
  readonly openapi: string;
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Handled before the router, so they are not in its list. */
const PUBLISHING = [
  'POST /v2/publish/{destination}',
  'POST /v2/enqueue/{queue}/{destination}',
  'POST /v2/batch',
  'POST /v2/schedules/{destination}',
];

const asked = sharedRider();

const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );

test('GET /openapi.json: is a valid OpenAPI 3.1 document', async () => {
  const rider = asked();
  const document = await rider.manage<Document & Record<string, unknown>>('GET', '/openapi.json');
  assert.match(document.openapi, /^3\.1\./);
  const { valid, errors } = await new Validator().validate(document);
  assert.equal(valid, true, JSON.stringify(errors));
});

test('GET /openapi.json: a call that reads If-Match says so, and a response with an ETag too', async () => {
  const { paths } = await asked().manage<Document>('GET', '/openapi.json');
  const { get, patch } = paths['/v2/messages/{messageId}']!;
  const headersOf = ({ parameters }: Operation) =>
    parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
  assert.deepEqual([headersOf(get!), headersOf(patch!)], [[], ['If-Match']]);
  for (const { responses } of [get!, patch!]) assert.deepEqual(Object.keys(responses['200']!.headers ?? {}), ['ETag']);
});

test('GET /openapi.json: every parameter says what it means', async () => {
  const document = await asked().manage<Document>('GET', '/openapi.json');
  const silent = operationsOf(document).flatMap(({ path, method, operation }) =>
    (operation.parameters ?? [])
      .filter(({ description }) => !/^\S.*\.$/.test(description ?? ''))
      .map(({ name }) => `${method} ${path}: ${name}`),
  );
  assert.deepEqual(silent, []);
});

test('the schema of every request can be compiled, also of one that nobody has sent yet', () => {
  const { routes } = asked().postrider;
  const ajv = new Ajv({ strict: true });
  const schemas = routes.flatMap(({ params, query, body }) =>
    [params, query, body].filter((each) => each !== undefined),
  );
  assert.ok(schemas.length > routes.length / 2);
  for (const schema of schemas) ajv.compile(schema);
});

test('GET /openapi.json: has every call of the service and no other', async () => {
  const rider = asked();
  const document = await rider.manage<Document>('GET', '/openapi.json');
  const routes = rider.postrider.routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
  assert.deepEqual(
    operationsOf(document)
      .map(({ method, path }) => `${method} ${path}`)
      .sort(),
    [...routes, ...PUBLISHING].sort(),
  );
});

test('GET /openapi.json: operation ids are unique, tags are known, path parameters are declared', async () => {
  const rider = asked();
  const document = await rider.manage<Document>('GET', '/openapi.json');
  const operations = operationsOf(document);
  const ids = operations.map(({ operation }) => operation.operationId);
  assert.equal(new Set(ids).size, ids.length);
  const tags = new Set(document.tags.map(({ name }) => name));
  for (const { path, method, operation } of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const declared = operation.parameters.filter((each) => each.in === 'path');
    assert.deepEqual(declared.map(({ name }) => name).sort(), inPath.sort(), `${method} ${path}`);
    assert.ok(declared.every(({ required }) => required));
    for (const tag of operation.tags) assert.ok(tags.has(tag), tag);
  }
});

test('GET /openapi.json: names the headers by the prefix of the server', async (t) => {
  const rider = await startRider(t, { flags: ['--header-prefix', 'Acme-'] });
  const { text } = await rider.call('GET', '/openapi.json');
  assert.ok(text.includes('"Acme-Retries"'));
  assert.equal(text.includes('Service-'), false);
});

test('GET /docs: every call is on the page with its examples, and nothing is loaded from elsewhere', async () => {
  const rider = asked();
  const { text, headers } = await rider.call('GET', '/docs', { token: null });
  assert.equal(
    headers['content-security-policy'],
    "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  const articles = new Map(
    [...text.matchAll(/<article id="([\w-]+)">(.*?)<\/article>/gs)].map(([, id, all]) => [id, all!]),
  );
  for (const { path, operation } of operationsOf(await rider.manage<Document>('GET', '/openapi.json'))) {
    const article = articles.get(operation.operationId) ?? '';
    assert.ok(article.includes(path), path);
    assert.match(article, /aria-label="curl">curl /, `${path}: add an example to server/scripts/sdk-examples.ts`);
    if (path.startsWith('/v2/'))
      assert.match(article, /aria-label="SDK">(?:await postrider|await acknowledge|for await)/, path);
    assert.ok(text.includes(`<a href="#${operation.operationId}">`), `${path} is in the contents`);
  }
  assert.ok(text.includes(`Bearer ${rider.token}`), 'in development the examples work as they are pasted');
  assert.deepEqual(
    [...text.matchAll(/(?:href|src|action|url)\s*[=(]\s*["']?([^"'#)>][^"')>]*)/gi)].map(([, address]) => address),
    ['docs/style.css', 'console/', 'openapi.json', 'docs/script.js'],
  );
  assert.equal(
    /<script(?! src="docs\/script.js" defer><\/script>)|<iframe|<img|\son\w+=|style=|@import/i.test(text),
    false,
  );
  const style = await rider.call('GET', '/docs/style.css', { token: null });
  assert.equal(/url\(|@import/.test(style.text), false);
  const script = await rider.call('GET', '/docs/script.js', { token: null });
  assert.match(String(script.headers['content-type']), /^text\/javascript/);
  assert.equal(/innerHTML|insertAdjacent|eval|fetch|import\(/.test(script.text), false);
});

test('GET /: dev leads a browser to the console too', async () => {
  const { url } = asked();
  const led = await ask(url, '/', { headers: { Accept: 'text/html' } });
  assert.equal(led.status, 302, led.text);
  assert.equal((await ask(url, '/', {})).json<{ name: string }>().name, 'postrider');
});

test('GET /healthz and /readyz: answer without a token', async () => {
  const rider = asked();
  assert.deepEqual((await rider.call('GET', '/healthz', { token: null })).json(), { status: 'ok' });
  assert.deepEqual((await rider.call('GET', '/readyz', { token: null })).json(), { status: 'ready' });
});
