// examples/outage runs as it is, with few messages and a short outage.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { OPENING_STEP_MAX } from '../../src/rules/hosts/parking.ts';
import { ROOT } from './blocks.ts';

interface Shown {
  readonly attempts: number;
  readonly retries: number;
  readonly delivered: number;
  readonly failed: number;
  readonly mostAtOnce: number;
}

async function run(...options: readonly string[]): Promise<string> {
  const program = join(ROOT, 'examples', 'outage', 'run.ts');
  return (await promisify(execFile)(process.execPath, [program, ...options])).stdout;
}

/** So few that all are sent in the steps in which the host opens: 1, 2, 4 … 64. */
const MESSAGES = 120;

test('the example of an outage delivers every message both ways; parked ones take fewer attempts and retries', async () => {
  // Down for longer than the wait before the first retry, and shorter than that before the first probe.
  const stdout = await run('--messages', String(MESSAGES), '--down', '4', '--json');
  const { retry, park } = JSON.parse(stdout) as { readonly retry: Shown; readonly park: Shown };
  for (const { attempts, delivered, failed, retries, mostAtOnce } of [retry, park]) {
    assert.deepEqual([delivered, failed], [MESSAGES, 0]);
    assert.ok(attempts >= MESSAGES && mostAtOnce >= 1);
    assert.ok(retries <= attempts - MESSAGES);
  }
  assert.equal(retry.retries, retry.attempts - MESSAGES, 'each failed attempt uses up a retry');
  assert.ok(park.retries < retry.retries, `${park.retries} and ${retry.retries} retries`);
  assert.ok(park.attempts < retry.attempts, `${park.attempts} and ${retry.attempts} attempts`);
  assert.ok(park.mostAtOnce <= OPENING_STEP_MAX, `${park.mostAtOnce} at once`);
});

test('without --json it prints the table of the guide', async () => {
  const guide = readFileSync(join(ROOT, 'docs', 'guides', 'outages.md'), 'utf8');
  const shown = (await run('--messages', '2', '--down', '0')).trimEnd().split('\n');
  const rows = shown.map((line) => line.split(/ {2,}/));
  assert.deepEqual(rows[0], ['', 'Outage: retry', 'Outage: park']);
  assert.equal(rows.length, 9);
  for (const [what = '', retry = '', park = ''] of rows.slice(1)) {
    assert.ok(guide.includes(`| ${what} |`), what);
    assert.match(`${retry} ${park}`, /^\d+(?:\.\d s)? \d+(?:\.\d s)?$/, what);
  }
  assert.deepEqual(rows[3], ['messages delivered', '2', '2']);
  assert.deepEqual(rows[4], ['messages failed', '0', '0']);
});
