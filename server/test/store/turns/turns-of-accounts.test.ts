// Work in turn: one account's wait behind each other, and another account's waits for one of them at most. Whoever takes
// longer gets fewer turns, and work that nobody waits for any more is left out.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallerGone } from '../../../src/store/ports/store.ts';
import { TurnsOfAccounts } from '../../../src/store/turns/turns-of-accounts.ts';

/** Reads that end when the test says so, in the order in which they were started. */
class Reads {
  readonly started: string[] = [];
  readonly #ends = new Map<string, (error?: Error) => void>();

  read(name: string) {
    return () =>
      new Promise<string>((resolve, reject) => {
        this.started.push(name);
        this.#ends.set(name, (error) => (error ? reject(error) : resolve(name)));
      });
  }

  async end(name: string, error?: Error): Promise<void> {
    this.#ends.get(name)!(error);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('of many reads that wait, accounts come one after the other', async () => {
  const turns = new TurnsOfAccounts(1);
  const reads = new Reads();
  const results = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => turns.run(name[0]!, reads.read(name)));
  for (const name of ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']) {
    assert.equal(reads.started.at(-1), name);
    await reads.end(name);
  }
  assert.deepEqual(await Promise.all(results), ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']);
});

test('one that comes behind a thousand of another account is next', async () => {
  const turns = new TurnsOfAccounts(1);
  const reads = new Reads();
  for (let n = 0; n < 1000; n += 1) void turns.run('a', reads.read(`a${n}`));
  const own = turns.run('b', reads.read('b'));
  await reads.end('a0');
  assert.deepEqual(reads.started, ['a0', 'b']);
  await reads.end('b');
  assert.equal(await own, 'b');
});

test('as many run at once as may, and one that fails makes room as well', async () => {
  const turns = new TurnsOfAccounts(2);
  const reads = new Reads();
  const [first, ...others] = ['a1', 'a2', 'a3'].map((name) => turns.run('a', reads.read(name)));
  assert.deepEqual(reads.started, ['a1', 'a2']);
  const failed = assert.rejects(first!, /broken/);
  await reads.end('a1', new Error('broken'));
  await failed;
  assert.deepEqual(reads.started, ['a1', 'a2', 'a3']);
  await reads.end('a2');
  await reads.end('a3');
  assert.deepEqual(await Promise.all(others), ['a2', 'a3']);
});

test('an account whose work takes three times as long gets a quarter of the turns', async () => {
  let nowMs = 0;
  const turns = new TurnsOfAccounts(1, () => nowMs);
  const reads = new Reads();
  for (let n = 0; n < 20; n += 1) for (const id of ['long', 'short']) void turns.run(id, reads.read(`${id}${n}`));
  for (let n = 0; n < 17; n += 1) {
    const running = reads.started.at(-1)!;
    nowMs += running.startsWith('long') ? 3 : 1;
    await reads.end(running);
  }
  // The first of each, then one of the long ones to three of the others.
  assert.equal(reads.started.slice(2, 18).filter((name) => name.startsWith('long')).length, 4);
});

test('work that nobody waits for any more does not begin, and holds nobody up', async () => {
  const turns = new TurnsOfAccounts(1);
  const reads = new Reads();
  let isGone = false;
  const running = turns.run('a', reads.read('a1'), () => isGone);
  const dropped = ['a2', 'a3'].map((name) =>
    assert.rejects(
      turns.run('a', reads.read(name), () => isGone),
      CallerGone,
    ),
  );
  const stays = turns.run('a', reads.read('a4'));
  const other = turns.run('b', reads.read('b1'));
  isGone = true;
  await reads.end('a1');
  assert.equal(await running, 'a1', 'what has begun ends');
  await reads.end('b1');
  await reads.end('a4');
  await Promise.all(dropped);
  assert.deepEqual(await Promise.all([stays, other]), ['a4', 'b1']);
  assert.deepEqual(reads.started, ['a1', 'b1', 'a4']);
});
