// Group commit and what can go wrong with it: a bad command, a full disk, a broken file, too much at once.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Store, StoreUnavailable } from '../../../src/store/ports/store.ts';
import type { AcceptCommand } from '../../../src/store/shared/commands.ts';
import { openDatabase, openDirectory } from '../../../src/store/sqlite/files/open.ts';
import { createSqliteStore } from '../../../src/store/sqlite/store.ts';
import { Committer } from '../../../src/store/sqlite/thread/committer.ts';
import type { Database } from '../../../src/store/sqlite/thread/database.ts';
import { threadExecutor } from '../../../src/store/sqlite/thread/executor.ts';
import type { Executor } from '../../../src/store/sqlite/thread/executor-port.ts';
import { flowing } from '../../conformance/flow-control.ts';
import { ACCOUNT, KEYS, limits, message, messages, NOW, OK, settlementOf } from '../../conformance/given.ts';
import { claimDue } from '../../support/claim-due.ts';
import { countStates } from '../../support/count-states.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { damage } from '../damage.ts';
import { RecordingDatabase } from '../recording-database.ts';
import { scratchDirectory } from '../scratch-directory.ts';
import { WatchedExecutor } from '../watched-executor.ts';

interface Opened {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly broken: Error[];
}

async function open(executor: Executor, longExecutor: Executor | null = null): Promise<Opened> {
  const broken: Error[] = [];
  const clock = new ManualClock(NOW);
  const store = createSqliteStore({
    executor,
    longExecutor,
    clock,
    timers: clock,
    node: 'nod_a',
    onBroken: (error) => broken.push(error),
  });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  return { store, clock, broken };
}

async function openWatched(t: TestContext, database?: Database) {
  const executor = new WatchedExecutor(database);
  const opened = await open(executor);
  t.after(() => executor.close());
  executor.batches.length = 0;
  return { ...opened, executor };
}

/** Two executors of one database. The second has nothing to close, like a port. */
function twoWays() {
  const executor = new WatchedExecutor();
  const longExecutor = new WatchedExecutor(executor.database);
  longExecutor.close = async () => {};
  return { executor, longExecutor };
}

const claim = (store: Store, slots: number) => claimDue(store, NOW, limits({ slots }));

function isUnavailable(reason: StoreUnavailable['reason']): (error: unknown) => boolean {
  return (error) => error instanceof StoreUnavailable && error.reason === reason;
}

test('all that is asked in one turn of the loop shares one transaction', async (t) => {
  const { store, executor } = await openWatched(t);
  await Promise.all(messages(300).map((each) => store.accept([each], NOW)));
  assert.equal(executor.batches.length, 1);
  assert.equal(executor.batches[0]!.length, 300);
});

test('of a lane with another way for long work, short work passes a long batch; later work of its account does not', async (t) => {
  const { executor, longExecutor } = twoWays();
  const { store } = await open(executor, longExecutor);
  t.after(() => executor.database.close());
  await store.createAccount({ id: 'acc_2', name: 'two', tier: 'free', createdAt: NOW }, KEYS);
  executor.batches.length = 0;
  const letGo = longExecutor.hold();
  const done: string[] = [];
  const accept = (name: string, accountId: string, count: number) =>
    store.accept(messages(count, { accountId }), NOW).then(() => done.push(name));
  const long = [accept('long', ACCOUNT, 500), accept('after it', ACCOUNT, 1), accept('also long', 'acc_2', 500)];
  await accept('of another', 'acc_3', 1);
  await accept('of another again', 'acc_3', 1);
  assert.deepEqual(done, ['of another', 'of another again'], 'the second long one waits too');
  letGo();
  await Promise.all(long);
  assert.deepEqual(done.slice(2).toSorted(), ['after it', 'also long', 'long']);
  assert.ok(done.indexOf('long') < done.indexOf('after it'));
  assert.deepEqual(longExecutor.batches, [['accept'], ['accept']]);
});

test('a long batch is of one account: short work that was chosen with it does not go the same way', async (t) => {
  const { executor, longExecutor } = twoWays();
  const { store } = await open(executor, longExecutor);
  t.after(() => executor.database.close());
  executor.batches.length = 0;
  const letGo = longExecutor.hold();
  const long = store.accept(messages(150), NOW);
  const done: number[] = [];
  const small = [1, 2].map((n) => store.accept([message({ accountId: 'acc_2' })], NOW).then(() => done.push(n)));
  await Promise.all(small);
  assert.deepEqual(done, [1, 2]);
  letGo();
  await long;
  assert.deepEqual(longExecutor.batches, [['accept']]);
});

test('work that can wait does not wait for a long batch', async (t) => {
  const { executor, longExecutor } = twoWays();
  t.after(() => executor.database.close());
  const clock = new ManualClock(NOW);
  const committer = new Committer(executor, 'nod_a', () => {}, clock, longExecutor);
  const accept = (accountId: string, count: number) =>
    committer.call('accept', {
      messages: messages(count, { accountId }),
      leases: [],
      node: 'nod_a',
      now: NOW,
      dayMax: null,
    });
  const letGo = longExecutor.hold();
  const letShortGo = executor.hold();
  const work = [accept(ACCOUNT, 500), accept('acc_2', 1)];
  await turn();
  let isDone = false;
  const waiting = committer.callSometime('storedTime').then(() => {
    isDone = true;
  });
  letShortGo();
  await work[1];
  await turn();
  clock.advance(1000);
  await turn();
  assert.equal(isDone, true);
  letGo();
  await Promise.all([...work, waiting]);
});

test('a store that is closed waits for its long batch', async () => {
  const { executor, longExecutor } = twoWays();
  const { store } = await open(executor, longExecutor);
  const letGo = longExecutor.hold();
  const long = store.accept(messages(500), NOW);
  await turn();
  let isClosed = false;
  const closing = store.close().then(() => {
    isClosed = true;
  });
  await turn();
  assert.equal(isClosed, false);
  letGo();
  await Promise.all([long, closing]);
});

test('all that is asked while a transaction runs shares the next one', async (t) => {
  const { store, executor } = await openWatched(t);
  const letGo = executor.hold();
  const first = store.accept([message()], NOW);
  await null; // the first batch is on its way
  await null;
  const rest = messages(300).map((each) => store.accept([each], NOW));
  letGo();
  await Promise.all([first, ...rest]);
  assert.deepEqual(
    executor.batches.map((batch) => batch.length),
    [1, 300],
  );
});

test('verbs of all kinds are run in the order they were asked', async (t) => {
  const { store, executor } = await openWatched(t);
  const one = message();
  const [, stored, cancelled, { newestAt }] = await Promise.all([
    store.accept([one], NOW),
    store.getMessage(ACCOUNT, one.id),
    store.cancel(ACCOUNT, [one.id], NOW, NOW + 1),
    store.storedTime(),
  ]);
  assert.equal(stored!.message.state, 'pending');
  assert.deepEqual(cancelled.cancelled, [one.id]);
  assert.equal(newestAt, NOW);
  assert.deepEqual(executor.batches, [['accept', 'getMessage', 'cancel', 'storedTime']]);
});

test('of what one account changes at once, a piece goes into each transaction, in order; others do not wait for the rest', async (t) => {
  const { store, executor } = await openWatched(t);
  const flips = Array.from({ length: 20 }, (_, n) => store.saveQueue(ACCOUNT, 'q', { parallelism: n + 1 }, NOW));
  const pins = Array.from({ length: 20 }, () => store.resetFlowRate(ACCOUNT, 'k', NOW));
  const others = [store.saveQueue('acc_other', 'q', {}, NOW), store.accept([message()], NOW)];
  await Promise.all(others);
  // Nothing is known yet of what their changes cost, so one is thought to be more than half of a transaction, and the change of
  // the other goes without those of the first.
  assert.deepEqual(executor.batches.slice(0, 3), [['saveQueue'], ['saveQueue'], ['saveQueue', 'accept']]);
  await Promise.all(pins);
  assert.deepEqual(
    (await Promise.all(flips)).map(({ parallelism }) => parallelism),
    Array.from({ length: 20 }, (_, n) => n + 1),
  );
  assert.ok(executor.batches.slice(1).every((batch) => batch.length <= 8));
  // What changes a single message costs little: many of them go together.
  executor.batches.length = 0;
  await Promise.all(messages(300).map(({ id }) => store.cancel(ACCOUNT, [id], NOW, NOW + 1)));
  assert.equal(executor.batches.length, 1);
});

test('what one account asks in thousands of messages waits for its turn: another waits for one transaction', async (t) => {
  const { store, executor } = await openWatched(t);
  await store.createAccount({ id: 'acc_2', name: 'two', tier: 'free', createdAt: NOW }, KEYS);
  executor.batches.length = 0;
  const owners: string[][] = [];
  const gate = Promise.withResolvers<void>();
  executor.beforeBatch = (commands) => {
    owners.push(commands.map(({ args }) => (args[0] as AcceptCommand).messages[0]!.accountId));
    return gate.promise;
  };
  // Each has five hundred flow keys of its own, and a small one follows that must not overtake them.
  const large = Array.from({ length: 18 }, (_, batch) =>
    Array.from({ length: 500 }, (_, index) => flowing({ parallelism: 1 }, {}, `k${batch}-${index}`)),
  );
  const order: number[] = [];
  const asked = [...large, [message()]].map((some, index) => store.accept(some, NOW).then(() => order.push(index)));
  await turn();
  const other = store.accept([message({ accountId: 'acc_2' })], NOW);
  gate.resolve();
  await other;
  const at = owners.findIndex((batch) => batch.includes('acc_2'));
  const before = owners.slice(0, at).flat().length;
  assert.ok(before <= 2, `${before} requests of the first account were written before`);
  assert.ok(owners[at]!.length <= 2, `with ${owners[at]!.length - 1} requests of the first account`);
  await Promise.all(asked);
  assert.deepEqual(order, [...order.keys()], 'those of one account are written in order');
  assert.ok(owners.every((batch) => batch.length <= 2));
});

test('a claim has no transaction with long requests, and comes after short ones or before the next long one', async (t) => {
  const { store, executor } = await openWatched(t);
  await store.createAccount({ id: 'acc_2', name: 'two', tier: 'free', createdAt: NOW }, KEYS);
  executor.batches.length = 0;
  const gate = Promise.withResolvers<void>();
  executor.beforeBatch = () => gate.promise;
  const large = () => store.accept(messages(500), NOW);
  const asked: Promise<unknown>[] = [large(), large(), large(), large()];
  await turn();
  const other = () => store.accept([message({ accountId: 'acc_2' })], NOW);
  asked.push(other(), claim(store, 1), other());
  gate.resolve();
  await Promise.all(asked);
  const accepts = (count: number) => new Array<string>(count).fill('accept');
  // The short ones of the other account come first, then the claim, then the next long one.
  assert.deepEqual(executor.batches, [accepts(1), accepts(2), ['claim'], accepts(1), accepts(1), accepts(1)]);
  executor.batches.length = 0;
  const gate2 = Promise.withResolvers<void>();
  executor.beforeBatch = () => gate2.promise;
  const more = [large(), large(), large()];
  await turn();
  more.push(claim(store, 1) as never);
  gate2.resolve();
  await Promise.all(more);
  assert.deepEqual(executor.batches, [accepts(1), ['claim'], accepts(1), accepts(1)], 'when only long ones wait');
});

test('on a slow disk a claim that takes less than half of a commit shares a transaction', async (t) => {
  const took = async (claimUs: number) => {
    const { store, executor } = await openWatched(t);
    const { execute } = executor;
    executor.execute = async (commands, _from?: string, onTook?: (took: object) => void) => {
      onTook?.({ commitMs: 15, commandsUs: commands.map(({ verb }) => (verb === 'claim' ? claimUs : 20_000)) });
      return execute.call(executor, commands);
    };
    // More is due than is claimed, so the next claim has something to look for.
    await store.accept(messages(10), NOW);
    await claim(store, 1);
    executor.batches.length = 0;
    await Promise.all([store.accept(messages(500), NOW), store.accept(messages(500), NOW), claim(store, 50)]);
    return executor.batches.map((batch) => batch.join(' '));
  };
  assert.deepEqual(await took(7_000), ['accept claim', 'accept']);
  assert.deepEqual(await took(8_000), ['claim', 'accept', 'accept']);
});

test('when all that waits fits into one transaction, the claim is in it', async (t) => {
  const { store, executor } = await openWatched(t);
  await Promise.all([store.accept([message()], NOW), claim(store, 1)]);
  assert.deepEqual(executor.batches, [['accept', 'claim']]);
});

test('the accounts of many small requests share the transactions evenly', async (t) => {
  const { store, executor } = await openWatched(t);
  const served = new Map<string, number>();
  const shares: number[][] = [];
  executor.beforeBatch = (commands) => {
    for (const { args } of commands) {
      const { accountId } = (args[0] as AcceptCommand).messages[0]!;
      served.set(accountId, (served.get(accountId) ?? 0) + 1);
    }
    shares.push([served.get(ACCOUNT) ?? 0, served.get('acc_2') ?? 0]);
  };
  const asked = ['acc_2', ACCOUNT].flatMap((accountId) =>
    messages(4000, { accountId }).map((each) => store.accept([each], NOW)),
  );
  await Promise.all(asked);
  assert.ok(shares.length > 5);
  for (const [one, two] of shares) assert.ok(Math.abs(one! - two!) <= 1, `${one} and ${two}`);
});

test('a command that fails costs a few transactions, not one for each of its batch', async (t) => {
  const { store, executor } = await openWatched(t);
  const { database } = executor;
  const existing = message();
  await store.accept([existing], NOW);
  const { mock } = t.mock.method(database, 'transaction');
  const asked = [...messages(100), existing, ...messages(100)].map((each) => store.accept([each], NOW));
  const results = await Promise.allSettled(asked);
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 1);
  assert.ok(mock.callCount() <= 2 * Math.ceil(Math.log2(201)) + 1, `${mock.callCount()} transactions`);
});

test('a command that fails takes none of its batch with it', async (t) => {
  const { store, executor } = await openWatched(t);
  const existing = message();
  await store.accept([existing], NOW);
  const good = messages(20);
  const letGo = executor.hold();
  const asked = [...good.slice(0, 10), existing, ...good.slice(10)].map((each) => store.accept([each], NOW));
  letGo();
  const results = await Promise.allSettled(asked);
  assert.deepEqual(
    results.map(({ status }) => status),
    results.map((_, index) => (index === 10 ? 'rejected' : 'fulfilled')),
  );
  assert.equal((await countStates(store)).pending, 21);
  const [usage] = (await store.usage(ACCOUNT, '2026-01-01', '2026-01-01')).entries;
  assert.equal(usage!.count, 21);
});

test('what is due at once is leased with its acceptance: no claim, no second write before it is settled', async (t) => {
  const { store, executor } = await openWatched(t);
  await claim(store, 10);
  executor.batches.length = 0;
  const one = message();
  await store.accept([one], NOW);
  assert.equal((await store.getMessage(ACCOUNT, one.id))!.message.state, 'claimed');
  const { claims } = await claim(store, 10);
  await store.settle([settlementOf(claims[0]!, OK, NOW)], NOW);
  assert.deepEqual(executor.batches, [['accept'], ['getMessage'], ['settle']]);
});

test('the end of a message that nothing else depends on searches no row and needs none in attempts', async (t) => {
  const path = join(scratchDirectory(t), 'postrider.db');
  openDatabase(path).close();
  const database = new RecordingDatabase(path);
  const { store } = await openWatched(t, database);
  await store.accept([message()], NOW);
  const { claims } = await claim(store, 10);
  database.statements.clear();
  await store.settle([settlementOf(claims[0]!, OK, NOW)], NOW);
  assert.deepEqual(
    [...database.statements].filter((sql) => /^SELECT .* FROM messages|INTO attempts/.test(sql)),
    [],
  );
});

/** A store that has handed out one message and has nothing else to do. */
async function openWithClaim(t: TestContext) {
  const opened = await openWatched(t);
  await claim(opened.store, 10);
  await opened.store.accept([message()], NOW);
  const { claims } = await claim(opened.store, 10);
  opened.executor.batches.length = 0;
  return { ...opened, settlement: settlementOf(claims[0]!, OK, NOW) };
}

/** Long enough for everything that does not wait for the clock. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a settlement that can wait goes along with what is asked next', async (t) => {
  const { store, executor, settlement } = await openWithClaim(t);
  const settled = store.settle([settlement], NOW, { canWait: true });
  await turn();
  assert.deepEqual(executor.batches, []);
  await store.accept([message()], NOW);
  assert.deepEqual(await settled, ['settled']);
  assert.deepEqual(executor.batches, [['settle', 'accept']]);
});

test('a settlement that can wait is written by itself after 5 ms', async (t) => {
  const { store, clock, executor, settlement } = await openWithClaim(t);
  const settled = store.settle([settlement], NOW, { canWait: true });
  clock.advance(4);
  await turn();
  assert.deepEqual(executor.batches, []);
  clock.advance(1);
  assert.deepEqual(await settled, ['settled']);
  assert.deepEqual(executor.batches, [['settle']]);
});

test('what can wait and came while a transaction ran waits after it', async (t) => {
  const { store, clock, executor, settlement } = await openWithClaim(t);
  const letGo = executor.hold();
  const accepted = store.accept([message()], NOW);
  await turn();
  const settled = store.settle([settlement], NOW, { canWait: true });
  letGo();
  await accepted;
  await turn();
  assert.deepEqual(executor.batches, [['accept']]);
  clock.advance(5);
  assert.deepEqual(await settled, ['settled']);
  assert.deepEqual(executor.batches, [['accept'], ['settle']]);
});

test('no settlement is kept back while something waits for its slot', async (t) => {
  const { store, executor } = await openWatched(t);
  await store.accept(messages(2), NOW);
  const { claims } = await claim(store, 1);
  executor.batches.length = 0;
  assert.deepEqual(await store.settle([settlementOf(claims[0]!, OK, NOW)], NOW, { canWait: true }), ['settled']);
  assert.deepEqual(executor.batches, [['settle']]);
});

test('no settlement is kept back while it is not known whether something waits for its slot', async (t) => {
  const { store, executor, settlement } = await openWithClaim(t);
  await store.accept([message({ dueAt: NOW + 1 })], NOW);
  executor.batches.length = 0;
  const letGo = executor.hold();
  const claiming = claimDue(store, NOW + 1, limits({ slots: 1 }));
  await turn();
  const settled = store.settle([settlement], NOW + 1, { canWait: true });
  letGo();
  assert.equal((await claiming).claims.length, 1);
  assert.deepEqual(await settled, ['settled']);
  assert.deepEqual(executor.batches, [['claim'], ['settle']]);
});

test('a claim that the store could not make loses neither what is due nor what was promised', async (t) => {
  const { store, executor } = await openWatched(t);
  await claim(store, 2);
  const [promised1, promised2, waiting] = messages(3);
  await store.accept([promised1!, promised2!, waiting!], NOW);
  executor.spoil = ({ verb }) => (verb === 'claim' ? { error: 'database or disk is full', reason: 'full' } : null);
  await assert.rejects(claim(store, 5), isUnavailable('full'));
  executor.spoil = () => null;
  const { claims } = await claim(store, 5);
  const ids = claims.map((each) => each.message.id);
  assert.deepEqual(ids.toSorted(), [promised1!.id, promised2!.id, waiting!.id].toSorted());
});

test('a full disk refuses what does not fit, keeps what was there, and takes more when there is room', async (t) => {
  const database = openDatabase(join(scratchDirectory(t), 'postrider.db'));
  const { store, broken } = await openWatched(t, database);
  const pages = (count: number) => database.exec(`PRAGMA max_page_count = ${count}`);
  const { page_count: used } = database.get<{ page_count: number }>('PRAGMA page_count')!;
  pages(used + 20);
  const small = message({ body: new Uint8Array(10) });
  await store.accept([small], NOW);
  const large = message({ body: new Uint8Array(1_000_000) });
  await assert.rejects(store.accept([large], NOW), isUnavailable('full'));
  assert.equal(await store.getMessage(ACCOUNT, large.id), null);

  const { claims } = await claim(store, 10);
  assert.deepEqual(
    claims.map((each) => each.message.id),
    [small.id],
  );
  assert.deepEqual(await store.settle([settlementOf(claims[0]!, OK, NOW)], NOW), ['settled']);
  pages(used + 1000);
  await store.accept([large], NOW);
  assert.deepEqual(broken, []);
});

test('on a full disk, what fits is still accepted beside what does not', async (t) => {
  const database = openDatabase(join(scratchDirectory(t), 'postrider.db'));
  const { store } = await openWatched(t, database);
  const { page_count: used } = database.get<{ page_count: number }>('PRAGMA page_count')!;
  database.exec(`PRAGMA max_page_count = ${used + 20}`);
  const results = await Promise.allSettled([
    store.accept([message()], NOW),
    store.accept([message({ body: new Uint8Array(1_000_000) })], NOW),
    store.accept([message()], NOW),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal((await countStates(store)).pending, 2);
});

test('a store that breaks says so once, refuses all that waits and all that comes', async (t) => {
  const { store, executor, broken } = await openWatched(t);
  executor.beforeBatch = () => {
    throw new Error('disk I/O error');
  };
  const asked = [store.accept([message()], NOW), store.storedTime(), claim(store, 1)];
  for (const each of asked) await assert.rejects(each, isUnavailable('unavailable'));
  await assert.rejects(store.accept([message()], NOW), isUnavailable('unavailable'));
  await assert.rejects(store.getMessage(ACCOUNT, 'msg_1'), /disk I\/O error/);
  assert.deepEqual(
    broken.map((error) => error.message),
    ['disk I/O error'],
  );
});

test('a damaged file breaks the store, also on its thread, and closing it lets the directory go', async (t) => {
  const directory = scratchDirectory(t);
  damage(directory, 'messages');
  const executor = await threadExecutor(directory);
  const { store, broken } = await open(executor);
  await assert.rejects(store.accept([message()], NOW), isUnavailable('unavailable'));
  assert.match(broken[0]!.message, /SQLite can no longer write its file/);
  await store.close();
  openDirectory(directory).close();
});

test('past its share of messages an account is refused; others are accepted, and deliveries go on', async (t) => {
  const { store, executor } = await openWatched(t);
  await store.createAccount({ id: 'acc_2', name: 'two', tier: 'free', createdAt: NOW }, KEYS);
  await store.accept([message()], NOW);
  const { claims } = await claim(store, 1);
  const letGo = executor.hold();
  const waiting = Array.from({ length: 10 }, () => store.accept(messages(1000), NOW));
  await assert.rejects(store.accept([message()], NOW), isUnavailable('share'));
  const other = store.accept([message({ accountId: 'acc_2' })], NOW);
  const settled = store.settle([settlementOf(claims[0]!, OK, NOW)], NOW);
  executor.batches.length = 0;
  letGo();
  assert.deepEqual(await settled, ['settled']);
  await other;
  // The first was on its way already. What the other account asks is next, and what settles goes with it.
  assert.deepEqual(executor.batches.slice(0, 2), [['accept'], ['accept', 'settle']]);
  assert.equal((await countStates(store, ['acc_2'])).pending, 1);
  await Promise.all(waiting);
  await store.accept([message()], NOW);
  assert.equal((await countStates(store, [ACCOUNT, 'acc_2'])).pending, 10_002);
});

test('closing finishes what was asked and refuses what comes after', async (t) => {
  const directory = scratchDirectory(t);
  const { store, broken } = await open(await threadExecutor(directory));
  const accepting = messages(50).map((each) => store.accept([each], NOW));
  const closing = store.close();
  const late = assert.rejects(store.accept([message()], NOW), isUnavailable('unavailable'));
  await Promise.all([...accepting, closing, late]);
  assert.deepEqual(broken, []);
  const { database, close } = openDirectory(directory);
  assert.equal(database.get<{ n: number }>('SELECT count(*) AS n FROM messages')!.n, 50);
  close();
});

test('closing also writes what could have waited', async (t) => {
  const directory = scratchDirectory(t);
  const { store } = await open(await threadExecutor(directory));
  await store.accept([message()], NOW);
  const { claims } = await claim(store, 10);
  const settled = store.settle([settlementOf(claims[0]!, OK, NOW)], NOW, { canWait: true });
  await store.close();
  assert.deepEqual(await settled, ['settled']);
});
