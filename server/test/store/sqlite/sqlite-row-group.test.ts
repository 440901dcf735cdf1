// Rows that are inserted several at a time: every statement sees them, and a failure costs only the command that failed.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { Message, NewMessage } from '../../../src/rules/delivery/message.ts';
import type { AcceptReply } from '../../../src/store/shared/commands.ts';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import { Database } from '../../../src/store/sqlite/thread/database.ts';
import { type Command, createVerbs, type Reply, runBatch } from '../../../src/store/sqlite/thread/verbs.ts';
import {
  ACCOUNT,
  KEYS,
  KIB,
  message,
  messages,
  NOW,
  OK,
  OTHER_ACCOUNT,
  settlementOf,
} from '../../conformance/given.ts';

function openRows(t: TestContext) {
  const database = new Database(':memory:');
  t.after(() => database.close());
  database.exec('CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL); CREATE TABLE others (id INTEGER)');
  const count = (table = 'things') => database.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)!.n;
  return { database, count, things: database.group('things', ['id', 'name']) };
}

for (const many of [1, 7, 8, 9, 30]) {
  test(`a statement sees the ${many} rows that were added before it, and so does the next transaction`, (t) => {
    const { database, count, things } = openRows(t);
    database.transaction(() => {
      for (let id = 1; id <= many; id += 1) things.add(id, `name ${id}`);
      assert.equal(count(), many);
      things.add(many + 1, 'one more');
      assert.equal(database.run("UPDATE things SET name = 'other'"), many + 1);
      things.add(many + 2, 'the last');
    });
    assert.equal(count(), many + 2);
    assert.equal(database.get<{ name: string }>('SELECT name FROM things WHERE id = ?', many + 2)!.name, 'the last');
  });
}

test('a statement about another table does not end a group; one that goes beside the groups does not see it', (t) => {
  const { database, count, things } = openRows(t);
  database.transaction(() => {
    things.add(1, 'one');
    assert.equal(count('others'), 0);
    assert.equal(database.runWithoutGroups("UPDATE things SET name = 'other'"), 0);
    assert.equal(database.getWithoutGroups('SELECT 1 FROM things'), undefined);
    assert.equal(database.run("UPDATE things SET name = 'other'"), 1);
  });
});

test('a transaction that fails leaves no row, whether it was inserted already or not', (t) => {
  const { database, count, things } = openRows(t);
  const failing = (...ids: number[]) =>
    assert.throws(() =>
      database.transaction(() => {
        for (const id of ids) things.add(id, 'name');
        throw new Error('no');
      }),
    );
  failing(1, 2, 3);
  failing(1, 2, 3, 4, 5, 6, 7, 8, 9);
  assert.equal(count(), 0);
  const twice = () => {
    for (const id of [1, 2, 3, 4, 5, 6, 7, 7, 8]) things.add(id, 'name');
  };
  assert.throws(() => database.transaction(twice), /UNIQUE constraint failed/);
  assert.equal(count(), 0);
  database.transaction(() => things.add(1, 'name'));
  assert.equal(count(), 1);
});

test('a rollback that fails is done before the next transaction, and hides neither the first error nor a row', (t) => {
  const { database, count, things } = openRows(t);
  const { exec } = DatabaseSync.prototype;
  let failures = 2;
  t.mock.method(DatabaseSync.prototype, 'exec', function planted(this: DatabaseSync, sql: string) {
    if (sql === 'ROLLBACK' && failures > 0) {
      failures -= 1;
      throw new Error('out of memory');
    }
    exec.call(this, sql);
  });
  const adding = (id: number) => database.transaction(() => things.add(id, 'name'));
  assert.throws(
    () =>
      database.transaction(() => {
        for (let id = 1; id <= 9; id += 1) things.add(id, 'name');
        throw new Error('the first error');
      }),
    /the first error/,
  );
  assert.throws(() => adding(20), /out of memory/);
  adding(21);
  assert.equal(failures, 0);
  assert.equal(count(), 1);
});

function openStore(t: TestContext) {
  const database = openDatabase(':memory:');
  t.after(() => database.close());
  const verbs = createVerbs(database);
  for (const id of [ACCOUNT, OTHER_ACCOUNT]) {
    runBatch(database, verbs, [
      { verb: 'createAccount', args: [{ id, name: id, tier: 'free', createdAt: NOW }, KEYS] },
    ]);
  }
  const rows = () =>
    database.all<{ seq: number; id: string; steps: number }>(
      'SELECT seq, id, (SELECT count(*) FROM journal WHERE message_seq = m.seq) AS steps FROM messages m ORDER BY seq',
    );
  return { rows, run: (...commands: Command[]) => runBatch(database, verbs, commands) };
}

const accepting = (some: readonly NewMessage[], leases: readonly string[] = []): Command => ({
  verb: 'accept',
  args: [{ messages: some, leases, node: 'nod_a', now: NOW, dayMax: null }],
});

const isAccepted = (reply: Reply) => 'value' in reply;

test('a message that cannot be inserted fails alone; the others of its transaction are numbered in order', (t) => {
  const { rows, run } = openStore(t);
  const all = messages(12);
  const commands = all.map((each) => accepting([each]));
  const replies = run(...commands.slice(0, 5), accepting([all[2]!]), ...commands.slice(5));
  assert.deepEqual(replies.map(isAccepted), [true, true, true, true, true, false, ...new Array(7).fill(true)]);
  assert.deepEqual(
    rows().map(({ id, steps }) => [id, steps]),
    all.map(({ id }) => [id, 1]),
  );
});

test('messages of all kinds in one transaction get the numbers of their order, and the rows that belong to them', (t) => {
  const { rows, run } = openStore(t);
  const all = [
    message(),
    message({ accountId: OTHER_ACCOUNT }),
    message({ labels: ['one', 'two'] }),
    message({ body: Buffer.alloc(100 * KIB) }),
    message({ queueName: 'orders', orderKey: 'a' }),
    message({ deduplication: { key: 'k', expiresAt: NOW + 1 } }),
    ...messages(9),
  ];
  run(...all.slice(0, 8).map((each) => accepting([each])), accepting(all.slice(8)));
  assert.deepEqual(
    rows(),
    all.map(({ id }, index) => ({ __proto__: null, seq: index + 1, id, steps: 1 })),
  );
});

test('an end in the transaction of its acceptance is written', (t) => {
  const { rows, run } = openStore(t);
  const one = message();
  const claimed = { ...one, state: 'claimed', retried: 0, interrupted: 0, aloneAtCrash: 0, attempts: 0 };
  const claim = { lease: 'lease', message: claimed as unknown as Message, tier: 'free', signingKey: 'key' } as const;
  const end = settlementOf({ ...claim, isPlain: true, row: 1 }, OK, NOW + 1);
  const [accepted, settled] = run(accepting([one], ['lease']), { verb: 'settle', args: [[end], NOW + 1, null] });
  assert.deepEqual(((accepted as { value: unknown }).value as AcceptReply).rows, [1]);
  assert.deepEqual((settled as { value: { results: unknown } }).value.results, ['settled']);
  assert.equal(rows()[0]!.steps, 2);
});
