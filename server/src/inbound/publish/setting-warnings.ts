// Checks API calls other than publishing for settings that look misspelt or have the prefix of another service. With
// strict settings, such a call is refused. Otherwise a response header reports the settings.

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
