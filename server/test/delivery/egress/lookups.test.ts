// Names and their addresses: one look-up of a name at a time, answers that are kept, and a share for each account.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lookups, NoLookupError } from '../../../src/delivery/egress/lookups.ts';
import { eachMax, nodeMax } from '../../../src/rules/limits/budgets.ts';
import { manualClock } from '../http/senders.ts';

/** Look-ups that are answered when the test says so. */
function startLookups() {
  const asked: { readonly hostname: string; answer(addresses: readonly string[]): void; fail(code: string): void }[] =
    [];
  const clock = manualClock();
  const lookups = new Lookups(clock, (hostname) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
    const fail = (code: string) => reject(Object.assign(new Error(code), { code }));
    asked.push({ hostname, answer: resolve, fail });
    return promise;
  });
  return { lookups, clock, asked, names: () => asked.map(({ hostname }) => hostname) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('there is one lookup of a name at a time, and its result is cached for some seconds', async () => {
  const { lookups, clock, asked, names } = startLookups();
  const found = [lookups.find('a', 'x.test'), lookups.find('a', 'x.test'), lookups.find('b', 'x.test')];
  assert.deepEqual(names(), ['x.test']);
  asked[0]!.answer(['192.0.2.1']);
  assert.deepEqual(await Promise.all(found), Array(3).fill(['192.0.2.1']));
  clock.advance(4_999);
  assert.deepEqual(await lookups.find('b', 'x.test'), ['192.0.2.1']);
  assert.equal(asked.length, 1);
  clock.advance(1);
  void lookups.find('b', 'x.test');
  assert.equal(asked.length, 2);
});

test('the result that a name does not exist is cached too', async () => {
  const { lookups, clock, asked } = startLookups();
  const found = assert.rejects(lookups.find('a', 'no.test'), /name not found: no\.test/);
  asked[0]!.fail('ENOTFOUND');
  await found;
  await assert.rejects(lookups.find('b', 'no.test'), /name not found: no\.test/);
  assert.equal(asked.length, 1);
  clock.advance(5_000);
  const again = lookups.find('a', 'no.test');
  asked[1]!.answer(['192.0.2.1']);
  assert.deepEqual(await again, ['192.0.2.1']);
});

test('a name server that does not respond costs 5 seconds, then nothing, and one look-up', async () => {
  const { lookups, clock, asked } = startLookups();
  const first = assert.rejects(lookups.find('a', 'slow.test'), /name lookup took longer than 5 s: slow\.test/);
  const second = assert.rejects(lookups.find('a', 'slow.test'), /name lookup took longer than 5 s: slow\.test/);
  clock.advance(5_000);
  await Promise.all([first, second]);
  await assert.rejects(lookups.find('b', 'slow.test'), /name lookup took longer than 5 s: slow\.test/);
  assert.equal(asked.length, 1);
  assert.equal(lookups.pool.used, 1, 'the look-up goes on, and its thread is not free');
  asked[0]!.answer(['192.0.2.1']);
  await turn();
  assert.equal(lookups.pool.used, 0);
  assert.deepEqual(await lookups.find('b', 'slow.test'), ['192.0.2.1']);
  assert.equal(clock.timerCount, 0);
});

test('an account over its share waits, first come first served, and another goes ahead of it', async () => {
  const { lookups, asked, names } = startLookups();
  const share = nodeMax('lookups') / 2;
  const begun: string[] = [];
  const begin = (account: string, name: string) => lookups.whenFree(account, name, () => begun.push(name));
  for (let i = 0; i < share + 3; i += 1) begin('a', `a${i}.test`);
  assert.equal(asked.length, share);
  assert.equal(begun.length, share);
  await assert.rejects(lookups.find('a', 'late.test'), NoLookupError);
  begin('b', 'b.test');
  assert.equal(begun.at(-1), 'b.test');
  asked[0]!.answer(['192.0.2.1']);
  await turn();
  assert.equal(names().at(-1), 'b.test', 'of what is left, the account may not have more');
  asked[1]!.answer(['192.0.2.1']);
  await turn();
  assert.deepEqual(begun.slice(-2), ['b.test', `a${share}.test`]);
});

test('a waiting lookup also completes when another account looks up the same name, but not after it was withdrawn', async () => {
  const { lookups, asked } = startLookups();
  const begun: ('a' | 'b' | 'never')[] = [];
  const isBegun = (...accounts: typeof begun) => assert.deepEqual(begun, accounts);
  for (let i = 0; i < nodeMax('lookups') / 2; i += 1) lookups.whenFree('a', `a${i}.test`, () => {});
  lookups.whenFree('a', 'both.test', () => begun.push('a'));
  const takeBack = lookups.whenFree('a', 'both.test', () => begun.push('never'));
  takeBack();
  isBegun();
  lookups.whenFree('b', 'both.test', () => begun.push('b'));
  isBegun('a', 'b');
  for (const { answer } of asked) answer(['192.0.2.1']);
  await turn();
  isBegun('a', 'b');
  assert.equal(lookups.pool.used, 0);
});

test('accounts that wait take turns', async () => {
  const { lookups, asked } = startLookups();
  const begun: string[] = [];
  for (let i = 0; lookups.pool.room(`held${i}`) > 0; i += 1) lookups.whenFree(`held${i}`, `held${i}.test`, () => {});
  const held = asked.length;
  for (const name of ['x1', 'x2', 'x3', 'y1', 'y2', 'y3'])
    lookups.whenFree(name[0]!, `${name}.test`, () => begun.push(name));
  assert.deepEqual(begun, []);
  for (const { answer } of asked.slice(0, held)) answer(['192.0.2.1']);
  await turn();
  assert.deepEqual(begun, ['x1', 'y1', 'x2', 'y2', 'x3', 'y3']);
});

test('the cache is limited: names, and addresses of a name', async () => {
  const { lookups, asked } = startLookups();
  for (let i = 0; i < nodeMax('lookupNames') + 5; i += 1) {
    const found = lookups.find('a', `n${i}.test`);
    asked.at(-1)!.answer(Array.from({ length: 100 }, (_, each) => `192.0.2.${each}`));
    assert.equal((await found).length, eachMax('lookupAddresses'));
  }
  assert.equal(lookups.keptCount, nodeMax('lookupNames'));
});
