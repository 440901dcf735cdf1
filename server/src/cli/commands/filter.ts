// The filters of a command as those of the API.

import type { MessageFilter } from 'postrider-sdk';
import type { Given } from '../frame/arguments.ts';

const LISTS = [
  ['state', 'state'],
  ['queue', 'queueName'],
  ['topic', 'topicName'],
  ['schedule', 'scheduleId'],
  ['label', 'label'],
  ['flow-key', 'flowControlKey'],
  ['to', 'url'],
  ['host', 'host'],
  ['status', 'responseStatus'],
  ['failure', 'failure'],
] as const;

export function filterOf(given: Given): MessageFilter {
  const lists = LISTS.flatMap(([flag, name]) => {
    const values = given.list(flag);
    if (values.length === 0) return [];
    return [[name, flag === 'state' ? values.map((each) => each.toUpperCase()) : values] as const];
  });
  const text = given.text('text');
  const [fromDate, toDate] = [given.time('from'), given.time('until')];
  return {
    ...(Object.fromEntries(lists) as MessageFilter),
    ...(text !== undefined && { text }),
    ...(fromDate !== undefined && { fromDate }),
    ...(toDate !== undefined && { toDate }),
  };
}
