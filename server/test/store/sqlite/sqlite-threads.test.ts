// What can go wrong between the threads of a SQLite store: a command that cannot cross, a reader that ends, and a part of
// the file that cannot be read. None of them ends the process, and nobody else is concerned.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import type { MessageFilter } from '../../../src/rules/reads/message-filter.ts';
import { countMatching } from '../../../src/store/ports/count-in-pieces.ts';
import type { PageRequest } from '../../../src/store/ports/message-store.ts';
import { type Store, StoreUnavailable } from '../../../src/store/ports/store.ts';
import { DATABASE_FILE } from '../../../src/store/sqlite/files/directory.ts';
import { createSqliteStore } from '../../../src/store/sqlite/store.ts';
import { threadExecutor } from '../../../src/store/sqlite/thread/executor.ts';
import { Reader } from '../../../src/store/sqlite/thread/reader.ts';
import { ReadsUnderWay } from '../../../src/store/sqlite/thread/reads-under-way.ts';
import { ACCOUNT, KEYS, message, NOW } from '../../conformance/given.ts';
import { countStates } from '../../support/count-states.ts';
import { lacks } from '../../support/machine.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { waitFor } from '../../support/wait.ts';
import { damage } from '../damage.ts';
import { scratchDirectory } from '../scratch-directory.ts';

const PAGE: PageRequest = { limit: 10, cursor: null, order: 'newestFirst', withBodies: true };
const LONG_MS = 60_000;

interface Opened {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly broken: Error[];
  readonly logged: string[];
  /** The writer's thread, the reader's, and those that were started after it. */
  readonly threads: Worker[];
}

async function open(t: TestContext, directory = scratchDirectory(t)): Promise<Opened> {
  const broken: Error[] = [];
  const logged: string[] = [];
  const threads: Worker[] = [];
  const noteThread = (worker: Worker) => threads.push(worker);
  process.on('worker', noteThread);
  const clock = new ManualClock(NOW);
  const underWay = new ReadsUnderWay(directory, async () => {});
  const newReader = () => new Reader({ directory, underWay, timers: clock, log: (_, __, text) => logged.push(text) });
  const store = createSqliteStore({
    executor: await threadExecutor(directory),
    readers: { lookUp: newReader(), list: newReader() },
    clock,
    node: 'nod_a',
    onBroken: (error) => broken.push(error),
  });
  t.after(async () => {
    await store.close();
    process.off('worker', noteThread);
  });
  return { store, clock, broken, logged, threads };
}

/** What no thread can be given, in the clothes of what it is asked for. */
function uncloneable<T>(): T {
  return (() => {}) as unknown as T;
}

const isUnavailable = (error: unknown) => error instanceof StoreUnavailable && error.reason === 'unavailable';

async function logs(logged: readonly string[], text: string): Promise<void> {
  while (!logged.includes(text)) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** The first list starts it. */
async function startReader(store: Store, threads: readonly Worker[]): Promise<void> {
  assert.equal(threads.length, 1);
  await store.searchMessages(ACCOUNT, {}, PAGE);
  assert.equal(threads.length, 2);
}

test('lists that are asked for at once start one reader; a store that is closed while it starts closes it too', async (t) => {
  const { store, broken, logged, threads } = await open(t);
  await store.accept([message()], NOW);
  assert.equal(threads.length, 1, 'none before the first list');
  const asked = [store.searchMessages(ACCOUNT, {}, PAGE), countMatching(store, ACCOUNT, {}, 10)];
  await Promise.resolve();
  await store.close();
  await Promise.allSettled(asked);
  assert.equal(threads.length, 2);
  assert.deepEqual([broken, logged], [[], []]);
  assert.ok(
    threads.every(({ threadId }) => threadId === -1),
    'both have ended',
  );
});

test('a command that cannot cross to the writer fails alone', async (t) => {
  const { store, broken } = await open(t);
  const good = [message(), message()];
  const results = await Promise.allSettled([
    store.accept([good[0]!], NOW),
    store.accept([message({ callback: uncloneable() })], NOW),
    store.getMessage(ACCOUNT, uncloneable()),
    store.accept([message({ labels: uncloneable() })], NOW),
    store.accept([good[1]!], NOW),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled'],
  );
  assert.equal((await countStates(store)).pending, 2);
  await assert.rejects(store.getTopic(ACCOUNT, uncloneable()), /could not be cloned/, 'also when it is the only one');
  for (const { id } of good) assert.equal((await store.getMessage(ACCOUNT, id))?.message.id, id);
  assert.deepEqual(broken, []);
});

test('a command that cannot cross to the reader fails alone', async (t) => {
  const { store, broken } = await open(t);
  await store.accept([message()], NOW);
  const results = await Promise.allSettled([
    store.searchMessages(ACCOUNT, {}, PAGE),
    store.searchMessages(ACCOUNT, {}, { ...PAGE, order: uncloneable() }),
    store.listEvents(ACCOUNT, { messages: uncloneable<MessageFilter>() }, PAGE),
    countMatching(store, ACCOUNT, {}, 10),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(broken, []);
});

test('a reader that ends is started anew after a pause; what it was asked is refused, and the writer goes on', async (t) => {
  const { store, clock, broken, logged, threads } = await open(t);
  await store.accept([message()], NOW);
  await startReader(store, threads);
  const asked = Array.from({ length: 3 }, () => assert.rejects(store.searchMessages(ACCOUNT, {}, PAGE), isUnavailable));
  await Promise.all([...asked, threads[1]!.terminate()]);
  await assert.rejects(countMatching(store, ACCOUNT, {}, 10), isUnavailable, 'while there is none');
  await store.accept([message()], NOW);
  assert.equal(threads.length, 2, 'it is started after the pause');
  clock.advance(LONG_MS);
  await logs(logged, 'the reader of the store works again');
  assert.equal(threads.length, 3);
  assert.equal((await store.searchMessages(ACCOUNT, {}, PAGE)).messages.length, 2);
  assert.deepEqual(logged, [
    'the reader of the store ended; starting another one',
    'the reader of the store works again',
  ]);
  assert.deepEqual(broken, []);
});

test('a reader that ends while nobody asks it is started anew as well', async (t) => {
  const { store, clock, broken, logged, threads } = await open(t);
  await startReader(store, threads);
  for (const round of [1, 2, 3]) {
    await threads[round]!.terminate();
    await logs(logged, 'the reader of the store ended; starting another one');
    clock.advance(LONG_MS);
    await logs(logged, 'the reader of the store works again');
    assert.equal((await countMatching(store, ACCOUNT, {}, 10)).count, 0);
    logged.length = 0;
  }
  assert.deepEqual(broken, []);
});

test('a store that is closed while its reader is away starts no other', async (t) => {
  const { store, clock, logged, threads } = await open(t);
  await startReader(store, threads);
  await threads[1]!.terminate();
  await logs(logged, 'the reader of the store ended; starting another one');
  await store.close();
  clock.advance(LONG_MS);
  assert.equal(threads.length, 2);
});

test('a part of the file that cannot be read fails the reads that meet it, and nothing else', async (t) => {
  const directory = scratchDirectory(t);
  const filled = await open(t, directory);
  await filled.store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  await filled.store.accept([message({ topicName: 'news' })], NOW);
  await filled.store.close();
  damage(directory, 'messages_of_topic');
  const { store, broken, logged, threads } = await open(t, directory);
  const byTopic = () => store.searchMessages(ACCOUNT, { topicNames: ['news'] }, PAGE);
  const [met, other] = await Promise.allSettled([byTopic(), store.searchMessages(ACCOUNT, {}, PAGE)]);
  assert.match(String(met.status === 'rejected' && met.reason), /malformed/);
  assert.equal(other.status, 'fulfilled');
  await assert.rejects(byTopic(), /malformed/, 'as often as it is asked');
  assert.deepEqual(logged, ['a part of the store cannot be read', 'a part of the store cannot be read']);
  assert.equal((await store.searchMessages(ACCOUNT, {}, PAGE)).messages.length, 1);
  assert.equal(threads.length, 2, 'by the same reader');
  assert.deepEqual(broken, []);
});

test('a writer that ends breaks the store: its file can no longer be trusted', async (t) => {
  const { store, broken, threads } = await open(t);
  await threads[0]!.terminate();
  await assert.rejects(store.accept([message()], NOW), isUnavailable);
  assert.equal(broken.length, 1);
});

test('a thread that copies the log and ends breaks the store: what it has lost is not known', async (t) => {
  const directory = scratchDirectory(t);
  const { store, broken, threads } = await open(t, directory);
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'paid', createdAt: NOW }, KEYS);
  while (threads.length === 1) {
    const large = message({ id: `msg_${randomUUID()}`, body: Buffer.alloc(1_000_000) });
    await store.accept([large], NOW);
  }
  // One that ends before it has copied anything has lost nothing.
  await waitFor('it copies the log', () => statSync(join(directory, DATABASE_FILE)).size > 1_000_000);
  await threads[1]!.terminate();
  await assert.rejects(store.accept([message()], NOW), isUnavailable);
  assert.equal(broken.length, 1);
});

test('on Linux the threads that read have a lower priority than the writer and the event loop', {
  skip: lacks('linux'),
}, async (t) => {
  const { store } = await open(t);
  const before = lowThreads();
  await store.searchMessages(ACCOUNT, {}, PAGE);
  assert.equal(lowThreads(), before + 1, 'one of them reads');
});

/** How many threads of this process have a lower priority than usual. */
function lowThreads(): number {
  const stats = readdirSync('/proc/self/task').map((thread) => readFileSync(`/proc/self/task/${thread}/stat`, 'utf8'));
  // The name, in brackets, may contain spaces. The priority is the 17th value after it.
  const values = stats.map((stat) => stat.slice(stat.lastIndexOf(')') + 2).split(' '));
  return values.filter((each) => Number(each[16]) > 0).length;
}
