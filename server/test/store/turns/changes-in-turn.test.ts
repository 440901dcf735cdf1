// Changes in turn: those of one account follow each other, those of another do not wait for them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChangesByAccount } from '../../../src/store/turns/in-turn.ts';

test('of many changes that an account asks for at once one runs, in order; another account goes beside it', async () => {
  const lines = new ChangesByAccount();
  const started: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const ask = (name: string) =>
    lines.run(name[0]!, () => {
      started.push(name);
      return new Promise<string>((resolve, reject) => {
        ends.set(name, (error) => (error ? reject(error) : resolve(name)));
      });
    });
  const turn = () => new Promise((done) => setImmediate(done));
  const asked = ['a1', 'a2', 'a3', 'b1'].map(ask);
  const failed = assert.rejects(asked[1]!, /broken/);
  await turn();
  assert.deepEqual(started, ['a1', 'b1']);
  ends.get('a1')!();
  await turn();
  assert.deepEqual(started, ['a1', 'b1', 'a2']);
  ends.get('a2')!(new Error('broken'));
  await turn();
  assert.deepEqual(started, ['a1', 'b1', 'a2', 'a3']);
  ends.get('a3')!();
  ends.get('b1')!();
  await failed;
  assert.deepEqual(await Promise.all([asked[0], asked[2], asked[3]]), ['a1', 'a3', 'b1']);
});
