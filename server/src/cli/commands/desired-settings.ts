// What the service would refuse of the settings and headers in a file for `apply`, by the rules of a publish and with the
// prefix of the service. The limits of the tier are known to the service alone.

import type { HeaderList } from '../../domain/message.ts';
import { misspeltProblem } from '../../domain/misspelt-settings.ts';
import { isName, NAME_RULE } from '../../domain/name.ts';
import { cronProblem, parsePublishSettings } from '../../domain/publish-settings.ts';
import { isForQstashClients } from '../../domain/qstash.ts';
import type { ScheduleState, State, TopicState } from './desired-state.ts';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Each problem starts with the place, as those of the form of the file do. */
export function wrongSettings({ topics = [], schedules = [] }: State, headerPrefix: string): string[] {
  return [
    ...topics.flatMap((topic, index) => wrongTopic(topic, `topics[${index}]`, headerPrefix)),
    ...schedules.flatMap((schedule, index) => wrongSchedule(schedule, `schedules[${index}]`, headerPrefix)),
  ];
}

function wrongTopic({ endpoints, headers = {} }: TopicState, at: string, headerPrefix: string): string[] {
  const names = endpoints.flatMap(({ name }, index) => {
    const isRight = name === undefined || isName(name) || isForQstashClients(headerPrefix);
    return isRight ? [] : [`${at}.endpoints[${index}].name must have ${NAME_RULE}`];
  });
  const keys = endpoints.map(({ name, url }) => (name === undefined ? `url ${url}` : `name ${name}`));
  const twice = keys.some((key, index) => keys.indexOf(key) !== index);
  const list = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((each) => [name, each] as const),
  );
  return [
    ...names,
    ...(twice ? [`${at}.endpoints: two of them have the same name or, without a name, the same URL`] : []),
    ...wrongHeaders(list, `${at}.headers`, headerPrefix, false),
  ];
}

function wrongSchedule(schedule: ScheduleState, at: string, headerPrefix: string): string[] {
  const { method, headers = {}, settings = {}, bodyBase64 = '' } = schedule;
  const forwarded = Object.entries(headers).map(([name, value]) => {
    return [/^content-type$/i.test(name) ? name : `${headerPrefix}Forward-${name}`, value] as const;
  });
  const own = Object.entries(settings).map(([name, value]) => [headerPrefix + name, value] as const);
  const all = [...forwarded, ...own, ...(method === undefined ? [] : [[`${headerPrefix}Method`, method] as const])];
  return [
    ...wrongHeaders(all, at, headerPrefix, true),
    ...(BASE64.test(bodyBase64) ? [] : [`${at}.bodyBase64 must be base64 with padding`]),
  ];
}

function wrongHeaders(headers: HeaderList, at: string, headerPrefix: string, isSchedule: boolean): string[] {
  const most = Number.MAX_SAFE_INTEGER;
  const rules = { headerPrefix, forwardHeadersMax: most, forwardHeaderBytesMax: most, hopsMax: most };
  const read = parsePublishSettings(headers, rules);
  if ('problem' in read) return [`${at}: ${read.problem.message}`];
  const wrong = (isSchedule ? null : cronProblem(read, rules)) ?? misspeltProblem(read.unknownNames, headerPrefix);
  return wrong === null ? [] : [`${at}: ${wrong.problem.message}`];
}
