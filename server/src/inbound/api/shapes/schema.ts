// Writes the schemas of requests and responses, with the types of TypeBox. TypeBox itself is not loaded: its 370 files
// would take a third of the start time of the service, and we need only these few functions.

import type Typebox from 'typebox';
import type { TSchema } from 'typebox';

export type { Static, TSchema } from 'typebox';

type Used =
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'IsOptional'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown';

const optional = new WeakSet<object>();

const plain = (type: string) => (options?: object) => ({ type, ...options });

function object(properties: Readonly<Record<string, TSchema>>, options?: object) {
  const required = Object.keys(properties).filter((name) => !optional.has(properties[name]!));
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
}

function makeOptional(schema: TSchema): TSchema {
  const copy = { ...schema };
  optional.add(copy);
  return copy;
}

const Type = {
  Array: (items: TSchema, options?: object) => ({ type: 'array', items, ...options }),
  Boolean: plain('boolean'),
  Integer: plain('integer'),
  IsOptional: (schema: object) => optional.has(schema),
  Literal: (value: string | number | boolean, options?: object) => ({ type: typeof value, const: value, ...options }),
  Null: plain('null'),
  Number: plain('number'),
  Object: object,
  Optional: makeOptional,
  Record: (_key: TSchema, value: TSchema, options?: object) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  String: plain('string'),
  Union: (anyOf: readonly TSchema[], options?: object) => ({ anyOf, ...options }),
  Unknown: (options?: object) => ({ ...options }),
} as unknown as Pick<typeof Typebox, Used>;

export default Type;
