// Finds out from the headers whether a request comes from outside or from one of our deliveries.

import type { IncomingMessage } from 'node:http';
import type { Descent } from '../../rules/delivery/descent.ts';
import { type HeaderRules, parseDescent } from '../../rules/publish/publish-settings.ts';
import { ApiError } from '../api/errors.ts';
import { rawHeaders, type WholeRequest } from '../server/whole-request.ts';

/** Throws when the chain of deliveries that led to this request is too long. */
export function descentOf(request: IncomingMessage | WholeRequest, rules: HeaderRules): Descent {
  const descent = parseDescent(rawHeaders(request), rules);
  if ('problem' in descent) throw new ApiError(descent.problem.code, descent.problem.message);
  return descent;
}
