// Messages that wait for a parked host cost a claim nothing, however many they are: the same statements run, each by an
// index, and parking and resuming the host write as many rows.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Store } from '../../../src/store/ports/store.ts';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import { createSqliteStore } from '../../../src/store/sqlite/store.ts';
import { ACCOUNT, KEYS, limits, message, messages, NOW } from '../../conformance/given.ts';
import { claimDue } from '../../support/claim-due.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { RecordingDatabase } from '../recording-database.ts';
import { scratchDirectory } from '../scratch-directory.ts';
import { WatchedExecutor } from '../watched-executor.ts';

const HOST = 'a.example:443';
const [FEW, MANY] = [10, 10_000];
/** The row of the host, which is made and then written, the message that has the event, and the event. */
const ROWS_WRITTEN = 4;

interface Step {
  readonly runs: RecordingDatabase['runs'];
  readonly written: number;
}

/** What each step takes with so many messages that wait for the host. */
async function stepsWith(path: string, count: number): Promise<Map<string, Step>> {
  openDatabase(path).close();
  const database = new RecordingDatabase(path);
  const executor = new WatchedExecutor(database);
  const store = createSqliteStore({ executor, clock: new ManualClock(NOW), node: 'nod_a', onBroken: assert.fail });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  await store.accept(messages(count, { host: HOST, outage: 'park' }), NOW);
  const steps = new Map<string, Step>();
  const written = () => database.get<{ n: number }>('SELECT total_changes() AS n')!.n;
  const step = async (name: string, work: () => Promise<unknown>) => {
    const before = written();
    database.runs.length = 0;
    await work();
    const runs = [...database.runs];
    steps.set(name, { runs, written: written() - before });
  };
  await takeSteps(store, step);
  const sqls = new Set([...steps.values()].flatMap(({ runs }) => runs.map(({ sql }) => sql)));
  const problems = [...sqls].flatMap((sql) => database.walks(sql));
  database.close();
  assert.deepEqual(problems, []);
  return steps;
}

async function takeSteps(
  store: Store,
  step: (name: string, work: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const claims = (slots: number) => claimDue(store, NOW, limits({ parked: [[ACCOUNT, HOST, slots]] }));
  const claimed = async (slots: number) => (await claims(slots)).claims.length;
  await step('park', () => store.parkHost(ACCOUNT, HOST, NOW, 9, 9));
  await step('a claim that finds nothing else', async () => assert.equal(await claimed(0), 0));
  await store.accept([message({ host: HOST }), message({ host: HOST }), message({ host: 'b.example:443' })], NOW);
  await step('a claim of others', async () => assert.equal(await claimed(0), 3));
  await step('a probe', async () => assert.equal(await claimed(1), 1));
  await step('resume', () => store.resumeHost(ACCOUNT, HOST, NOW));
  const failures = { answers: 0, answeredAttemptAt: null, failures: 10, failingSince: NOW, hasFailedProbe: false };
  const news = { accountId: ACCOUNT, host: HOST, at: NOW, messageId: 'msg_unknown', ...failures };
  await step('failures', () => store.noteHosts([news], 9, 9));
  await step('owning', () => store.ownParked('nod_a', NOW, NOW + 1));
  await step('looking', () => store.listParked(9));
}

test('a claim runs the same statements whether few or many messages wait for a parked host', async (t) => {
  const folder = scratchDirectory(t);
  const few = await stepsWith(join(folder, 'few.db'), FEW);
  const many = await stepsWith(join(folder, 'many.db'), MANY);
  for (const [name, step] of few) {
    assert.ok(step.runs.length > 0, name);
    assert.deepEqual(many.get(name), step, name);
  }
  for (const name of ['park', 'resume', 'failures']) {
    const { written } = many.get(name)!;
    assert.ok(written > 0 && written <= ROWS_WRITTEN, `${name}: ${written} rows`);
  }
});
