// Plans one request by itself, for tests below HTTP. The service counts all that a batch would make before it makes any of it.

import { divideDescendants } from '../../src/rules/delivery/descent.ts';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import {
  makeMessages,
  messageCount,
  type PlanContext,
  type Publisher,
  type PublishRequest,
  requestProblem,
} from '../../src/rules/publish/publish.ts';
import type { Problem } from '../../src/rules/requests/problem.ts';

/** The messages of a request, or the first thing that is wrong with it. */
export function planMessages(
  request: PublishRequest,
  publisher: Publisher,
  context: PlanContext,
): { readonly messages: readonly NewMessage[] } | { readonly problem: Problem } {
  const wrong = requestProblem(request, publisher.tier, context, 'Service-');
  if (wrong) return wrong;
  const left = divideDescendants(request.descendantsLeft, messageCount(request));
  return typeof left === 'number' ? { messages: makeMessages(request, publisher, context, left) } : left;
}
