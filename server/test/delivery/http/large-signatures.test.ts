// Large bodies are signed beside the event loop, one at a time, by turns of accounts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LargeSignatures } from '../../../src/delivery/http/large-signatures.ts';

/** Signatures that end when the test says so. */
function given() {
  const signatures = new LargeSignatures();
  const signing: { readonly name: string; readonly end: () => void }[] = [];
  const done: string[] = [];
  const add = (accountId: string, name: string) =>
    signatures.add({
      accountId,
      sign: () => {
        const { promise, resolve } = Promise.withResolvers<string[]>();
        signing.push({ name, end: () => resolve([name]) });
        return promise;
      },
      done: ([signed]) => done.push(signed!),
    });
  const endOne = async () => {
    signing.at(-1)!.end();
    await new Promise(setImmediate);
  };
  return { add, endOne, done, begun: () => signing.map(({ name }) => name) };
}

test('one is signed at a time, and accounts take turns', async () => {
  const { add, endOne, done, begun } = given();
  for (const name of ['a1', 'a2', 'a3']) add('a', name);
  add('b', 'b1');
  assert.deepEqual(begun(), ['a1']);
  for (let count = 1; count < 4; count += 1) await endOne();
  assert.deepEqual(begun(), ['a1', 'a2', 'b1', 'a3']);
  await endOne();
  assert.deepEqual(done, begun());
  add('a', 'later');
  assert.equal(begun().at(-1), 'later');
});

test('what is taken back is not signed, or its signature is not used, and the others go on', async () => {
  const { add, endOne, done, begun } = given();
  const takeBackCurrent = add('a', 'current');
  const takeBackWaiting = add('a', 'waiting');
  const takeBackOnly = add('b', 'only one of its account');
  add('a', 'last');
  takeBackCurrent();
  takeBackWaiting();
  takeBackOnly();
  await endOne();
  assert.deepEqual(begun(), ['current', 'last']);
  await endOne();
  assert.deepEqual(done, ['last']);
});
