// Compiles the validator of a request when the first request needs it. Compiling all validators takes longer than the
// rest of a start, and a service needs few of them in its first second.

import type { FastifyServerOptions } from 'fastify';

type Ajv = Parameters<NonNullable<NonNullable<FastifyServerOptions['ajv']>['onCreate']>>[0];
type Check = ReturnType<Ajv['compile']>;

/** From now on `ajv` returns validators that compile themselves when they are first called. */
export function compileOnUse(ajv: Ajv): void {
  const compile = ajv.compile.bind(ajv) as (schema: object) => Check;
  ajv.compile = ((schema: object) => {
    let compiled: Check | null = null;
    const check = (data: unknown) => {
      compiled ??= compile(schema);
      const isValid = compiled(data);
      check.errors = compiled.errors;
      return isValid;
    };
    check.errors = null as Check['errors'];
    return check;
  }) as typeof ajv.compile;
}
