// Settings that look misspelt or have the prefix of another service, in API calls other than publishing: refused when
// settings are strict, else reported in a response header.

import type { FastifyReply } from 'fastify';
import { misspeltProblem, misspeltSettings, misspeltWarning } from '../../rules/publish/misspelt-settings.ts';
import type { ApiContext } from '../api/api.ts';
import { ApiError } from '../api/errors.ts';

export function reportUnknownSettings(
  unknownNames: readonly string[],
  { rules: { headerPrefix }, strictSettings }: Pick<ApiContext, 'rules' | 'strictSettings'>,
  reply: FastifyReply,
): void {
  const wrong = strictSettings ? misspeltProblem(unknownNames, headerPrefix) : null;
  if (wrong) throw new ApiError(wrong.problem.code, wrong.problem.message);
  const warnings = misspeltSettings(unknownNames, headerPrefix).map((each) => misspeltWarning(each, headerPrefix));
  if (warnings.length > 0) reply.header(`${headerPrefix}Warning`, warnings.join('; '));
}
