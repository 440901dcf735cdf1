// Who takes over the slot of a message that has ended.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areSuccessors, SUCCESSOR_BODY_BYTES_MAX } from '../../../src/store/shared/succession.ts';

const place = (queueName: string | null = 'q', host = 'h', accountId = 'acc_1') => ({
  account_id: accountId,
  queue_name: queueName,
  host,
});
const next = (...of: Parameters<typeof place>) => ({ ...place(...of), bytes: SUCCESSOR_BODY_BYTES_MAX });

const CASES = [
  ['the next of the same queue, to the same host', [next()], [place()], true],
  ['nobody is ready', [], [place()], true],
  ['each of several, whatever their order', [next('b'), next('a')], [place('a'), place('b')], true],
  ['as many of one queue as have ended of it', [next(), next()], [place(), place()], true],
  ['more than have ended', [next(), next()], [place()], false],
  ['one of another queue is ready as well', [next(), next('other')], [place(), place()], false],
  ['one of no queue is ready as well', [next(), next(null)], [place(), place()], false],
  ['to another host', [next('q', 'other')], [place()], false],
  ['of another account', [next('q', 'h', 'acc_2')], [place()], false],
  ['too large', [{ ...next(), bytes: SUCCESSOR_BODY_BYTES_MAX + 1 }], [place()], false],
] as const;

for (const [what, ready, ended, expected] of CASES) {
  test(`${expected ? 'takes over' : 'does not take over'}: ${what}`, () => {
    assert.equal(areSuccessors(ready, ended), expected);
  });
}
