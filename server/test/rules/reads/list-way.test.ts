// Which index a list goes through.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { chooseListIndex, HOSTS_MAX, type ListIndex, listIndexByHosts } from '../../../src/rules/reads/list-way.ts';
import { type MessageFilter, SHOWN_STATES } from '../../../src/rules/reads/message-filter.ts';

/** From what few messages have to what many have. */
const IN_ORDER: readonly (readonly [MessageFilter, ListIndex])[] = [
  [{ messageIds: ['m', 'm', 'n'] }, { by: 'id', values: ['m', 'n'] }],
  [{ labels: ['l'] }, { by: 'label', values: ['l'] }],
  [{ sourceMessageIds: ['s'] }, { by: 'source_message_id', values: ['s'] }],
  [{ scheduleIds: ['s'] }, { by: 'schedule_id', values: ['s'] }],
  [{ flowKeys: ['k'] }, { by: 'flow_key', values: ['k'] }],
  [
    { debounceKeys: ['k'], states: ['CREATED'] },
    { by: 'debounce_key', values: ['k'] },
  ],
  [{ states: ['FAILED'], isRetried: false }, { by: 'unretried' }],
  [{ states: ['FAILED', 'FAILED'] }, { by: 'endedBadly', states: ['failed'] }],
  [{ states: ['HELD'] }, { by: 'held' }],
  [{ states: ['RETRY', 'HELD'] }, { by: 'open' }],
  [{ queueNames: ['q'] }, { by: 'queue_name', values: ['q'] }],
  [{ topicNames: ['t'] }, { by: 'topic_name', values: ['t'] }],
  [{ urls: ['https://h.example/x', 'no url'] }, { by: 'host', values: ['h.example:443', ''] }],
  [{ hosts: ['h'] }, { by: 'hostOnAnyPort', values: ['h'] }],
  [{ states: ['DELIVERED', 'FAILED'] }, { by: 'account' }],
  [{ states: [] }, { by: 'account' }],
  [{}, { by: 'account' }],
];

test('each key of a filter has its way', () => {
  for (const [filter, way] of IN_ORDER) assert.deepEqual(chooseListIndex(filter), way, JSON.stringify(filter));
  assert.deepEqual(chooseListIndex({ states: ['CANCELLED', 'FAILED'] }), {
    by: 'endedBadly',
    states: ['cancelled', 'failed'],
  });
});

test('of two keys, the one that fewer messages have decides', () => {
  for (const [index, [filter, way]] of IN_ORDER.entries()) {
    for (const [other] of IN_ORDER.slice(index + 1)) {
      assert.deepEqual(chooseListIndex({ ...other, ...filter }), way, JSON.stringify({ ...other, ...filter }));
    }
  }
});

test('a way by states leads to every state that the filter names', () => {
  const reached: Partial<Record<ListIndex['by'], readonly string[]>> = {
    unretried: ['FAILED'],
    held: ['HELD'],
    open: ['CREATED', 'ACTIVE', 'RETRY', 'HELD', 'CANCEL_REQUESTED'],
    account: SHOWN_STATES,
  };
  const filters = fc.record({
    states: fc.subarray([...SHOWN_STATES]),
    isRetried: fc.constantFrom(true, false, 'any' as const),
  });
  fc.assert(
    fc.property(filters, (filter) => {
      const way = chooseListIndex(filter);
      const states = way.by === 'endedBadly' ? way.states.map((state) => state.toUpperCase()) : reached[way.by]!;
      for (const state of filter.states) assert.ok(states.includes(state), `${state} by ${way.by}`);
    }),
  );
});

test('a host on too many ports is looked for among all messages of the account', () => {
  const hosts = Array.from({ length: HOSTS_MAX }, (_, port) => `h:${port}`);
  assert.deepEqual(listIndexByHosts(hosts), { by: 'host', values: hosts });
  assert.deepEqual(listIndexByHosts([...hosts, 'h:x']), { by: 'account' });
});
