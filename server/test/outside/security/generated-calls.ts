// Calls with one hostile value each, made from the OpenAPI document of a running service: every path part, query
// parameter, header and field of a body of every operation, in an order that a seed decides.

export interface GeneratedCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** What is hostile in it. */
  readonly what: string;
}

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Names that every object has, and texts that are no text anybody meant. */
const TEXTS: readonly string[] = [
  'constructor',
  '__proto__',
  'toString',
  'hasOwnProperty',
  '',
  ' ',
  '0',
  '-1',
  'NaN',
  'Infinity',
  '1e309',
  '9007199254740993',
  '99999999999999999999',
  '0x10',
  'null',
  'true',
  '[object Object]',
  '../../etc/passwd',
  "' OR 1=1 --",
  '\u0000',
  '\ud800',
  '\u202e\ufeff',
  'ö'.repeat(300),
  'x'.repeat(5000),
];

/** In a body, what is no text as well. */
const VALUES: readonly unknown[] = [
  ...TEXTS,
  null,
  true,
  -1,
  1.5,
  1e308,
  2 ** 53,
  [],
  {},
  [[[[[[]]]]]],
  ['constructor', null, 7],
  Array.from({ length: 2000 }, (_, n) => `v${n}`),
  { constructor: { prototype: { polluted: true } } },
  'x'.repeat(900_000),
];

/** Written into a path or a query as they are. */
const ENCODED: readonly string[] = ['%', '%zz', '%00', '%ff%fe', '%C0%AF', '%2e%2e%2f', '%ED%A0%80', '+', '&', '='];

export function generatedCalls(document: Document, destination: string): GeneratedCall[] {
  return Object.entries(document.paths).flatMap(([template, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) =>
      callsOf(method.toUpperCase(), template, operation, destination),
    ),
  );
}

function callsOf(method: string, template: string, operation: Operation, destination: string): GeneratedCall[] {
  const calls: GeneratedCall[] = [];
  const parameters = operation.parameters ?? [];
  const schema = operation.requestBody?.content['application/json']?.schema;
  const path = (changed: string, value: string) =>
    template.replace(/\{(\w+)\}/g, (_, name: string) =>
      name === changed ? value : name === 'destination' ? destination : 'x',
    );
  const good = schema ? JSON.stringify(exampleOf(schema)) : undefined;
  const add = (what: string, target: string, headers: Readonly<Record<string, string>> = {}, body = good) =>
    calls.push({ method, path: target, headers, ...(body !== undefined && { body }), what });

  add('nothing', path('', ''));
  for (const { name, in: place } of parameters) {
    if (place === 'header') {
      const values = TEXTS.filter((text) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text));
      for (const value of values) add(`header ${name}`, path('', ''), { [name]: value });
      continue;
    }
    const values = [...TEXTS.map((text) => encodeURIComponent(text.toWellFormed())), ...ENCODED, '%ED%A0%80'];
    for (const value of values) {
      if (place === 'path') add(`path part ${name}`, path(name, value));
      else add(`query ${name}`, `${path('', '')}?${name}=${value}`);
    }
    if (place === 'query') {
      add(`query ${name} thrice`, `${path('', '')}?${name}=1&${name}=2&${name}[]=3`);
      add(`query ${name} a thousand times`, `${path('', '')}?${Array(1000).fill(`${name}=1`).join('&')}`);
    }
  }
  for (const name of ['constructor', '__proto__', 'x'.repeat(3000)]) {
    add('unknown query', `${path('', '')}?${name}=1`);
  }
  if (schema) {
    for (const [where, body] of hostileBodies(schema)) add(`body ${where}`, path('', ''), {}, body);
    for (const body of [
      '',
      '{',
      'null',
      '[]',
      '7',
      '"x"',
      `${'['.repeat(50_000)}`,
      '{"__proto__":{"a":1}}',
      '\ufeff{}',
    ]) {
      add('body as a whole', path('', ''), {}, body);
    }
  }
  return calls;
}

/** The example with one field at a time replaced by each hostile value. */
function* hostileBodies(schema: Schema): Iterable<[where: string, body: string]> {
  const example = exampleOf(schema);
  for (const field of fieldsOf(schema)) {
    for (const value of VALUES) yield [field.join('.'), JSON.stringify(replaced(example, field, value))];
  }
  if (typeof example === 'object' && example !== null) {
    yield ['unknown field', JSON.stringify({ ...example, constructor: 1 })];
  }
}

function fieldsOf(schema: Schema, depth = 0): (string | number)[][] {
  if (depth > 3) return [];
  const inner = schema.anyOf?.flatMap((each) => fieldsOf(each, depth)) ?? [];
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, each]) => [
    [name],
    ...fieldsOf(each, depth + 1).map((rest) => [name, ...rest]),
  ]);
  const items = schema.items ? [[0], ...fieldsOf(schema.items, depth + 1).map((rest) => [0, ...rest])] : [];
  return [...own, ...items, ...inner];
}

function exampleOf(schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return exampleOf(schema.anyOf[0]!);
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, each]) => [name, exampleOf(each)]));
    case 'array':
      return schema.items ? [exampleOf(schema.items)] : [];
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    default:
      return 'x';
  }
}

function replaced(example: unknown, [at, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (at === undefined) return value;
  if (typeof at === 'number') return [replaced(Array.isArray(example) ? example[0] : {}, rest, value)];
  const object = (example ?? {}) as Readonly<Record<string, unknown>>;
  return { ...object, [at]: replaced(Object.hasOwn(object, at) ? object[at] : {}, rest, value) };
}

/** In an order of its own for each seed, and no more than so many. */
export function chosen<T>(all: readonly T[], seed: number, max: number): T[] {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return all
    .map((each) => [next(), each] as const)
    .sort(([a], [b]) => a - b)
    .slice(0, max)
    .map(([, each]) => each);
}
