// Checks a file for `apply` by the service's own rules, so that a dry run reports what the service would refuse, and a
// run changes nothing before the whole file is checked. Rules that only the service can check are not checked here.

import { QUEUE_PARALLELISM_MAX } from '../../../../server/src/rules/lines/queue.ts';
import { parseDestination, parseTargetUrl } from '../../../../server/src/rules/publish/destination.ts';
import {
  parseJitter,
  parseOutage,
  parseOverlap,
  parsePriority,
  parseTimeout,
} from '../../../../server/src/rules/publish/setting-values.ts';
import { ENDPOINT_NAME_RULE, isEndpointName, isName, NAME_RULE } from '../../../../server/src/rules/requests/name.ts';
import { parseTickTimes } from '../../../../server/src/rules/schedules/tick-times.ts';

type Rule = (value: unknown) => readonly string[];

const problemOf = (parsed: object) => ('problem' in parsed ? [`: ${String(parsed.problem)}`] : []);
const name: Rule = (value) => (isName(value as string) ? [] : [` must have ${NAME_RULE}`]);

interface Endpoint {
  readonly url: string;
  readonly name?: string;
}

/** The rules, by the names of the kind and the field. The type of the value has been checked before. */
const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['queue.name', name],
  ['topic.name', name],
  ['schedule.id', name],
  ['schedule.queue', name],
  ['alert.id', name],
  [
    'queue.parallelism',
    (value) => ((value as number) <= QUEUE_PARALLELISM_MAX ? [] : [` must be at most ${QUEUE_PARALLELISM_MAX}`]),
  ],
  ['queue.priority', (value) => problemOf(parsePriority(String(value)))],
  ['queue.outage', (value) => problemOf(parseOutage(value as string))],
  ['queue.expires', (value) => problemOf(parseTimeout(value as string))],
  ['schedule.cron', (value) => problemOf(parseTickTimes(value as string))],
  ['schedule.overlap', (value) => problemOf(parseOverlap(value as string))],
  ['schedule.jitter', (value) => problemOf(parseJitter(value as string))],
  ['schedule.destination', (value) => problemOf(parseDestination(value as string))],
  ['topic.endpoints', (value) => (value as readonly Endpoint[]).flatMap(wrongEndpoint)],
]);

function wrongEndpoint(endpoint: Endpoint, index: number): string[] {
  const ofName =
    endpoint.name === undefined || isEndpointName(endpoint.name) ? [] : [` must have ${ENDPOINT_NAME_RULE}`];
  return [
    ...problemOf(parseTargetUrl(endpoint.url)).map((problem) => `[${index}].url${problem}`),
    ...ofName.map((problem) => `[${index}].name${problem}`),
  ];
}

/** The problems, each with its place in the file: `queues[0].name must have …`. */
export function valueProblems(kind: string, field: string, value: unknown, at: string): string[] {
  return (RULES.get(`${kind}.${field}`)?.(value) ?? []).map((problem) => `${at}${problem}`);
}
