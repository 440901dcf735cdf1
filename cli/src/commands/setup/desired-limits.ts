// Finds what the service would refuse in a file for `apply`: changes beyond the limits of the account, and schedules
// for a topic that does not exist.

import type { Tier } from '../../../../server/src/rules/limits/tier.ts';
import { parseDestination } from '../../../../server/src/rules/publish/destination.ts';
import { defaultsProblem, limitProblem, type PlanTime } from '../../../../server/src/rules/publish/publish.ts';
import { parsePublishSettings } from '../../../../server/src/rules/publish/publish-settings.ts';
import { headerRules, scheduleHeaders, topicHeaders } from './desired-settings.ts';
import type { Change, Kind, ScheduleState, State, TopicState } from './desired-state.ts';

export interface ServiceFacts {
  /** The tier of the account, with its limits. */
  readonly tier: Tier;
  /** All topics of the service, by name and by id. */
  readonly topics: ReadonlyMap<string, { readonly endpoints: readonly unknown[] }>;
  readonly actual: State;
  readonly headerPrefix: string;
  readonly time: PlanTime;
}

/** The problems, each with its place in the file. What the service already has is not checked. */
export function limitProblems(desired: State, changes: readonly Change[], service: ServiceFacts): string[] {
  const isChanged = (kind: Kind, name: string) =>
    changes.some((change) => change.kind === kind && change.name === name && change.action !== 'delete');
  const { topics = [], schedules = [] } = desired;
  return [
    ...tooMany('queue', service.tier.queuesMax, service.actual.queues, changes),
    ...tooMany('topic', service.tier.topicsMax, service.actual.topics, changes),
    ...topics.flatMap((topic, index) =>
      isChanged('topic', topic.name) ? wrongTopic(topic, `topics[${index}]`, service) : [],
    ),
    ...tooMany('schedule', service.tier.schedulesMax, service.actual.schedules, changes),
    ...schedules.flatMap((schedule, index) =>
      isChanged('schedule', schedule.id) ? wrongSchedule(schedule, `schedules[${index}]`, topics, service) : [],
    ),
  ];
}

/** Deletes are made last, so what they delete still counts here. */
function tooMany(kind: Kind, max: number | null, there: readonly unknown[] = [], changes: readonly Change[]): string[] {
  const created = changes.filter((change) => change.kind === kind && change.action === 'create').length;
  const count = there.length + created;
  if (max === null || created === 0 || count <= max) return [];
  return [`${kind}s: the result would be ${count}; the limit of the account is ${max}`];
}

function wrongTopic(topic: TopicState, at: string, { tier, headerPrefix, time }: ServiceFacts): string[] {
  const { endpointsPerTopicMax: max } = tier;
  const count = topic.endpoints.length;
  const settings = parsePublishSettings(topicHeaders(topic), headerRules(headerPrefix));
  const wrong = 'problem' in settings ? null : defaultsProblem(settings, tier, time, headerPrefix);
  return [
    ...(max !== null && count > max ? [`${at}.endpoints: ${count} of them; the limit of the account is ${max}`] : []),
    ...(wrong === null ? [] : [`${at}.headers: ${wrong.problem.message}`]),
  ];
}

function wrongSchedule(
  schedule: ScheduleState,
  at: string,
  made: readonly TopicState[],
  { tier, topics, headerPrefix, time }: ServiceFacts,
): string[] {
  const { queue: queueName = null, body = '', bodyBase64 } = schedule;
  const bytes = bodyBase64 === undefined ? Buffer.from(body) : Buffer.from(bodyBase64, 'base64');
  const settings = parsePublishSettings(scheduleHeaders(schedule, headerPrefix), headerRules(headerPrefix));
  const request = 'problem' in settings ? null : { ...settings, body: bytes, queueName };
  const wrong = request && limitProblem(request, tier, time, headerPrefix);
  return [
    ...wrongDestination(schedule, at, made, topics),
    ...(wrong === null ? [] : [`${at}: ${wrong.problem.message}`]),
  ];
}

function wrongDestination(
  { destination }: ScheduleState,
  at: string,
  made: readonly TopicState[],
  topics: ServiceFacts['topics'],
): string[] {
  const parsed = parseDestination(destination);
  if ('problem' in parsed || parsed.kind !== 'topic') return [];
  const topic = made.find(({ name }) => name === parsed.nameOrId) ?? topics.get(parsed.nameOrId);
  if (topic === undefined) return [`${at}.destination: neither the service nor this file has the topic ${destination}`];
  return topic.endpoints.length > 0 ? [] : [`${at}.destination: the topic ${destination} has no endpoints`];
}
