// No statement walks through the messages: every one the verbs use is explained by SQLite itself and must go by an
// index, so that the millionth message costs what the first did.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Topic } from '../../src/domain/topic.ts';
import { Database } from '../../src/store/sqlite/database.ts';
import { openDatabase } from '../../src/store/sqlite/open.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { createVerbs } from '../../src/store/sqlite/verbs.ts';
import {
  ACCOUNT,
  callbackTo,
  ERROR,
  KEYS,
  limits,
  message,
  messages,
  NOW,
  OK,
  QUEUE,
  queued,
  SECOND,
  settlementOf,
} from '../conformance/given.ts';
import { ManualClock } from '../manual-clock.ts';
import { scratchDirectory } from './scratch-directory.ts';
import { WatchedExecutor } from './watched-executor.ts';

class RecordingDatabase extends Database {
  readonly statements = new Set<string>();

  override all<T>(sql: string, ...values: Parameters<Database['all']>[1][]): T[] {
    this.statements.add(sql);
    return super.all<T>(sql, ...values);
  }

  override get<T>(sql: string, ...values: Parameters<Database['get']>[1][]): T | undefined {
    this.statements.add(sql);
    return super.get<T>(sql, ...values);
  }

  override run(sql: string, ...values: Parameters<Database['run']>[1][]): number {
    this.statements.add(sql);
    return super.run(sql, ...values);
  }

  plan(sql: string): string[] {
    return super.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => detail);
  }
}

/** Tables that grow with the messages; the others have as many rows as somebody has made by hand. */
const LARGE = /\b(?:messages|attempts|queues|usage)\b/;

/** Says so itself that it reads every row, and is asked by no request. */
const COUNT_ALL = /^SELECT state, count\(\*\) AS n FROM messages GROUP BY state$/;

test('every statement goes by an index', async (t) => {
  const path = join(scratchDirectory(t), 'postrider.db');
  openDatabase(path).close();
  const database = new RecordingDatabase(path);
  const executor = new WatchedExecutor(database);
  await useEveryVerb(executor);
  const unused = Object.keys(createVerbs(database)).filter((verb) => !executor.batches.flat().includes(verb));
  assert.deepEqual(unused, [], 'a verb whose statements are not seen here');

  const statements = [...database.statements].filter((sql) => !COUNT_ALL.test(sql));
  assert.ok(statements.length > 40, `only ${statements.length} statements were seen`);
  const problems = statements.flatMap((sql) => {
    const text = sql.replaceAll(/\s+/g, ' ');
    return database
      .plan(sql)
      .filter((step) => isWalk(step, text))
      .map((step) => `${step} in: ${text}`);
  });
  database.close();
  assert.deepEqual(problems, []);
});

/** A search by an index is none; nor is looking at the first row of an index that holds only what is wanted. */
function isWalk(step: string, sql: string): boolean {
  if (!step.startsWith('SCAN') || !LARGE.test(step)) return false;
  const isFirstOfPartialIndex = /USING (?:COVERING )?INDEX (?:messages_(?:ready|delayed)|queues_next_start)$/.test(
    step,
  );
  return !(isFirstOfPartialIndex && /\bLIMIT 1$/.test(sql));
}

test('a statement that would walk is found', () => {
  const database = new RecordingDatabase(':memory:');
  database.exec('CREATE TABLE messages (a, b); CREATE INDEX messages_b ON messages (b);');
  for (const sql of ['SELECT * FROM messages WHERE a = 1', 'SELECT b FROM messages ORDER BY b LIMIT 1']) {
    assert.ok(
      database.plan(sql).some((step) => isWalk(step, sql)),
      sql,
    );
  }
  assert.ok(!database.plan('SELECT * FROM messages WHERE b = 1').some((step) => isWalk(step, '')));
  database.close();
});

/** Takes the store through everything it does, so that every statement is used at least once. */
async function useEveryVerb(executor: WatchedExecutor): Promise<void> {
  const onBroken = (error: Error) => assert.fail(error);
  const clock = new ManualClock(NOW);
  const store = createSqliteStore({ executor, clock, node: 'nod_a', onBroken });
  const claim = async (now: number) => (await store.claimDue({ node: 'nod_a', now, limits: limits() })).claims;

  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  await Promise.all([store.getAccount(ACCOUNT), store.listAccounts(), store.setTier(ACCOUNT, 'paid')]);
  await Promise.all([store.getSigningKeys(ACCOUNT), store.rotateSigningKeys(ACCOUNT, KEYS.next, 'sig_fresh')]);
  const token = { id: 'tok_1', accountId: ACCOUNT, name: 'ci', scopes: [], createdAt: NOW, revokedAt: null };
  await store.createToken(token, new Uint8Array(32));
  await Promise.all([store.findToken(new Uint8Array(32)), store.listTokens(ACCOUNT)]);
  await store.revokeToken(ACCOUNT, 'tok_1', NOW);

  const endpoints = [{ name: null, url: 'https://a.example/' }];
  const topic: Topic = {
    id: 'tpc_1',
    accountId: ACCOUNT,
    name: 't',
    endpoints,
    createdAt: 0,
    updatedAt: 0,
    version: 0,
  };
  await store.saveTopic(topic);
  await store.saveTopic({ ...topic, version: 1 });
  await Promise.all([store.getTopic(ACCOUNT, 't'), store.getTopic(ACCOUNT, 'tpc_1'), store.listTopics(ACCOUNT)]);
  await store.saveTopic({ ...topic, endpoints: [], version: 2 });

  await store.saveQueue(ACCOUNT, QUEUE, { parallelism: 3 }, NOW);
  const called = message({ callback: callbackTo('https://back.example/'), retriesMax: 0 });
  await store.accept([called, ...messages(3), message({ dueAt: NOW + 5 })], NOW);
  await store.accept([queued(), queued(), queued(), queued({ dueAt: NOW + 5 })], NOW);
  await store.heartbeat('nod_a', SECOND);
  const claims = await claim(NOW);
  assert.equal(claims.length, 7);
  await store.settle(
    claims.slice(0, 6).map((each, index) => settlementOf(each, index % 2 === 0 ? ERROR : OK, NOW)),
    NOW,
  );
  await store.release([claims[6]!.lease], NOW);
  await store.saveQueue(ACCOUNT, QUEUE, { isPaused: true }, NOW);
  await store.saveQueue(ACCOUNT, QUEUE, { isPaused: false, parallelism: 1 }, NOW);
  await Promise.all([store.getQueue(ACCOUNT, QUEUE), store.listQueues(ACCOUNT)]);
  await claim(NOW + 5);
  await claim(NOW + SECOND);
  await store.accept([message()], NOW + SECOND); // leased at once
  clock.advance(2 * SECOND);
  assert.notEqual((await store.orphanedClaims('nod_b', 10)).length, 0);
  await store.getMessage(ACCOUNT, called.id);
  const ids = claims.map((each) => each.message.id);
  await store.cancel(ACCOUNT, ids, NOW, NOW);
  await Promise.all([store.deleteExpired(NOW, 10), store.counts(), store.usage(ACCOUNT, '2026-01-01', '2026-01-02')]);
}
