// Where a request comes from: from outside, or from one of our deliveries, which its headers say.

import type { IncomingMessage } from 'node:http';
import type { Descent } from '../../rules/delivery/descent.ts';
import { type HeaderRules, parseDescent } from '../../rules/publish/publish-settings.ts';
import { ApiError } from '../api/errors.ts';
import { rawHeaders, type WholeRequest } from '../server/whole-request.ts';

/** Throws when the request has come back too often. */
export function descentOf(request: IncomingMessage | WholeRequest, rules: HeaderRules): Descent {
  const descent = parseDescent(rawHeaders(request), rules);
  if ('problem' in descent) throw new ApiError(descent.problem.code, descent.problem.message);
  return descent;
}
