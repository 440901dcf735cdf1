// Which commands a group on PostgreSQL takes when more wait than one transaction should hold.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Committer } from '../../../src/store/postgres/groups/committer.ts';
import { NOW } from '../../conformance/given.ts';
import { ManualClock } from '../../support/manual-clock.ts';

interface Command {
  readonly accountId: string;
  readonly units: number;
  readonly number: number;
}

let clock: ManualClock;
let groups: Command[][];
let commits: [tookMs: number, calls: number][];
/** How long a message of each account takes. */
let msOf: (accountId: string) => number;
let committer: Committer<Command, null>;

beforeEach(() => {
  clock = new ManualClock(NOW);
  groups = [];
  commits = [];
  msOf = () => 0.05;
  committer = new Committer({
    run: async (commands) => {
      groups.push([...commands]);
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(commands.reduce((sum, { accountId, units }) => sum + units * msOf(accountId), 0));
      return commands.map(() => null);
    },
    sizeOf: ({ units }) => units / 1000,
    sizeMax: 1,
    byAccount: { workOf: (command) => command },
    nowMs: () => clock.monotonicMs(),
    onCommit: (tookMs, calls) => commits.push([tookMs, calls]),
  });
});

function callMany(accountId: string, units: number, count: number): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, (_, number) => committer.call({ accountId, units, number })));
}

const numbersOf = (accountId: string) =>
  groups.flat().flatMap((command) => (command.accountId === accountId ? [command.number] : []));

test('a small request is in the next group, whatever another account has waiting', async () => {
  const many = callMany('acc_a', 500, 100);
  await null;
  await null;
  await callMany('acc_b', 1, 1);
  const at = groups.findIndex((group) => group.some(({ accountId }) => accountId === 'acc_b'));
  assert.ok(at <= 1, `it was in group ${at}`);
  assert.ok(groups.slice(0, at + 1).flat().length <= 5);
  await many;
  assert.deepEqual(numbersOf('acc_a'), [...Array(100).keys()], 'those of an account stay in order');
});

test('accounts share the time, not the number of messages', async () => {
  msOf = (accountId) => (accountId === 'acc_dear' ? 0.5 : 0.05);
  const dear = callMany('acc_dear', 100, 200);
  const cheap = callMany('acc_cheap', 100, 2000);
  await Promise.all([dear, cheap]);
  const half = groups.slice(0, Math.floor(groups.length / 2)).flat();
  const used = { acc_dear: 0, acc_cheap: 0 };
  for (const { accountId, units } of half) used[accountId as keyof typeof used] += units * msOf(accountId);
  assert.ok(used.acc_dear < 2 * used.acc_cheap && used.acc_cheap < 2 * used.acc_dear, JSON.stringify(used));
});

test('what fits into one transaction goes together, and is reported as one commit', async () => {
  await Promise.all([callMany('acc_a', 1, 300), callMany('acc_b', 1, 300)]);
  assert.deepEqual(
    groups.map((group) => group.length),
    [600],
  );
  assert.deepEqual(
    commits.map(([tookMs, calls]) => [Math.round(tookMs), calls]),
    [[30, 600]],
  );
});

test('a database that stood still during a group makes the publishes of its accounts dear for a moment only', async () => {
  await callMany('acc_a', 1, 100);
  msOf = () => 50;
  await callMany('acc_a', 1, 100);
  msOf = () => 0.05;
  await callMany('acc_a', 1, 100);
  groups.length = 0;
  await callMany('acc_a', 1, 100);
  assert.deepEqual(
    groups.map((group) => group.length),
    [100],
  );
});
