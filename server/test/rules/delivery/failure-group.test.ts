import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FailureFact, groupFailures } from '../../../src/rules/delivery/failure-group.ts';

function fact(id: string, some: Partial<FailureFact> = {}): FailureFact {
  return {
    id,
    url: `https://a.example/${id}`,
    host: 'a.example:443',
    failure: 'the destination returned 500',
    lastStatus: 500,
    createdAt: 100,
    endedAt: 1000,
    ...some,
  };
}

test('dead letters of one host and one reason are one group, with the first and the last of them', () => {
  const [group, ...others] = groupFailures([
    fact('msg_1', { createdAt: 50, endedAt: 1000, lastStatus: 500 }),
    fact('msg_2', { createdAt: 10, endedAt: 3000, lastStatus: 501 }),
    fact('msg_3', { createdAt: 30, endedAt: 2000, lastStatus: 502 }),
    fact('msg_4', { createdAt: 70, endedAt: 500, lastStatus: 503 }),
    // At the same time as the latest so far: the one that was read first stays the sample.
    fact('msg_5', { createdAt: 70, endedAt: 3000, lastStatus: 504 }),
  ]);
  assert.deepEqual(others, []);
  assert.deepEqual(group, {
    host: 'a.example:443',
    failure: 'the destination returned 500',
    status: 501,
    count: 5,
    firstAt: 500,
    lastAt: 3000,
    createdAtMin: 10,
    sample: { id: 'msg_2', url: 'https://a.example/msg_2' },
  });
});

test('another host or another reason is another group', () => {
  const groups = groupFailures([
    fact('msg_1'),
    fact('msg_2', { host: 'b.example:443' }),
    fact('msg_3', { failure: 'the connection was refused', lastStatus: null }),
  ]);
  assert.equal(groups.length, 3);
});

test('the largest group comes first, and of equal ones the one that failed last', () => {
  const facts = [
    fact('msg_1', { host: 'old', endedAt: 1 }),
    fact('msg_2', { host: 'many', endedAt: 2 }),
    fact('msg_3', { host: 'many', endedAt: 3 }),
    fact('msg_4', { host: 'new', endedAt: 9 }),
  ];
  for (const order of [facts, facts.toReversed()]) {
    assert.deepEqual(
      groupFailures(order).map(({ host }) => host),
      ['many', 'new', 'old'],
    );
  }
});
