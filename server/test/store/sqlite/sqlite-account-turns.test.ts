// What the committer of SQLite expects of an account’s commands, over real transactions with a clock that the test moves.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setLanesOfNode } from '../../../src/runtime/lane-part.ts';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import { Committer } from '../../../src/store/sqlite/thread/committer.ts';
import { SharedTransactions } from '../../../src/store/sqlite/thread/shared-transaction.ts';
import { createVerbs } from '../../../src/store/sqlite/thread/verbs.ts';
import { ACCOUNT, KEYS, message, NOW } from '../../conformance/given.ts';

/** Each command and each commit takes `msOf`. */
function open(t: TestContext, msOf: () => number) {
  const database = openDatabase(':memory:');
  t.after(() => database.close());
  const verbs = createVerbs(database);
  verbs.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  let nowMs = 0;
  const shared = new SharedTransactions(database, verbs, () => {
    nowMs += msOf();
    return nowMs;
  });
  const sizes: number[] = [];
  const executor = {
    async execute(...[commands, , onTook]: Parameters<ConstructorParameters<typeof Committer>[0]['execute']>) {
      sizes.push(commands.length);
      const [ran] = shared.run([commands]);
      if (ran!.took) onTook?.(ran!.took);
      return ran!.replies;
    },
    async close() {},
  };
  const committer = new Committer(executor, 'nod_a', assert.fail);
  const publish = () =>
    committer.call('accept', { messages: [message()], leases: [], node: 'nod_a', now: NOW, dayMax: null });
  const publishMany = async (count: number) => {
    sizes.length = 0;
    await Promise.all(Array.from({ length: count }, publish));
    return [...sizes];
  };
  return { publishMany };
}

for (const lanes of [1, 4]) {
  test(`a machine that stood still during a publish makes its account’s publishes dear for a moment only (${lanes} lanes)`, async (t) => {
    setLanesOfNode(lanes);
    t.after(() => setLanesOfNode(1));
    let ms = 0.01;
    const { publishMany } = open(t, () => ms);
    assert.deepEqual(await publishMany(40), [40]);
    ms = 2000;
    await publishMany(1);
    ms = 0.01;
    await publishMany(100);
    assert.deepEqual(await publishMany(40), [40], 'all of them share a transaction again');
  });
}
