// A filter by each thing a message has, and some by several: every way there is to find messages.

import type { MessageFilter } from '../../src/rules/reads/message-filter.ts';

export const FILTERS: readonly MessageFilter[] = [
  {},
  { messageIds: ['msg_1', 'msg_2'] },
  { states: ['FAILED'] },
  { states: ['CANCELLED', 'FAILED'] },
  { states: ['CREATED', 'ACTIVE', 'RETRY'] },
  { states: ['HELD'] },
  { states: ['DELIVERED'] },
  { urls: ['https://h1.example/1'] },
  { hosts: ['h1.example:443'] },
  { hosts: ['h1.example', 'h2.example'] },
  { paths: ['/1'] },
  { queueNames: ['q1', 'q2'] },
  { topicNames: ['t1'] },
  { scheduleIds: ['scd_1'] },
  { labels: ['l1', 'l2'] },
  { sourceMessageIds: ['msg_1'] },
  { failures: ['the destination returned 500'], states: ['FAILED'] },
  { flowKeys: ['f1'] },
  { debounceKeys: ['d1'] },
  { callerIps: ['192.0.2.1'] },
  { statuses: [500] },
  { fromAt: 1, toAt: 2 },
  { text: 'needle' },
  { labels: ['l1'], states: ['FAILED'], hosts: ['h1.example'] },
  { queueNames: ['q1'], states: ['DELIVERED'] },
  { topicNames: ['t1'], fromAt: 1 },
];
