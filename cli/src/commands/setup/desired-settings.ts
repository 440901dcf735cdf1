// Checks the settings and headers in a file for `apply` by the rules of a publish, with the header prefix of the
// service. Checks that depend on the account are in desired-limits.ts.

import type { HeaderList } from '../../../../server/src/rules/delivery/message.ts';
import { misspeltProblem } from '../../../../server/src/rules/publish/misspelt-settings.ts';
import {
  type HeaderRules,
  parsePublishSettings,
  scheduleOnlyProblem,
} from '../../../../server/src/rules/publish/publish-settings.ts';
import { isName, NAME_RULE } from '../../../../server/src/rules/requests/name.ts';
import { isForQstashClients } from '../../../../server/src/rules/requests/qstash.ts';
import type { ScheduleState, State, TopicState } from './desired-state.ts';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The problems, each with its place in the file. */
export function settingProblems({ topics = [], schedules = [] }: State, headerPrefix: string): string[] {
  return [
    ...topics.flatMap((topic, index) => wrongTopic(topic, `topics[${index}]`, headerPrefix)),
    ...schedules.flatMap((schedule, index) => wrongSchedule(schedule, `schedules[${index}]`, headerPrefix)),
  ];
}

function wrongTopic(topic: TopicState, at: string, headerPrefix: string): string[] {
  const { endpoints } = topic;
  const names = endpoints.flatMap(({ name }, index) => {
    const isRight = name === undefined || isName(name) || isForQstashClients(headerPrefix);
    return isRight ? [] : [`${at}.endpoints[${index}].name must have ${NAME_RULE}`];
  });
  const keys = endpoints.map(({ name, url }) => (name === undefined ? `url ${url}` : `name ${name}`));
  const twice = keys.some((key, index) => keys.indexOf(key) !== index);
  return [
    ...names,
    ...(twice ? [`${at}.endpoints: two of them have the same name or, without a name, the same URL`] : []),
    ...wrongHeaders(topicHeaders(topic), `${at}.headers`, headerPrefix, false),
  ];
}

export function topicHeaders({ headers = {} }: TopicState): HeaderList {
  return Object.entries(headers).flatMap(([name, values]) => [values].flat().map((each) => [name, each] as const));
}

function wrongSchedule(schedule: ScheduleState, at: string, headerPrefix: string): string[] {
  const { bodyBase64 = '' } = schedule;
  return [
    ...wrongHeaders(scheduleHeaders(schedule, headerPrefix), at, headerPrefix, true),
    ...(BASE64.test(bodyBase64) ? [] : [`${at}.bodyBase64 must be base64 with padding`]),
  ];
}

export function scheduleHeaders(
  { method, headers = {}, settings = {} }: ScheduleState,
  headerPrefix: string,
): HeaderList {
  const forwarded = Object.entries(headers).map(([name, value]) => {
    return [/^content-type$/i.test(name) ? name : `${headerPrefix}Forward-${name}`, value] as const;
  });
  const own = Object.entries(settings).map(([name, value]) => [headerPrefix + name, value] as const);
  return [...forwarded, ...own, ...(method === undefined ? [] : [[`${headerPrefix}Method`, method] as const])];
}

/** Rules for the format of headers, without limits for their number and size: these limits are the service's. */
export function headerRules(headerPrefix: string): HeaderRules {
  const most = Number.MAX_SAFE_INTEGER;
  return { headerPrefix, forwardHeadersMax: most, forwardHeaderBytesMax: most, hopsMax: most };
}

function wrongHeaders(headers: HeaderList, at: string, headerPrefix: string, isSchedule: boolean): string[] {
  const rules = headerRules(headerPrefix);
  const read = parsePublishSettings(headers, rules);
  if ('problem' in read) return [`${at}: ${read.problem.message}`];
  const wrong =
    (isSchedule ? null : scheduleOnlyProblem(read, rules)) ?? misspeltProblem(read.unknownNames, headerPrefix);
  return wrong === null ? [] : [`${at}: ${wrong.problem.message}`];
}
