import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CostEstimates, type PendingWork, WriterTurns, workUnitsOf } from '../../../src/rules/limits/turns.ts';

const BUDGET = 100;

const asked = (accountId: string, cost: number, line = 'one'): PendingWork => ({ accountId, line, cost });

/** Asks again and again, until nothing waits. Returns what was served in each round. */
function serve(
  turns: WriterTurns,
  waiting: readonly PendingWork[],
  arriving: (round: number) => readonly PendingWork[] = () => [],
) {
  const rounds: PendingWork[][] = [];
  let left = [...waiting];
  for (let round = 0; left.length > 0; round += 1) {
    const chosen = new Set(turns.choose(left, BUDGET));
    rounds.push(left.filter((_, index) => chosen.has(index)));
    left = [...left.filter((_, index) => !chosen.has(index)), ...arriving(round)];
  }
  return rounds;
}

const costOf = (some: readonly PendingWork[]) => some.reduce((sum, { cost }) => sum + cost, 0);

test('all that fits goes together, and nothing is remembered', () => {
  const turns = new WriterTurns();
  assert.deepEqual(
    turns.choose([asked('a', 25), asked('b', 25), asked('a', 25), asked('c', 25)], BUDGET),
    [0, 1, 2, 3],
  );
  assert.deepEqual(turns.choose([asked('a', 50), asked('a', 50)], BUDGET), [0, 1]);
  assert.equal(turns.size, 0);
});

test('a long piece does not follow those of others, which would wait for its end', () => {
  const turns = new WriterTurns();
  const small = asked('b', 1);
  const long = asked('a', 26);
  assert.deepEqual(turns.choose([small, long], BUDGET), [0]);
  // It came first, and b has used more.
  assert.deepEqual(turns.choose([long, small], BUDGET), [0, 1]);
  // Now a has used more, although all would fit.
  assert.deepEqual(turns.choose([long, small, small], BUDGET), [1, 2]);
  assert.deepEqual(turns.choose([long, small], BUDGET), [1]);
  assert.deepEqual(turns.choose([long], BUDGET), [0]);
});

test('what an account asked for behind a long piece stays behind it', () => {
  const turns = new WriterTurns();
  assert.deepEqual(turns.choose([asked('b', 1), asked('a', 26), asked('a', 1), asked('c', 1)], BUDGET), [0, 3]);
});

test('long pieces of one account go together', () => {
  const turns = new WriterTurns();
  turns.charge('b', 100);
  assert.deepEqual(turns.choose([asked('a', 30), asked('a', 30), asked('b', 1)], BUDGET), [0, 1, 2]);
});

test('a long piece goes next when the others have used as much, however many of theirs wait', () => {
  const turns = new WriterTurns();
  const rounds = serve(turns, [asked('a', 80), asked('a', 80)], (round) => (round < 200 ? [asked('b', 1)] : []));
  const at = rounds.flatMap((round, index) => (round.some(({ accountId }) => accountId === 'a') ? [index] : []));
  assert.equal(at[0], 0);
  assert.ok(at[1]! >= 80 && at[1]! <= 85, `${at[1]}`);
});

test('an account that asks for little waits for one round of one that asks for very much', () => {
  const turns = new WriterTurns();
  const much = Array.from({ length: 1000 }, () => asked('a', 90));
  const rounds = serve(turns, much, (round) => (round % 3 === 0 && round < 90 ? [asked('b', 1)] : []));
  rounds.slice(0, 90).forEach((served, round) => {
    if (round % 3 === 1)
      assert.ok(
        served.some(({ accountId }) => accountId === 'b'),
        `round ${round}`,
      );
  });
});

test('accounts that ask for much get the same time, whatever each of their requests takes', () => {
  const turns = new WriterTurns();
  const waiting = [
    ...Array.from({ length: 400 }, () => asked('dear', 10)),
    ...Array.from({ length: 4000 }, () => asked('cheap', 1)),
  ];
  const used = { dear: 0, cheap: 0 };
  for (const served of serve(turns, waiting).slice(0, 40)) {
    for (const { accountId, cost } of served) used[accountId as keyof typeof used] += cost;
    assert.ok(Math.abs(used.dear - used.cheap) <= 2 * 10, JSON.stringify(used));
  }
});

test('nobody saves up time by asking for nothing', () => {
  const turns = new WriterTurns();
  const always = Array.from({ length: 300 }, () => asked('always', 50));
  const late = Array.from({ length: 100 }, () => asked('late', 50));
  const rounds = serve(turns, always, (round) => (round === 50 ? late : []));
  const both = rounds.slice(51, 90).flat();
  const own = both.filter(({ accountId }) => accountId === 'late').length;
  assert.ok(Math.abs(own - both.length / 2) <= 2, `${own} of ${both.length}`);
});

test('what took longer than expected is made up for', () => {
  const turns = new WriterTurns();
  const left = (accountId: string) => Array.from({ length: 100 }, () => asked(accountId, 10));
  turns.choose([...left('a'), ...left('b')], BUDGET);
  turns.charge('a', 200);
  for (let round = 0; round < 2; round += 1) {
    const waiting = [...left('a'), ...left('b')];
    assert.ok(turns.choose(waiting, BUDGET).every((index) => waiting[index]!.accountId === 'b'));
  }
});

const requests = fc.array(
  fc.record({
    accountId: fc.constantFrom('a', 'b', 'c', 'd'),
    line: fc.constantFrom('one', 'two'),
    cost: fc.integer({ min: 1, max: 3 * BUDGET }),
  }),
  { minLength: 1, maxLength: 60 },
);

test('for any requests: each is served once, those of a line in order, and a round is no longer than it may be', () => {
  fc.assert(
    fc.property(requests, requests, (first, second) => {
      const turns = new WriterTurns();
      const rounds = serve(turns, first, (round) => (round === 1 ? second : []));
      const served = rounds.flat();
      const expected = rounds.length > 2 || served.length > first.length ? [...first, ...second] : first;
      assert.equal(new Set(served).size, served.length);
      assert.ok(served.length === first.length || served.length === expected.length);
      for (const id of new Set(served.map(({ line, accountId }) => `${line} ${accountId}`))) {
        const inLine = ({ line, accountId }: PendingWork) => `${line} ${accountId}` === id;
        const asGiven = [...first, ...second].filter(inLine).slice(0, served.filter(inLine).length);
        assert.ok(served.filter(inLine).every((each, index) => each === asGiven[index]));
      }
      for (const round of rounds) assert.ok(costOf(round) <= BUDGET || round.length === 1);
      assert.ok(turns.size <= 4);
    }),
  );
});

test('for any other requests: a small one waits for no more of the others’ work than one round and one request of each', () => {
  fc.assert(
    fc.property(requests, fc.nat({ max: 20 }), (others, after) => {
      const turns = new WriterTurns();
      const small = asked('new', 1);
      const rounds = serve(turns, others, (round) => (round === after ? [small] : []));
      const at = rounds.findIndex((round) => round.includes(small));
      if (at === -1) return;
      const between = costOf(rounds.slice(after + 1, at).flat());
      assert.ok(between <= 4 * 2 * 3 * BUDGET, `${between}`);
    }),
  );
});

test('what an account’s work takes is learned, and the account that was seen longest ago is forgotten', () => {
  const costs = new CostEstimates(10, 2);
  assert.equal(costs.of('a', 3), 30);
  for (let times = 0; times < 50; times += 1) costs.note('a', 2, 200);
  assert.ok(Math.abs(costs.of('a', 1) - 100) < 1);
  costs.note('b', 1, 10);
  costs.note('a', 1, 100);
  costs.note('c', 1, 10);
  assert.equal(costs.size, 2);
  assert.ok(costs.of('a', 1) > 90);
});

test('a round holds exactly its budget, in the order in which it was asked', () => {
  const turns = new WriterTurns();
  const all = (costs: Record<string, number>) => Object.entries(costs).map(([id, cost]) => asked(id, cost));
  assert.deepEqual(turns.choose(all({ a: 25, b: 25, c: 25, d: 25, e: 25 }), BUDGET), [0, 1, 2, 3]);
  // The account that has used least goes first, and what is chosen is told in the order in which it came.
  assert.deepEqual(turns.choose(all({ a: 25, e: 25, b: 25, f: 25, c: 25 }), BUDGET), [0, 1, 2, 3]);
  turns.charge('a', 10);
  assert.deepEqual(turns.choose(all({ a: 25, b: 25, c: 25, d: 24, g: 25, h: 1 }), BUDGET), [1, 2, 3, 4, 5]);
});

test('an account is remembered only while it is ahead of the others', () => {
  const turns = new WriterTurns();
  turns.choose([asked('a', 100), asked('b', 100)], BUDGET);
  assert.equal(turns.size, 1);
  turns.choose([asked('b', 200), asked('c', 10)], BUDGET);
  assert.ok(turns.size <= 2);
  turns.charge('e', 5);
  const before = turns.size;
  turns.charge('e', -5);
  assert.equal(turns.size, before - 1, 'one that owes nothing is forgotten');
  turns.charge('f', 0);
  assert.equal(turns.size, before - 1);
});

test('an account that the others have caught up with is forgotten', () => {
  const turns = new WriterTurns();
  for (const [first, second] of ['ab', 'bc', 'ca']) turns.choose([asked(first!, 100), asked(second!, 100)], BUDGET);
  assert.equal(turns.size, 3);
  // a begins where b and c end.
  turns.choose([asked('a', 100), asked('b', 100)], BUDGET);
  assert.equal(turns.size, 1);
});

test('after a hundred choices in a row in which all fitted, nobody owes anything', () => {
  const turns = new WriterTurns();
  const both = [asked('a', 90), asked('b', 90)];
  const calm = (times: number) => {
    for (let time = 0; time < times; time += 1) turns.choose([asked('c', 1)], BUDGET);
  };
  turns.choose(both, BUDGET);
  calm(99);
  assert.equal(turns.isCalm, false);
  assert.deepEqual(turns.choose(both, BUDGET), [1], 'a has just had its turn');
  calm(100);
  assert.equal(turns.isCalm, true);
  assert.deepEqual(turns.choose(both, BUDGET), [0], 'who asked first goes first again');
});

test('work that arrives just after a second long piece comes before it, though little was pending in between', () => {
  const turns = new WriterTurns();
  const long = asked('a', 200);
  assert.deepEqual(turns.choose([long], BUDGET), [0]);
  assert.deepEqual(turns.choose([asked('b', 1)], BUDGET), [0]);
  assert.deepEqual(turns.choose([long, asked('b', 1)], BUDGET), [1]);
  assert.deepEqual(turns.choose([long], BUDGET), [0], 'and then it does not wait any longer');
});

test('work of no units teaches nothing', () => {
  const costs = new CostEstimates(10);
  costs.note('a', 0, 1000);
  assert.deepEqual([costs.size, costs.of('a', 1)], [0, 10]);
});

test('what is known to have taken less lowers what is expected, but not below that of an unknown account', () => {
  const costs = new CostEstimates(10);
  assert.equal(costs.noteLess('a', 1, 1), false);
  assert.deepEqual([costs.size, costs.of('a', 1)], [0, 10]);
  costs.note('a', 1, 4010);
  assert.equal(costs.of('a', 1), 1010);
  assert.equal(costs.noteLess('a', 2, 2 * 1010), false, 'it was expected');
  assert.equal(costs.noteLess('a', 0, 1), false);
  assert.equal(costs.noteLess('a', 2, 1220), true);
  assert.equal(costs.of('a', 1), 910);
  for (let times = 0; times < 100; times += 1) costs.noteLess('a', 1, 1);
  assert.ok(Math.abs(costs.of('a', 1) - 10) < 1e-6);
});

test('a large body is as much work as many small messages, and a small one as much as none', () => {
  assert.equal(workUnitsOf(1, 0), 1);
  assert.equal(workUnitsOf(1, 8191), 1);
  assert.equal(workUnitsOf(1, 8192), 2);
  assert.equal(workUnitsOf(1, 1_000_000), 123);
});
