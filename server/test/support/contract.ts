// Holds every answer the tests get against the OpenAPI document of the running service: an answer with a status or a
// shape that the document does not have fails the test that got it.

import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { RouteEntry } from '../../src/inbound/api/api.ts';
import { openApiDocument } from '../../src/inbound/api/shapes/openapi.ts';
import type { Answered } from './client.ts';

type Document = ReturnType<typeof openApiDocument>;

interface Response {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema?: unknown }>>;
}

interface Call {
  readonly method: string;
  readonly template: string;
  readonly pattern: RegExp;
  readonly responses: Readonly<Record<string, Response>>;
}

/** Shown once, in openapi.test.ts: to look at each of them takes longer than all else. */
const SCHEMAS_ARE_RIGHT = { strict: false, validateFormats: false, validateSchema: false, meta: false };

export class Contract {
  readonly #document: Document;
  readonly #calls: readonly Call[];
  readonly #ajv = new Ajv2020({ ...SCHEMAS_ARE_RIGHT, messages: false, code: { optimize: false } });
  readonly #validators = new Map<unknown, ValidateFunction>();

  constructor(document: Document) {
    this.#document = document;
    const calls = Object.entries(document.paths).flatMap(([template, methods]) =>
      Object.entries(methods).map(([method, { responses }]) => ({
        method: method.toUpperCase(),
        template,
        pattern: patternOf(template),
        responses: responses as Record<string, Response>,
      })),
    );
    // A destination takes all that follows, so whatever else fits goes first.
    this.#calls = calls.sort((a, b) => Number(takesAll(a.template)) - Number(takesAll(b.template)));
  }

  /** Throws when the document does not know this answer. */
  require(method: string, target: string, answer: Answered): void {
    if (method === 'HEAD' || target.startsWith('/dev/')) return;
    const path = target.replace(/^https?:\/\/[^/?#]*/i, '').split('?')[0]!;
    const call = this.#calls.find((each) => each.method === method && each.pattern.test(path));
    const where = `${method} ${call?.template ?? path} ${answer.status}`;
    if (!call) {
      assert.ok([400, 404, 405].includes(answer.status), `${where}: an answer to a call that is not in the document`);
      this.#requireShape(where, this.#document.components.schemas.Error, answer);
      return;
    }
    const named = call.responses[String(answer.status)];
    assert.ok(named, `${where}: the document has no such status`);
    const response: Response = named.$ref ? this.#document.components.responses.Error : named;
    const type = (answer.headers['content-type'] ?? '').split(';')[0]!;
    const content = response.content?.[type];
    assert.ok(content, `${where}: the document has no content of type "${type}"`);
    if (type === 'application/json') this.#requireShape(where, content.schema, answer);
  }

  #requireShape(where: string, schema: unknown, answer: Answered): void {
    let validate = this.#validators.get(schema);
    if (!validate) {
      validate = this.#ajv.compile(this.#resolved(schema));
      this.#validators.set(schema, validate);
    }
    if (validate(answer.json())) return;
    // Only a failure needs to know all that is wrong, and pays for a validator that says it.
    const thorough = new Ajv2020({ ...SCHEMAS_ARE_RIGHT, allErrors: true }).compile(this.#resolved(schema));
    thorough(answer.json());
    const wrong = thorough.errors?.map((each) => `${each.instancePath} ${each.message} ${JSON.stringify(each.params)}`);
    assert.fail(`${where}: not the shape of the document: ${wrong?.join('; ')}\n${answer.text}`);
  }

  #resolved(schema: unknown): object {
    const { $ref } = schema as { $ref?: string };
    return $ref ? this.#document.components.schemas.Error : (schema as object);
  }
}

const byRoutes = new WeakMap<readonly RouteEntry[], Contract>();
const byPaths = new Map<string, Contract>();

/** The same for every service of a process with these routes: `dev` has some that `serve` has not. Only the prefix of headers differs. */
export function contractOf(routes: readonly RouteEntry[]): Contract {
  const known = byRoutes.get(routes);
  if (known) return known;
  const paths = routes.map(({ method, path }) => `${method} ${path}`).join();
  const contract = byPaths.get(paths) ?? new Contract(openApiDocument(routes, '0', 'Service-'));
  byPaths.set(paths, contract);
  byRoutes.set(routes, contract);
  return contract;
}

function takesAll(template: string): boolean {
  return template.endsWith('{destination}');
}

function patternOf(template: string): RegExp {
  const escaped = template.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace('{destination}', '.*').replace(/\{\w+\}/g, '[^/]*')}$`, 's');
}
