import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountWorkLimit } from '../../../src/inbound/publish/work-under-way.ts';
import { accountMax } from '../../../src/rules/limits/budgets.ts';

/** Notes which batches have begun, in their order. */
function watched() {
  const batches = new AccountWorkLimit(accountMax('batchElements'));
  const begun: string[] = [];
  const begin = (name: string, elements: number, accountId = 'a') => {
    const waiting = batches.begin(accountId, elements);
    if (waiting === null) begun.push(name);
    else void waiting.then(() => begun.push(name));
  };
  const end = async (elements: number, accountId = 'a') => {
    batches.end(accountId, elements);
    await null;
  };
  return { begin, end, begun, batches };
}

test('batches of one account begin while they are a thousand elements, the others in the order in which they came', async () => {
  const { begin, end, begun } = watched();
  begin('first', 500);
  begin('second', 500);
  begin('third', 500);
  begin('small', 1);
  assert.deepEqual(begun, ['first', 'second']);
  await end(500);
  // The small one would have had room, but does not overtake.
  assert.deepEqual(begun, ['first', 'second', 'third']);
  await end(500);
  assert.deepEqual(begun, ['first', 'second', 'third', 'small']);
});

test('a batch that is larger than all that may be under way goes alone', async () => {
  const { begin, end, begun } = watched();
  begin('small', 1);
  begin('large', 5000);
  begin('next', 1);
  assert.deepEqual(begun, ['small']);
  await end(1);
  assert.deepEqual(begun, ['small', 'large']);
  await end(5000);
  assert.deepEqual(begun, ['small', 'large', 'next']);
});

test('accounts do not wait for each other, and one without a batch is forgotten', async () => {
  const { begin, end, begun, batches } = watched();
  begin('one', 1000);
  begin('other', 1000, 'b');
  begin('one more', 1);
  assert.deepEqual(begun, ['one', 'other']);
  await end(1000, 'b');
  await end(1000);
  assert.deepEqual(begun, ['one', 'other', 'one more']);
  assert.equal(batches.accounts, 1);
  await end(1);
  assert.equal(batches.accounts, 0);
});
