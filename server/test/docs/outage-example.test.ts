// examples/outage runs as it is, with few messages and a short outage.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ROOT } from './blocks.ts';

interface Shown {
  readonly attempts: number;
  readonly retries: number;
  readonly delivered: number;
  readonly failed: number;
  readonly mostAtOnce: number;
}

test('the example of an outage delivers every message both ways, and counts what that took', async () => {
  const program = join(ROOT, 'examples', 'outage', 'run.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [
    program,
    ...['--messages', '1000', '--down', '2', '--json'],
  ]);
  const { retry, park } = JSON.parse(stdout) as { readonly retry: Shown; readonly park: Shown };
  for (const { attempts, delivered, failed, retries, mostAtOnce } of [retry, park]) {
    assert.deepEqual([delivered, failed], [1000, 0]);
    assert.ok(attempts >= 1000 && mostAtOnce >= 1);
    assert.ok(retries <= attempts - 1000);
  }
  assert.equal(retry.retries, retry.attempts - 1000, 'each failed attempt uses up a retry');
});
