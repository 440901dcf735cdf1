// Cuts queue and destination from the raw request target, byte for byte. It uses no URL parser: each one decodes, drops
// or resolves something, and could turn the path of an enqueue into that of another call.

import { isName, NAME_RULE } from '../../rules/requests/name.ts';
import { type Problem, problem } from '../../rules/requests/problem.ts';

export type PublishTarget =
  | { readonly call: 'publish'; readonly queueName: null; readonly destination: string }
  | { readonly call: 'enqueue'; readonly queueName: string; readonly destination: string }
  | { readonly call: 'schedule'; readonly queueName: null; readonly destination: string }
  | { readonly call: 'batch' };

const PUBLISH = '/v2/publish/';
const ENQUEUE = '/v2/enqueue/';
const BATCH = '/v2/batch';
const SCHEDULES = '/v2/schedules/';
/** The actions on an existing schedule. Anything else after /v2/schedules/ is the destination of a new one. */
const SCHEDULE_ACTION = /^[A-Za-z0-9._-]+\/(?:pause|resume|run)\/?(?:\?.*)?$/;

/** Returns null when the target is neither a call with a destination nor a batch. */
export function parsePublishTarget(
  target: string,
  method: string,
): PublishTarget | { readonly problem: Problem } | null {
  if (target.startsWith(PUBLISH)) {
    const destination = target.slice(PUBLISH.length);
    if (destination === '') return missingDestination(`${PUBLISH}https://example.com`);
    return { call: 'publish', queueName: null, destination };
  }
  if (target.startsWith(ENQUEUE)) return parseEnqueue(target.slice(ENQUEUE.length));
  if (method === 'POST' && target.startsWith(SCHEDULES)) return parseSchedule(target.slice(SCHEDULES.length));
  if (target === BATCH || target.startsWith(`${BATCH}?`)) return { call: 'batch' };
  return null;
}

function parseEnqueue(rest: string): PublishTarget | { readonly problem: Problem } {
  const slash = rest.indexOf('/');
  const queueName = decodeSegment(slash < 0 ? rest : rest.slice(0, slash));
  if (queueName === null || !isName(queueName)) return problem('bad_queue_name', `queue name: ${NAME_RULE}`);
  const destination = slash < 0 ? '' : rest.slice(slash + 1);
  if (destination === '') return missingDestination(`${ENQUEUE}${queueName}/https://example.com`);
  return { call: 'enqueue', queueName, destination };
}

/** Returns null when the target is an action on a schedule. */
function parseSchedule(destination: string): PublishTarget | { readonly problem: Problem } | null {
  if (SCHEDULE_ACTION.test(destination)) return null;
  if (destination === '') return missingDestination(`${SCHEDULES}https://example.com`);
  return { call: 'schedule', queueName: null, destination };
}

function missingDestination(example: string) {
  return problem(
    'bad_destination',
    // The public clients expect this text.
    `destination: a non-empty destination must be provided; put a URL or a topic name at the end of the path, as in ${example}`,
  );
}

function decodeSegment(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
