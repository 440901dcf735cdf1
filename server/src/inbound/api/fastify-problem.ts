// Replaces the texts of errors that Fastify finds: a body or a parameter does not match its schema, a path is too long
// in one part or wrongly encoded, or a Content-Type is not valid.

import { nearestName } from '../../rules/requests/nearest-name.ts';

/** Limit for the length of a parameter in a path. A longer one is refused. */
export const PARAMETER_LENGTH_MAX = 512;

interface ValidationError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly message?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly parentSchema?: { readonly properties?: object };
}

/** The text for a value that is none of the allowed constants, or null. There is one error for each constant. */
function constantsRule(errors: readonly ValidationError[]): string | null {
  const allowed = errors
    .filter(({ keyword, instancePath }) => keyword === 'const' && instancePath === errors[0]!.instancePath)
    .map(({ params }) => String(params?.allowedValue));
  return allowed.length === 0 ? null : `must be one of ${allowed.join(', ')}`;
}

/** The text for a value of none of the allowed types, or null. There is one error for each of several types. */
function typesRule(errors: readonly ValidationError[]): string | null {
  const ofValue = errors.filter(({ keyword, instancePath }) => {
    return keyword === 'type' && instancePath === errors[0]!.instancePath;
  });
  if (ofValue.length < 2 || errors[0]!.keyword !== 'type') return null;
  return `must be ${[...new Set(ofValue.map(({ params }) => String(params?.type)))].join(' or ')}`;
}

/** How many allowed names an error lists. */
const NAMES_MAX = 12;

/** The error for a field name that is not allowed. It names the nearest allowed name, or all of them. */
function unknownNameRule({ params, parentSchema }: ValidationError): string | null {
  const name = params?.additionalProperty;
  if (typeof name !== 'string') return null;
  const allowed = Object.keys(parentSchema?.properties ?? {});
  const shown = name.length > 60 ? `${name.slice(0, 60)}…` : name;
  const meant = nearestName(
    shown.toLowerCase(),
    allowed.map((each) => each.toLowerCase()),
  );
  const near = allowed.find((each) => each.toLowerCase() === meant);
  if (near !== undefined) return `"${shown}" is not known here; did you mean "${near}"?`;
  if (allowed.length === 0) return `"${shown}" is not known here; no name is allowed here`;
  const more = allowed.length > NAMES_MAX ? ' …' : '';
  return `"${shown}" is not known here; allowed: ${allowed.slice(0, NAMES_MAX).join(', ')}${more}`;
}

function validationProblem(validation: readonly ValidationError[], first: ValidationError, context?: string) {
  const field = `${first.instancePath.slice(1).replaceAll('/', '.')}` || context;
  return {
    code: context === 'body' ? ('bad_body' as const) : ('bad_parameter' as const),
    message: `${field}: ${constantsRule(validation) ?? unknownNameRule(first) ?? typesRule(validation) ?? first.message}`,
  };
}

/** The problem for an error of Fastify. Null for any other error. */
export function fastifyProblem(error: unknown) {
  const { validation, validationContext, statusCode, code, message } = (error ?? {}) as {
    validation?: readonly ValidationError[];
    validationContext?: string;
    statusCode?: number;
    code?: string;
    message: string;
  };
  const first = validation?.[0];
  if (validation && first) return validationProblem(validation, first, validationContext);
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') {
    return {
      code: 'bad_parameter' as const,
      message: `path: one of its parts is longer than ${PARAMETER_LENGTH_MAX} characters`,
    };
  }
  if (code === 'FST_ERR_BAD_URL') {
    return {
      code: 'bad_parameter' as const,
      message: 'path: "%" must be followed by two hex digits, and the bytes must be UTF-8',
    };
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return { code: 'bad_request' as const, message: 'Content-Type: not a media type; use application/json' };
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return { code: 'bad_request' as const, message };
  return null;
}
